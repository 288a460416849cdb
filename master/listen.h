/*
 * Listening sockets: ws://IP:PORT on a loopback address, unix:PATH; and those
 * for figures, on any address.  They are accepted from and nothing else; who
 * is at the door goes to the gate.
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
	bool			 is_metrics;
	struct event		*accept_ev;
	struct event		*pause_ev;
};

/* Open what a URL says.  0, or -1 after a line in the log. */
int	 listen_open(struct master *m, const char *url);

/* The same for IP:PORT or unix:PATH, where figures are told (MetricsListen). */
int	 listen_open_metrics(struct master *m, const char *text);

/* Close all; the files of Unix sockets go as well. */
void	 listen_close_all(struct master *m);

#endif
