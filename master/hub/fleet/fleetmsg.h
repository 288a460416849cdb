/*
 * Messages between the hubs of a site, signed with its secret: whoever carries
 * them can lose, repeat or invent some, but is found out.  An answer has the
 * nonce of its question; others are judged by their time, and what they tell to
 * do is done once (replay.h).  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "common/span.h"
#include "master/hub/admit/hubrules.h"
#include "master/hub/admit/ticket.h"
#include "master/hub/relay/engine.h"

#define FLEETMSG_ID_LEN		8

enum fleetmsg_kind {
	FLEETMSG_WHERE = 1,	/* who has it?  body: none, or a key's hash */
	FLEETMSG_PLACE,		/* answer: we do */
	FLEETMSG_CLAIM,		/* an executor of it came here */
	FLEETMSG_YIELDED,	/* answer: it is not here, or not any more */
	FLEETMSG_KEPT,		/* answer to a claim: it lives here */
	FLEETMSG_REQUEST,	/* body: as on the control socket */
	FLEETMSG_ROWS,		/* answer: some of it, more follows */
	FLEETMSG_END,		/* answer: the rest */
	FLEETMSG_EVICTED,	/* body: a registration that is good no more */
	FLEETMSG_HELLO,		/* body: its name */
	FLEETMSG_BYE,
	FLEETMSG_KINDS
};

struct fleetmsg {
	enum fleetmsg_kind	 kind;
	uint64_t		 made;
	uint8_t			 nonce[TICKET_NONCE_LEN];
	uint8_t			 from[FLEETMSG_ID_LEN];
	char			 environment[ENVIRONMENT_MAX + 1];
	struct span		 body;		/* elsewhere */
};

/* Append, signed by the first secret.  0, or -1 with errno. */
int	 fleetmsg_write(const struct ticket_keys *k, const struct fleetmsg *m,
	    struct buf *out) MUST_CHECK;

/* The body leads into the text.  -1: it is not from a hub of this site. */
int	 fleetmsg_read(const struct ticket_keys *k, struct span text,
	    struct fleetmsg *out) MUST_CHECK;

/* Whether its time is near ours, both in ms. */
bool	 fleetmsg_is_timely(const struct fleetmsg *m, uint64_t now,
	    uint64_t skew);

/* Bodies: write to the end of a buf; texts of a place lead into the message. */
int	 fleetmsg_put_place(struct buf *b, const struct engine_place *p)
	    MUST_CHECK;
int	 fleetmsg_put_claim(struct buf *b, const struct engine_claim *c)
	    MUST_CHECK;

struct fleetmsg_texts {
	char	 hub_url[ENGINE_URL_MAX + 1], internal_url[ENGINE_URL_MAX + 1];
	char	 labels[TICKET_LABELS_MAX + 1];
	char	 subject[TICKET_SUBJECT_MAX + 1];
};
int	 fleetmsg_get_place(struct span body, struct fleetmsg_texts *t,
	    struct engine_place *out) MUST_CHECK;
int	 fleetmsg_get_claim(struct span body, struct engine_claim *out)
	    MUST_CHECK;
