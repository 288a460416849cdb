/* Secrets in locked memory (sodium_init() first); free with sodium_free(). */
#pragma once

#include <stddef.h>

/*
 * Read max bytes at most of a file that is ours or root's, mode 0600 or less,
 * and a NUL.  NULL with the reason in why[size].
 */
char	*secret_read_file(const char *path, size_t max, size_t *len_out,
	    char *why, size_t size) MUST_CHECK;

/* Move a variable out of the environment.  NULL: errno 0 (not set), ENOMEM. */
char	*secret_take_env(const char *name) MUST_CHECK;
