/*
 * Where a session is: with its worker, or, when it owned nothing at the time
 * its client left, here alone until it expires (a tombstone).
 */
#ifndef MASTER_WORKERS_ROUTE_H
#define MASTER_WORKERS_ROUTE_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "master/logs/audit.h"
#include "master/workers/child.h"
#include "master/world.h"

/* 128 random bits, written as clients expect: in the groups of a UUID. */
#define ROUTE_ID_LEN	36

struct route {
	TAILQ_ENTRY(route)	 entry;
	struct map_node		 node;
	struct master		*master;
	char			 id[ROUTE_ID_LEN + 1];
	unsigned		 number;	/* for people */
	uid_t			 client_uid;	/* who opened it */
	uid_t			 uid;		/* whose it is ... */
	unsigned		 uplink;	/* ... and by which way; or 0 */
	char			 identity[IDENTITY_MAX]; /* of its client */
	struct child		*owner;		/* NULL: a tombstone */
	bool			 opened;	/* its client knows the id */
	bool			 attached;
	char			 peer[PEER_TEXT_MAX];
	uint64_t		 born;		/* ms */
	Ipc__Used		 used;		/* by workers that are gone */
	char			*transcript;	/* its folder, or NULL */
	unsigned		 transcripts;	/* files in it */
	const char		*why;		/* it ends; NULL: we stop */
	struct timer		 expire_ev;
};

/* A new session for a worker.  NULL with errno. */
struct route	*route_new(struct child *owner);
void		 route_free(struct route **rp);

/* A worker greeted a client that asks for that session (fd: the client). */
void	 route_handover(struct child *greeter, const char *id,
	    const void *message, size_t len, int fd);

/* The owner's answer to a resume. */
void	 route_resumed(struct child *owner, uint32_t ticket, Ipc__Verdict v);

/* A tombstone gets an owner. */
void	 route_revive(struct route *r, struct child *owner);

/* Its client has left. */
void	 route_detached(struct route *r);

/* What it has used with a worker that leaves it; NULL: that was not told. */
void	 route_used(struct route *r, const Ipc__Used *used);

/* The owner gives its place back; the owner is gone, and why. */
void	 route_release(struct route *r);
void	 route_on_owner_gone(struct route *r, const char *why);

/* Sessions that have a worker: of all clients, of one identity. */
size_t	 route_count(const struct master *m);
size_t	 route_count_of(const struct master *m, const char *identity);

/* Tell the audit log something about a session: who and which is filled in. */
void	 route_audit(const struct route *r, struct audit_what what);

#endif
