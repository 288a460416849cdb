/*
 * How many connections may be greeted at a time, and whose turn it is.
 * Greeting costs a worker, so places are limited, in all and for one source;
 * who finds none waits here, as a descriptor only, and when somebody waits the
 * oldest greeting gives way after a moment.  Peers that the kernel does not
 * know are dropped at random from some number on (sshd's MaxStartups).
 */
#ifndef MASTER_ACCEPT_GATE_H
#define MASTER_ACCEPT_GATE_H

#include "master/auth/peer.h"
#include "master/workers/child.h"
#include "master/world.h"

struct gate;

struct gate	*gate_new(struct master *m);
void		 gate_free(struct gate **gp);

/*
 * A connection (taken) is at the door; refuse: the status it will get; full:
 * it may resume a session, but not open one.
 */
void		 gate_knock(struct gate *g, int fd, const struct peer *p,
		    int refuse, bool full);

/*
 * A connection (taken) that was greeted elsewhere, with its first message,
 * waits for a worker of its user.  Nobody drops it but for want of memory, or
 * of room for that user.
 */
void		 gate_admit(struct gate *g, int fd, const struct peer *p,
		    bool full, const void *message, size_t len);

/* A worker no longer greets. */
void		 gate_leave(struct gate *g, struct child *c);

/* Look whether somebody who waits can come in. */
void		 gate_pump(struct gate *g);

/* How many are greeted, how many wait. */
size_t		 gate_greeting(const struct gate *g);
size_t		 gate_waiting(const struct gate *g);

/*
 * sshd's random early drop: whether to drop the next one when n are there
 * already, by a number below 100 that was drawn.  Pure.
 */
bool		 gate_drops(unsigned n, unsigned drawn);

#endif
