/*
 * Listening sockets: ws://IP:PORT, unix:PATH.  They are accepted from and
 * nothing else; who is at the door goes to the gate.  On another address than
 * loopback only where there are tokens.
 */
#ifndef MASTER_LISTEN_H
#define MASTER_LISTEN_H

#include <sys/queue.h>

#include "master/master.h"

#define LISTEN_URL_MAX	160

struct listener {
	TAILQ_ENTRY(listener)	 entry;
	struct master		*master;
	int			 fd;
	char			 url[LISTEN_URL_MAX];	/* as it became */
	char			*path;		/* of a Unix socket, or NULL */
	struct event		*accept_ev;
	struct event		*pause_ev;
};

/* Open what a URL says.  0, or -1 after a line in the log. */
int	 listen_open(struct master *m, const char *url);

/* Close all; the files of Unix sockets go as well. */
void	 listen_close_all(struct master *m);

#endif
