/* Assigns a connection to a spare worker, with the settings of its client. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "master/auth/peer.h"
#include "master/workers/child.h"

struct pool;
struct routes;

/* What it takes, owned by others but for the environment. */
struct assigner {
	struct routes		*routes;
	struct pool		*pool;		/* of spare workers */
	int			 environment;	/* ours, a file; or -1 */
};

/*
 * Give a worker the connection of a peer (fd stays the caller's).  refuse: the
 * HTTP status to answer with, or 0 to serve it; full: it may resume a session,
 * but not open one; user: that the worker has to become, or NULL.  0, or -1 out
 * of memory or after a line in the log.
 */
int	 child_assign(struct assigner *a, struct child *c, int fd,
	    const struct peer *p, int refuse, bool full,
	    const Ipc__User *user);

/* Upgraded by another worker, with the first message that it read. */
int	 child_assign_greeted(struct assigner *a, struct child *c, int fd,
	    const struct peer *p, bool full, const void *message, size_t len,
	    const Ipc__User *user);
int	 child_assign_stdio(struct assigner *a, struct child *c, int in,
	    int out);

/* Answer a worker's request to resume a session. */
void	 child_decide(struct child *c, Ipc__Verdict v, struct route *r);
