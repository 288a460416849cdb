/*
 * Secrets from files and from the environment, kept in locked memory.  Call
 * sodium_init() before; free them with sodium_free().
 */
#pragma once

#include <stddef.h>

/*
 * Read a file of at most max bytes, owned by us or root, mode 0600 or less.
 * Adds a NUL.  NULL with the reason in why[size].
 */
char	*secret_read_file(const char *path, size_t max, size_t *len_out,
	    char *why, size_t size) MUST_CHECK;

/* Take a variable out of the environment and wipe it there.  NULL with errno
   0 (not set) or ENOMEM. */
char	*secret_take_env(const char *name) MUST_CHECK;
