/* Files with secrets: read into locked memory, and nowhere else. */
#ifndef MASTER_SECRET_H
#define MASTER_SECRET_H

#include <stddef.h>

/*
 * Read a file of at most max bytes, which its owner alone may read and write,
 * who is us or root.  The bytes and a NUL in locked memory, to be freed by
 * sodium_free(); NULL with the reason in why.
 */
char	*secret_read_file(const char *path, size_t max, size_t *len_out,
	    char *why, size_t size) __attribute__((warn_unused_result));

#endif
