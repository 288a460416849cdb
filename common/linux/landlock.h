/* landlock(7).  The headers of Debian 12 have ABI 1 only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LANDLOCK_EXECUTE	(1ULL << 0)
#define LANDLOCK_WRITE_FILE	(1ULL << 1)
#define LANDLOCK_READ_FILE	(1ULL << 2)
#define LANDLOCK_READ_DIR	(1ULL << 3)
#define LANDLOCK_REMOVE_MAKE	(0x1ffULL << 4)	/* REMOVE_DIR to MAKE_SYM */
#define LANDLOCK_REFER		(1ULL << 13)	/* ABI 2 */
#define LANDLOCK_TRUNCATE	(1ULL << 14)	/* ABI 3 */

#define LANDLOCK_TCP		(3ULL << 0)	/* ABI 4: bind, connect */
#define LANDLOCK_SCOPES		(3ULL << 0)	/* ABI 6: abstract, signals */

#define LANDLOCK_READS							\
	(LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define LANDLOCK_ON_FILES						\
	(LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE |	\
	LANDLOCK_TRUNCATE)

#define LANDLOCK_ABI_TRUNCATE	3
#define LANDLOCK_ABI_TCP	4
#define LANDLOCK_ABI_SCOPE	6

/* -1 with errno: no Landlock. */
int	 landlock_abi(void);

/* All rights of an ABI that change files. */
uint64_t landlock_writes(int abi);

/* A ruleset that handles these, close-on-exec.  -1 with errno. */
int	 landlock_new(int abi, uint64_t fs, uint64_t net, uint64_t scoped)
	    MUST_CHECK;

/*
 * Below the directory or to the file at fd (O_PATH will do), without rights
 * that a file cannot have.  0, or -1 with errno.
 */
int	 landlock_allow(int ruleset, int fd, uint64_t access) MUST_CHECK;

/*
 * Restrict this process to reading, below what exists of two lists, each ended
 * by NULL.  0, also without Landlock, or -1 with errno.
 */
int	 landlock_only_read(const char *const *paths,
	    const char *const *more, bool scopes) MUST_CHECK;

/* 0, or -1 with errno.  A system call only. */
int	 landlock_join(int ruleset) MUST_CHECK;
