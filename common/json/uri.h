/* file: URIs (RFC 8089) to paths and back (PROTOCOL 6.1).  Pure. */
#ifndef COMMON_JSON_URI_H
#define COMMON_JSON_URI_H

#include <sys/types.h>

#include <stddef.h>

/*
 * The path that a URI names, absolute and NUL-terminated, into path[size].
 * Accepted: file:///a, file:/a, file://localhost/a; the scheme and localhost
 * in any case. Percent escapes become bytes; "." and ".." segments, also
 * escaped ones, are resolved in the text, doubled and trailing slashes
 * vanish.
 *
 * Returns the length, or -1 with errno:
 *   EINVAL not a file URI, a query or fragment, %00 or a raw NUL, a bad
 *   escape,
 *			another host, a drive letter
 *   ENOENT		an escaped slash inside a segment: such a name cannot be
 *   ENAMETOOLONG	does not fit
 */
ssize_t	 uri_to_path(const char *uri, size_t len, char *path, size_t size)
	    __attribute__((warn_unused_result));

/*
 * The canonical URI of an absolute path: "file://" and the path with
 * everything escaped but unreserved characters (RFC 3986 section 2.3) and
 * slashes.  NUL-terminated into uri[size]; 3 * strlen(path) + 8 always
 * suffices.  Returns the length, or -1 with errno EINVAL (not absolute) or
 * ENAMETOOLONG.
 */
ssize_t	 uri_from_path(const char *path, char *uri, size_t size)
	    __attribute__((warn_unused_result));

#endif
