/* Sockets of Listen and MetricsListen; the gate queues what comes, unread. */
#pragma once

#include <sys/queue.h>

#include "common/conf/conf.h"
#include "common/ev.h"
#include "master/accept/activation.h"
#include "master/accept/inherited.h"
#include "master/auth/peer.h"

struct children;
struct gate;
struct routes;
struct world;

#define LISTEN_URL_MAX	PEER_LISTENER_MAX

struct listener {
	TAILQ_ENTRY(listener)	 entry;
	struct listeners	*all;
	int			 fd;
	char			*spec;			/* in the settings */
	char			 url[LISTEN_URL_MAX];
	bool			 is_wanted;		/* by a reload */
	char			*path;		/* to unlink, or NULL */
	bool			 is_metrics;
	bool			 is_passed;
	struct io		 accept_ev;
	struct timer		 pause_ev;
	uint64_t		 paused;	/* ms, of the last log line */
};

TAILQ_HEAD(listener_list, listener);

struct listeners {
	struct world		*world;
	struct gate		*gate;		/* gets what comes */
	const struct routes	*routes;
	const struct children	*children;
	struct listener_list	 list;
	struct listener_list	 metrics;	/* of MetricsListen */
	struct activation	 activation;	/* until adopted */
	struct inherited	 inherited;	/* until taken */
	int			 diag;		/* for peer_identify() */
};

/* Valid, and on loopback unless there are tokens?  0, or -1: why, in e. */
int	 listen_check(const struct conf *c, bool has_tokens,
	    struct conf_error *e) MUST_CHECK;

/*
 * Open the sockets of a checked configuration that are neither open nor passed
 * in (call listen_adopt() first); close none.  0 and the number of new ones; or
 * -1 with the reason in e, and nothing has changed.
 */
int	 listen_extend(struct listeners *ls, const struct conf *c,
	    unsigned *added_out, struct conf_error *e) MUST_CHECK;

/* Accept no connections, which wait; accept again. */
void	 listen_hold(struct listeners *ls, bool holds);

/* Close those that listen_extend() did not want; return their number. */
unsigned listen_reduce(struct listeners *ls);

/*
 * Accept from a socket that was passed in (*fd, taken), as listen_check()
 * allows; it is the one of a Listen setting with its address.  0, or -1: why.
 */
int	 listen_adopt(struct listeners *ls, int *fd, const char *name,
	    struct conf_error *e) MUST_CHECK;

/* To RUNDIRS_LISTEN in the run directory.  Errors are only logged. */
void	 listen_publish(const struct listeners *ls);

/* Close all, unlink our Unix sockets and the file of listen_publish(). */
void	 listen_close_all(struct listeners *ls);
