/*
 * Listening sockets: ws://IP:PORT, unix:PATH.  They are accepted from and
 * nothing else; who is at the door goes to the gate.  On another address than
 * loopback only where there are tokens.
 */
#ifndef MASTER_LISTEN_H
#define MASTER_LISTEN_H

#include <sys/queue.h>

#include "master/master.h"
#include "master/peer.h"

#define LISTEN_URL_MAX	PEER_LISTENER_MAX

struct listener {
	TAILQ_ENTRY(listener)	 entry;
	struct master		*master;
	int			 fd;
	char			*spec;			/* as asked for */
	char			 url[LISTEN_URL_MAX];	/* as it became */
	bool			 is_wanted;		/* by a reload */
	char			*path;		/* of a Unix socket, or NULL */
	struct event		*accept_ev;
	struct event		*pause_ev;
};

/* Open what a URL says.  0, or -1 with the reason in e. */
int	 listen_open(struct master *m, const char *url, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * Whether a configuration asks for nothing beyond loopback, or has tokens for
 * those who come there.  0, or -1 with the reason in e.
 */
int	 listen_check(const struct conf *c, bool has_tokens,
	    struct conf_error *e) __attribute__((warn_unused_result));

/*
 * Open what a configuration, checked, asks for and is not open yet; nothing is
 * closed.  0, or -1 with the reason: then all is as it was.  *added_out is the
 * number of new ones.
 */
int	 listen_extend(struct master *m, const struct conf *c,
	    unsigned *added_out, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* Close what that configuration did not ask for; how many. */
unsigned listen_reduce(struct master *m);

/* Close all; the files of Unix sockets go as well. */
void	 listen_close_all(struct master *m);

#endif
