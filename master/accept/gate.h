/*
 * Admission of connections to the handshake, which occupies a worker: their
 * number is limited, in all and per source.  Above the limits connections wait
 * here, as descriptors only; while any waits, the oldest handshake is dropped
 * after LIMIT_STARTUPS_PATIENCE.  Peers whose user is not known are subject to
 * random early drop (MaxStartups in sshd_config(5)).
 */
#pragma once

#include "master/auth/peer.h"
#include "master/workers/child.h"

struct assigner;
struct gate;
struct userdb;
struct world;

/* Takes workers from the assigner's pool.  NULL with errno. */
struct gate	*gate_new(struct world *w, struct userdb *users,
		    struct assigner *assigner);
void		 gate_free(struct gate **gp);

/* Queue an accepted connection (taken); refuse, full: as child_assign(). */
void		 gate_enqueue(struct gate *g, int fd, const struct peer *p,
		    int refuse, bool full);

/* The same, upgraded by another worker; dropped if its user's queue is full. */
void		 gate_admit(struct gate *g, int fd, const struct peer *p,
		    bool full, const void *message, size_t len);

/* Release the place of a worker whose handshake has ended. */
void		 gate_leave(struct gate *g, struct child *c);

/* Start handshakes of waiting connections while there are places. */
void		 gate_pump(struct gate *g);

/* The number of handshakes, of waiting connections. */
size_t		 gate_greeting(const struct gate *g);
size_t		 gate_waiting(const struct gate *g);

/* Whether to drop one when there are n; drawn: at random, below 100.  Pure. */
bool		 gate_drops(unsigned n, unsigned drawn);
