/* The run directory of a daemon, locked against other daemons. */
#pragma once

#include "master/adopt/handoff.h"

/*
 * wanted: a path; "": the default or, if another daemon has locked that, the
 * default with our pid; "none": no results.  handed: its lock stays if it is
 * that directory's.  0 and the path (malloc'd) and the lock's descriptor; or -1
 * after a line in the log.
 */
int	 rundir_open(const char *wanted, struct handoff *handed,
	    char **dir_out, int *lock_out) MUST_CHECK;

/* Unlock; remove it, unless other files are left there. */
void	 rundir_close(char **dir, int *lock);
