/*
 * Secrets from files and from the environment: in locked memory, and nowhere
 * else.  sodium_init() comes first.
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include <stddef.h>

/*
 * Read a file of at most max bytes, which its owner alone may read and write,
 * who is us or root.  The bytes and a NUL in locked memory, to be freed by
 * sodium_free(); NULL with the reason in why.
 */
char	*secret_read_file(const char *path, size_t max, size_t *len_out,
	    char *why, size_t size) __attribute__((warn_unused_result));

/*
 * Take a variable out of the environment and wipe it there.  Its value, to be
 * freed by sodium_free(); NULL with errno: 0 (there is none) or ENOMEM.
 */
char	*secret_take_env(const char *name)
	    __attribute__((warn_unused_result));

#endif
