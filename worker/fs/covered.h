/*
 * Files that a sandbox has something mounted on.  Who puts another file in the
 * place of one takes the mount away everywhere (rename(2)), and with it what
 * hides or protects the name.  Kept where all processes of the session see
 * it: agents write files too.
 */
#ifndef WORKER_FS_COVERED_H
#define WORKER_FS_COVERED_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct covered {
	uint64_t	 dev, ino;
};

/* --- the worker --- */

/* Before the first process that is to know.  0, or -1 with errno. */
int	 covered_init(void) __attribute__((warn_unused_result));

/*
 * Say it anew: begin, add, end.  Meanwhile, and with covered_all(), any file
 * may be one.
 */
void	 covered_begin(void);
void	 covered_add(const struct covered *list, size_t n);
void	 covered_all(void);
void	 covered_end(void);

/* --- others --- */

/* In a new process: it only reads.  0, or -1 with errno. */
int	 covered_seal(void) __attribute__((warn_unused_result));

/* Whether a file is, or may be, one of them. */
bool	 covered_has(const struct stat *st);

#endif
