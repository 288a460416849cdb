/*
 * Files that a sandbox has mounted something on: replacing one would remove the
 * mount in all namespaces (rename(2)).  In shared memory, since agents write
 * files, too.
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

/* Before the first agent.  -1 with errno. */
int	 mounted_inodes_init(void) MUST_CHECK;

/* Replace the list.  Until the end, and after _all(), any file may be on it. */
void	 mounted_inodes_begin(void);
void	 mounted_inodes_add(const struct mounted_inodes *list, size_t n);
void	 mounted_inodes_all(void);
void	 mounted_inodes_end(void);

/* --- others --- */

/* Read-only for this process.  -1 with errno. */
int	 mounted_inodes_seal(void) MUST_CHECK;

/* It is, or may be, on the list. */
bool	 mounted_inodes_has(const struct stat *st);
