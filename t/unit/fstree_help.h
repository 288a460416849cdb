/* Real folders below TMPDIR for the tests of file operations on trees. */
#pragma once

#include <stdbool.h>

#include "worker/fs/fsop.h"

/* What came of it, so that one number can be compared. */
#define REFUSED(why)	(1000 + FSWHY_##why)

/* The folder of this test, made by tree_setup(). */
extern char	 base[];

void	 tree_setup(void);
void	 tree_teardown(void);

/*
 * Fixtures of a whole case, not checked: its tests have their folders in
 * memory, where there is some.  For races and for what is deep: to make a file
 * where many were just removed takes ext4 twenty times as long.
 */
void	 tree_memory_begin(void);
void	 tree_memory_end(void);

/* Run shell commands there; they must succeed. */
void	 sh(const char *format, ...) PRINTF(1, 2);

/* What such a command prints.  The caller's. */
char	*sh_out(const char *format, ...) PRINTF(1, 2);

/* An operation on paths below base; the rest is set by the caller. */
void	 op_init(struct fsop *op, enum fsop_kind kind, const char *path,
	    const char *to);

/* Do it, nonblocking or not.  0, an errno or REFUSED(). */
int	 op_run(const struct fsop *op, bool nonblock);

/* The same, blocking, but cancelled before. */
int	 op_run_unwaited(const struct fsop *op);

/* The usual ones, blocking. */
int	 do_remove(const char *path);
int	 do_copy(const char *from, const char *to);

/*
 * The same with the answer: a line for each record, "d", "f" or "!" and the
 * path below base and the error; "truncated"; "error N".  The caller's.
 */
char	*op_walk(const struct fsop *op, bool nonblock);

/*
 * Call it in another process, as another user if this is root's.  It returns
 * 0 if all is well, __LINE__ otherwise; which is what comes back.
 */
int	 as_user(int (*fn)(void));
int	 as_self(int (*fn)(void));

/*
 * In such a function: mounts of its own, that go with it.  -1: this may not
 * be done here.
 */
int	 own_mounts(void);

/* as_self() of one that wants them: well, or said that it was not tested. */
void	 with_own_mounts(int (*fn)(void));

/* In such a function. */
#define NEED(x)	do { if (!(x)) return __LINE__; } while (0)

/* A process that calls fn again and again until its pipe ends.  Its pid. */
int	 again_and_again(void (*fn)(void), int *fd_out);
void	 enough(int pid, int fd);

/* Two names below base, and for again_and_again(): exchange them. */
extern char	 inside[2048], outside[2048];
void	 set_swapped(const char *one, const char *other);
void	 swap(void);

/* Make a folder in dir and go there; dir is closed.  The new one. */
int	 make_and_enter(int dir, const char *name);
