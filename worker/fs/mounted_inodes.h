/*
 * Files that a sandbox has something mounted on.  Who puts another file in the
 * place of one takes the mount away everywhere (rename(2)), and with it what
 * hides or protects the name.  Kept where all processes of the session see
 * it: agents write files too.
 */
#ifndef WORKER_FS_MOUNTED_INODES_H
#define WORKER_FS_MOUNTED_INODES_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mounted_inodes {
	uint64_t	 dev, ino;
};

/* --- the worker --- */

/* Before the first process that is to know.  0, or -1 with errno. */
int	 mounted_inodes_init(void) __attribute__((warn_unused_result));

/*
 * Say it anew: begin, add, end.  Meanwhile, and with mounted_inodes_all(), any
 * file may be one.
 */
void	 mounted_inodes_begin(void);
void	 mounted_inodes_add(const struct mounted_inodes *list, size_t n);
void	 mounted_inodes_all(void);
void	 mounted_inodes_end(void);

/* --- others --- */

/* In a new process: it only reads.  0, or -1 with errno. */
int	 mounted_inodes_seal(void) __attribute__((warn_unused_result));

/* Whether a file is, or may be, one of them. */
bool	 mounted_inodes_has(const struct stat *st);

#endif
