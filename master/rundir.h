/* The run directory of a daemon, locked against other daemons. */
#pragma once

#include "master/adopt/handoff.h"

/*
 * Make and lock it.  wanted: a path; "": the default or, if another daemon has
 * locked that, the default with our pid; "none": the results are not set.  0
 * and in *dir_out the path (malloc'd), in *lock_out the lock's descriptor; or
 * -1 after a line in the log.  handed: the lock of the master before us, if it
 * is that directory's, stays.
 */
int	 rundir_open(const char *wanted, struct handoff *handed,
	    char **dir_out, int *lock_out) MUST_CHECK;

/* Unlock and remove it, unless other files are left there. */
void	 rundir_close(char **dir, int *lock);
