/* The command of "execsrvd -- COMMAND": at its end the server stops. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>

struct payload {
	char	**argv;		/* ended by NULL; NULL: no command */
	mode_t	  mask;
	pid_t	  pid;		/* 0: not running */
	bool	  was_signalled;
	bool	  has_terminal;	/* is the foreground group */
};

/* In a process group of its own, with these limits.  0, or -1: logged. */
int	 payload_start(struct payload *b, const struct rlimit *nofile)
	    MUST_CHECK;

/* Undo the changes that what we execute does not want. */
void	 payload_undo(const struct payload *b, const struct rlimit *nofile);

#define PAYLOAD_WHY	64

/* Whether a reaped child was it; then our exit status, and why we stop. */
bool	 payload_on_exit(struct payload *b, pid_t pid, int status,
	    int *status_out, char why[PAYLOAD_WHY]);

/* false: it had already got one to terminate, and is killed now. */
bool	 payload_signal(struct payload *b, int sig);

void	 payload_stop(const struct payload *b, int sig);
