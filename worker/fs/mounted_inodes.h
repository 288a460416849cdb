/*
 * Files that a sandbox has mounted something on.  Replacing such a file removes
 * the mount in all namespaces (rename(2)), and thereby the protection.  In
 * shared memory, since agents write files, too.
 */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mounted_inodes {
	uint64_t	 dev, ino;
};

/* --- the worker --- */

/* Call before the first agent starts.  0, or -1 with errno. */
int	 mounted_inodes_init(void) MUST_CHECK;

/*
 * Replace the list: begin, add, end.  Until then, and after
 * mounted_inodes_all(), any file may be on it.
 */
void	 mounted_inodes_begin(void);
void	 mounted_inodes_add(const struct mounted_inodes *list, size_t n);
void	 mounted_inodes_all(void);
void	 mounted_inodes_end(void);

/* --- others --- */

/* Make it read-only for this process.  0, or -1 with errno. */
int	 mounted_inodes_seal(void) MUST_CHECK;

/* Whether a file is, or may be, on the list. */
bool	 mounted_inodes_has(const struct stat *st);
