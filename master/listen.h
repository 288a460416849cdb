/*
 * Listening sockets: ws://IP:PORT on a loopback address, unix:PATH.  They are
 * accepted from and nothing else; who is at the door goes to the gate.
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
	char			*path;		/* of our socket, or NULL */
	bool			 is_passed;	/* not made by us */
	struct event		*accept_ev;
	struct event		*pause_ev;
};

/*
 * Open what a URL says, unless it was passed in (so adopt first).  0,
 * or -1 after a line in the log.
 */
int	 listen_open(struct master *m, const char *url);

/*
 * Accept from a socket that was passed in (*fd, which is taken), under the
 * same rules.  A Listen of the same address is that one.  0, or -1 after a line
 * in the log.
 */
int	 listen_adopt(struct master *m, int *fd, const char *name);

/* Close all; the files of our Unix sockets go as well. */
void	 listen_close_all(struct master *m);

#endif
