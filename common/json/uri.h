/* file: URIs (RFC 8089, PROTOCOL 6.1).  Pure. */
#pragma once

#include <sys/types.h>

#include <stddef.h>

/*
 * file:///a, file:/a or file://localhost/a to an absolute path: "." and ".."
 * are resolved, also escaped, without the file system; doubled and trailing
 * slashes dropped.  Return the length, or -1 with errno:
 *   EINVAL		another scheme or host, a query or fragment, NUL, a bad
 *			escape, a drive letter
 *   ENOENT		an escaped slash: no such name can exist
 *   ENAMETOOLONG
 */
ssize_t	 uri_to_path(const char *uri, size_t len, char *path, size_t size)
	    MUST_CHECK;

/*
 * All is escaped but slashes and unreserved characters (RFC 3986 section 2.3).
 * uri needs at most 3 * strlen(path) + 8 bytes.  Return the length, or -1 with
 * errno EINVAL (not absolute) or ENAMETOOLONG.
 */
ssize_t	 uri_from_path(const char *path, char *uri, size_t size) MUST_CHECK;
