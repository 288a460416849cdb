/*
 * The command of "execsrvd -- COMMAND", for example the main process of a
 * container.  The server stops when it exits, and exits with its status.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>

struct payload {
	char	**argv;		/* ended by NULL; NULL: no command */
	mode_t	  mask;		/* its umask(2) */
	pid_t	  pid;		/* 0: not running */
	bool	  was_signalled;	/* it got a signal to terminate */
	bool	  has_terminal;	/* is the foreground group */
};

/*
 * Start it in its own process group, with our standard streams and environment,
 * and RLIMIT_NOFILE nofile.  0, or -1 after a line in the log.
 */
int	 payload_start(struct payload *b, const struct rlimit *nofile)
	    MUST_CHECK;

/* Undo the changes that what we execute does not want. */
void	 payload_undo(const struct payload *b, const struct rlimit *nofile);

#define PAYLOAD_WHY	64

/* Whether a reaped child was it; then our exit status, and why we stop. */
bool	 payload_on_exit(struct payload *b, pid_t pid, int status,
	    int *status_out, char why[PAYLOAD_WHY]);

/*
 * Pass a signal on.  false: it had already got one to terminate, and is killed
 * now.
 */
bool	 payload_signal(struct payload *b, int sig);

/* Send it a signal to stop, if it runs. */
void	 payload_stop(const struct payload *b, int sig);
