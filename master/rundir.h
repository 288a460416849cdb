/*
 * The run directory: one for each daemon, locked while it runs, so that
 * several daemons never meet.
 */
#ifndef MASTER_RUNDIR_H
#define MASTER_RUNDIR_H

/*
 * Make and lock it.  wanted may be empty: the default then, and, while
 * another daemon has that, one with our process id; or "none": then *dir_out
 * stays NULL, and there is nothing to lock.  *dir_out is malloc'd, the lock's
 * descriptor in *lock_out.  0, or -1 after a line in the log.
 */
int	 rundir_open(const char *wanted, char **dir_out, int *lock_out)
	    __attribute__((warn_unused_result));

/* Remove what is ours, and the directory if it is empty then. */
void	 rundir_close(char **dir, int *lock);

#endif
