/*
 * A session, by its id: served by a worker; or a tombstone, if it owned nothing
 * when its client detached, which can be resumed until it expires.  One whose
 * worker died is lost: its client is told so when it resumes.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "master/logs/audit.h"
#include "master/workers/child.h"
#include "master/workers/records.h"

struct world;

/* 128 random bits in the format of a UUID, as clients expect. */
#define ROUTE_ID_LEN	36

/* What a session is counted as.  Only route.c moves it. */
enum route_state {
	ROUTE_NEW,		/* its client does not have the id yet */
	ROUTE_ATTACHED,
	ROUTE_DETACHED,
	ROUTE_KEPT,		/* a tombstone */
	ROUTE_LOST,		/* its worker died */
	ROUTE_STATES
};

struct tally;
struct routes;

TAILQ_HEAD(route_list, route);

struct route {
	TAILQ_ENTRY(route)	 entry;
	TAILQ_ENTRY(route)	 kept_entry;	/* KEPT: in user->kept */
	struct map_node		 node;
	struct routes		*all;
	enum route_state	 state;		/* of the three below */
	struct tally		*client;	/* of its identity */
	struct tally		*user;		/* of its uid */
	struct child_list	 waiting;	/* to resume it */
	char			 id[ROUTE_ID_LEN + 1];
	unsigned		 number;	/* for people */
	uid_t			 client_uid;	/* of the client's process */
	uid_t			 uid;		/* its commands run as */
	unsigned		 uplink;	/* it came through; or 0 */
	char			 identity[IDENTITY_MAX];
	struct child		*owner;		/* NULL: a tombstone */
	bool			 opened;	/* the client has the id */
	bool			 attached;
	bool			 lost;		/* its worker died */
	bool			 operates;	/* and counts for no limit */
	int			 slot;		/* of its record; or -1 */
	char			 peer[PEER_TEXT_MAX];
	uint64_t		 born;		/* ms */
	Ipc__Used		 used;		/* by its former workers */
	char			*transcript;	/* directory, or NULL */
	unsigned		 transcripts;	/* files in it */
	const char		*why;		/* it ended; NULL: we stop */
	uint64_t		 retain;	/* ms, as its client asked; 0 */
	uint64_t		 until;		/* ms: it expires */
	struct timer		 expire_ev;
};

/* All sessions, for route.c alone to change. */
struct routes {
	struct world		*world;
	struct route_list	 list;		/* in the order of numbers */
	struct map		 by_id;
	struct map		 clients, users;	/* see struct tally */
	size_t			 in_state[ROUTE_STATES];
	size_t			 operators;	/* of those that live */
	unsigned		 next_number;
};

/* Without any; free them and what finds them. */
void		 routes_init(struct routes *rs, struct world *w);
void		 routes_fini(struct routes *rs);

/* Of a former master; the owner is AWAITED, or NULL.  NULL with errno. */
struct route	*route_former(struct routes *rs, const struct record *rec,
		    struct child *owner);

/* There was a session of that number: the next has a higher one. */
void		 routes_number(struct routes *rs, unsigned number);

/* Write its record, after a change. */
void		 route_record(struct route *r);

/* For a worker.  NULL with errno. */
struct route	*route_new(struct routes *rs, struct child *owner);
void		 route_free(struct route **rp);

/*
 * Its client (fd stays the caller's) asks to resume, by a message; see
 * decide().
 */
void	 route_handover(struct routes *rs, struct child *greeter,
	    const char *id, const void *message, size_t len, int fd);

/* The owner's answer. */
void	 route_resumed(struct child *owner, uint32_t ticket, Ipc__Verdict v);

/* Give a tombstone an owner. */
void	 route_revive(struct route *r, struct child *owner);

/* Its client has the id, and is attached.  Whether it had it before. */
bool	 route_opened(struct route *r, bool operates);

void	 route_attached(struct route *r);
void	 route_detached(struct route *r);

/* Add what it used with a former worker; NULL: not known. */
void	 route_used(struct route *r, const Ipc__Used *used);

/*
 * The owner gives it up: a tombstone, for so many ms, 0: for DetachedTtl; the
 * owner is gone: freed.
 */
void	 route_release(struct route *r, uint64_t retain);
void	 route_on_owner_gone(struct route *r, const char *why);

/* Its worker died: it is kept, without an owner, to tell its client. */
void	 route_lose(struct route *r);

/* Sessions with a worker; apart from these, those for session/operate. */
size_t	 route_count(const struct routes *rs);
size_t	 route_count_of(const struct routes *rs, const char *identity);
size_t	 route_operators(const struct routes *rs);
size_t	 route_operators_of(const struct routes *rs, const char *identity);

/* To the audit log, with number, identity and uid filled in. */
void	 route_audit(const struct route *r, struct audit_what what);
