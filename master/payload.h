/*
 * The command of "execsrvd -- COMMAND": what a container is there for, with the
 * server beside it.  We end with it, and with its status.
 */
#ifndef MASTER_PAYLOAD_H
#define MASTER_PAYLOAD_H

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>

struct payload {
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
int	 payload_start(struct payload *b, const struct rlimit *nofile)
	    __attribute__((warn_unused_result));

#define PAYLOAD_WHY	64

/* Whether that child was it: the status to exit with, and why we stop. */
bool	 payload_on_exit(struct payload *b, pid_t pid, int status,
	    int *status_out, char why[PAYLOAD_WHY]);

/*
 * A signal that we got is for it first.  Whether that is all for now; not if it
 * was told to end before: then it is killed.
 */
bool	 payload_signal(struct payload *b, int sig);

/* We stop: it has to end as well, at once with SIGKILL. */
void	 payload_stop(const struct payload *b, int sig);

#endif
