/*
 * What the monitor hands to a master that it starts: descriptors that stay open
 * over execve(2), and what they are, in the variable EXECSRV_HANDOFF.
 * A line is "KIND DESCRIPTOR TEXT".
 */
#pragma once

#include <sys/types.h>

#include "common/buf.h"
#include "master/accept/inherited.h"

#define HANDOFF_VARIABLE	"EXECSRV_HANDOFF"

enum handoff_kind {
	HANDOFF_MONITOR,	/* the channel to the monitor */
	HANDOFF_LISTEN,		/* a socket, text of its Listen setting */
	HANDOFF_METRICS,	/* the same, of MetricsListen */
	HANDOFF_KINDS
};

/*
 * Take what is in the environment, and remove it there: listening sockets go to
 * in, the channel to *monitor_out (-1: none).  0, also without any; or -1 after
 * a line in the log.
 */
int	 handoff_take_env(struct inherited *in, int *monitor_out) MUST_CHECK;

/* Add a line to b, and let fd stay open.  0, or -1 with errno. */
int	 handoff_put(struct buf *b, enum handoff_kind kind, int fd,
	    const char *text) MUST_CHECK;

/*
 * Execute the program at path in directory dir (-1: where we are), with the
 * lines of b.  Returns on failure, with errno.
 */
void	 handoff_exec(const char *path, char **argv, char **env, int dir,
	    struct buf *b);
