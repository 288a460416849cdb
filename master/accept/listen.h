/*
 * Listening sockets: ws://IP:PORT, unix:PATH, on another address than loopback
 * only where there are tokens; and those for figures, on any.  They are
 * accepted from and nothing else; who is at the door goes to the gate.
 */
#ifndef MASTER_ACCEPT_LISTEN_H
#define MASTER_ACCEPT_LISTEN_H

#include <sys/queue.h>

#include "common/ev.h"
#include "master/auth/peer.h"
#include "master/world.h"

#define LISTEN_URL_MAX	PEER_LISTENER_MAX

struct listener {
	TAILQ_ENTRY(listener)	 entry;
	struct master		*master;
	int			 fd;
	char			*spec;			/* as asked for */
	char			 url[LISTEN_URL_MAX];	/* as it became */
	bool			 is_wanted;		/* by a reload */
	char			*path;		/* of our socket, or NULL */
	bool			 is_metrics;	/* MetricsListen */
	bool			 is_passed;	/* not made by us */
	struct io		 accept_ev;
	struct timer		 pause_ev;
	uint64_t		 paused;	/* ms: when it was last said */
};

/*
 * Whether a configuration asks for addresses as there are, and for none beyond
 * loopback, or has tokens for those who come there.  0, or -1 with the reason
 * in e.
 */
int	 listen_check(const struct conf *c, bool has_tokens,
	    struct conf_error *e) __attribute__((warn_unused_result));

/*
 * Open what a configuration, checked, asks for and is not open yet, nor was
 * passed in (so adopt first); nothing is closed.  0, or -1 with the reason:
 * then all is as it was.  *added_out is the number of new ones.
 */
int	 listen_extend(struct master *m, const struct conf *c,
	    unsigned *added_out, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* Close what that configuration did not ask for; how many. */
unsigned listen_reduce(struct master *m);

/*
 * Accept from a socket that was passed in (*fd, which is taken), under the
 * same rules.  A Listen of the same address is that one.  0, or -1 with the
 * reason.
 */
int	 listen_adopt(struct master *m, int *fd, const char *name,
	    struct conf_error *e) __attribute__((warn_unused_result));

/*
 * Say in a file of the run directory where we listen (RUNDIRS_LISTEN).  What
 * goes wrong is told in the log, and nothing else comes of it.
 */
void	 listen_publish(const struct master *m);

/* Close all; the files of our Unix sockets go as well, and that file. */
void	 listen_close_all(struct master *m);

#endif
