/*
 * The command of "execsrvd -- COMMAND": what a container is there for, with the
 * server beside it.  We end with it, and with its status.
 */
#ifndef MASTER_BESIDE_H
#define MASTER_BESIDE_H

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>

struct beside {
	char	**argv;		/* ended by NULL; NULL: there is no command */
	mode_t	  mask;		/* umask(2) that it shall have */
	pid_t	  pid;		/* 0: it does not run */
	bool	  was_told;	/* to end */
	bool	  has_terminal;	/* that was ours */
};

/*
 * Start it in a process group of its own, on our standard streams, with our
 * environment and that limit of descriptors.  0, or -1 after a line in the log.
 */
int	 beside_start(struct beside *b, const struct rlimit *nofile)
	    __attribute__((warn_unused_result));

#define BESIDE_WHY	64

/* Whether that child was it: the status to exit with, and why we stop. */
bool	 beside_on_exit(struct beside *b, pid_t pid, int status,
	    int *status_out, char why[BESIDE_WHY]);

/*
 * A signal that we got is for it first.  Whether that is all for now; not if it
 * was told to end before: then it is killed.
 */
bool	 beside_signal(struct beside *b, int sig);

/* We stop: it has to end as well, at once with SIGKILL. */
void	 beside_stop(const struct beside *b, int sig);

#endif
