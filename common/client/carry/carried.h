/*
 * A session whose messages are carried as they are, and what has to be known of
 * it to go on with it on another connection: requests without an answer,
 * processes and how far they were heard, HTTP streams, watches.  Embedded in
 * the bridge.  Knows no sockets: messages in, messages out.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/client/opening.h"
#include "common/json/json.h"

/*
 *	OPENING		the client has no session yet
 *	OPEN		messages go both ways
 *	LOST		there is no connection
 *	RESUMING	initialize was sent on the next one
 *	BEHIND		what processes said meanwhile is asked for
 */
enum carried_state {
	CARRIED_OPENING,
	CARRIED_OPEN,
	CARRIED_LOST,
	CARRIED_RESUMING,
	CARRIED_BEHIND
};

/* Send a message.  0, or -1 with errno. */
struct carried_ops {
	int	(*to_client)(void *arg, const char *text, size_t len);
	int	(*to_server)(void *arg, const char *text, size_t len);
};

struct carried_request;
struct carried_object;

TAILQ_HEAD(carried_objects, carried_object);

struct carried {
	const struct carried_ops	*ops;
	void				*arg;
	struct opening			*opening;
	enum carried_state		 state;
	bool				 is_foreign;	/* resumed by its
							   client: it does so
							   again */
	TAILQ_HEAD(, carried_request)	 requests;	/* in their order */
	TAILQ_HEAD(, carried_request)	 questions;	/* of the server */
	struct carried_objects		 objects;
	struct carried_objects		 unconfirmed;	/* starts */
	size_t				 kept;		/* bytes of requests */
	uint64_t			 last_id;	/* of our requests */
	unsigned			 awaited;	/* answers to them */
	bool				 has_receipts;	/* its client wants */
	unsigned			 read_max;	/* bytes of one read */
	uint64_t			 received, acknowledged;
	struct json			 json;
	struct buf			 copy;		/* the message read */
	struct buf			 text;		/* one being written */
};

/* Embedded; ops and the opening stay the caller's. */
void	 carried_init(struct carried *c, struct opening *o,
	    const struct carried_ops *ops, void *arg);
void	 carried_fini(struct carried *c);

/* Whether messages of the client can be taken now. */
bool	 carried_is_ready(const struct carried *c);

/* Whether the session can go on when its connection is lost. */
bool	 carried_can_resume(const struct carried *c);

/* Take a message of the client.  0, or -1 with errno. */
int	 carried_from_client(struct carried *c, const char *text, size_t len)
	    MUST_CHECK;

/*
 * Take one of the server.  0, or -1 with the reason in e: what is missing
 * cannot be had, or (CARRIED_ATTACHED) only on another connection.
 */
#define CARRIED_ATTACHED	(-32010)

int	 carried_from_server(struct carried *c, const char *text, size_t len,
	    struct execsrv_error *e) MUST_CHECK;

/*
 * The connection is lost: tell the client of requests that may not be sent
 * twice, and of what ends with a connection.  0, or -1 with errno.
 */
int	 carried_lose(struct carried *c) MUST_CHECK;

/* There is another one: resume; bytes of one read.  0, or -1 with errno. */
int	 carried_resume(struct carried *c, unsigned read_max) MUST_CHECK;
