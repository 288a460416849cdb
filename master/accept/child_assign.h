/* Which session, or answer, a worker is for. */
#ifndef MASTER_ACCEPT_CHILD_ASSIGN_H
#define MASTER_ACCEPT_CHILD_ASSIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "master/auth/peer.h"
#include "master/workers/child.h"

/*
 * Give it a connection (fd stays the caller's) of a peer, to be served as
 * that user in a session of its own (full: a kept one only), or (refuse)
 * answered with an HTTP status.
 * 0, or -1: it is not to be had.
 */
int	 child_assign(struct child *c, int fd, const struct peer *p,
	    int refuse, bool full);

/*
 * The same for a connection that another worker greeted: it has had its
 * upgrade, and this first message is what came then.
 */
int	 child_assign_greeted(struct child *c, int fd, const struct peer *p,
	    bool full, const void *message, size_t len);
int	 child_assign_stdio(struct child *c, int in, int out);

/* Tell a greeter what became of the session it asked for. */
void	 child_decide(struct child *c, Ipc__Verdict v, struct route *r);

#endif
