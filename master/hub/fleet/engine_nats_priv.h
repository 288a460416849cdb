/* What the files of the engine share. */
#pragma once

#include <stdint.h>

#include "common/ev.h"
#include "common/limit.h"
#include "common/map.h"
#include "master/hub/admit/replay.h"
#include "master/hub/fleet/engine_nats.h"
#include "master/hub/fleet/fleetmsg.h"
#include "master/hub/fleet/roster.h"

#define ID_TEXT		(2 * FLEETMSG_ID_LEN)
#define CLAIM_MS	(LIMIT_HUB_PROBE + LIMIT_HUB_WHERE)

struct nats_pending {
	struct map_node		 node;		/* by number */
	struct map_node		 claim_node;	/* claims: by environment */
	struct engine_nats	*n;
	uint64_t		 number;
	uint8_t			 nonce[TICKET_NONCE_LEN];
	enum fleetmsg_kind	 kind;
	struct timer		 timer;
	uint64_t		 since;		/* microseconds */
	struct engine_ask	*ask;		/* or */
	struct engine_request	*request;
	bool			 is_by_key;	/* a where that probes */
	bool			 has_heard;	/* that somebody has it not */
	struct engine_claim	 claim;
	char			 environment[ENVIRONMENT_MAX + 1];
	struct roster_wait	 wait;		/* for all hubs */
};

struct engine_nats {
	struct engine		 engine;
	struct natslink		*link;
	char			 prefix[ENGINE_PREFIX_MAX + 1];
	uint64_t		 skew;
	uint8_t			 id[FLEETMSG_ID_LEN];
	char			 id_text[ID_TEXT + 1];
	char			 name[ROSTER_NAME_MAX + 1];
	uint64_t		 last;		/* number of a question */
	struct map		 pending, claims;
	struct replay		 done;		/* what was said once */
	struct roster		 roster;
	struct timer		 hello;
	struct buf		 again;		/* to be claimed again: texts */
};

static inline struct engine_nats *
nats_of(struct engine *e)
{
	return (struct engine_nats *)e;
}

/* --- engine_nats.c --- */

void		 nats_name(const char *environment,
		    char out[ENVIRONMENT_MAX + 1]);
void		 nats_subject(const struct engine_nats *n, const char *kind,
		    const char *what, char out[NATSWIRE_SUBJECT_MAX + 1]);
void		 nats_subject_env(const struct engine_nats *n,
		    const char *environment,
		    char out[NATSWIRE_SUBJECT_MAX + 1]);

/* Append what holds an environment; its subject.  0, or -1: errno. */
int		 nats_put_hold(const struct engine_nats *n, struct buf *b,
		    const char *environment,
		    char subject[NATSWIRE_SUBJECT_MAX + 1]) MUST_CHECK;

/* Append a message; nonce NULL: a new one.  0, or -1 with errno. */
int		 nats_put(struct engine_nats *n, struct buf *out,
		    const char *subject, const char *reply,
		    enum fleetmsg_kind kind, const uint8_t *nonce,
		    const char *environment, struct span body) MUST_CHECK;
void		 nats_answer(struct engine_nats *n, const char *environment,
		    const struct engine_reply *r, enum fleetmsg_kind kind,
		    struct span body);
void		 nats_hello(struct engine_nats *n, const char *to);

/* --- engine_nats_ask.c: questions of ours --- */

void		 nats_where(struct engine *e, const char *environment,
		    const uint8_t *key_hash, struct engine_ask *ask);
void		 nats_claim(struct engine *e, const char *environment,
		    const struct engine_claim *c, struct engine_ask *ask);
void		 nats_cancel(struct engine *e, struct engine_ask *ask);
void		 nats_request(struct engine *e, const char *environment,
		    const char *hub, struct span text,
		    struct engine_request *q);
void		 nats_cancel_request(struct engine *e,
		    struct engine_request *q);

/* The end of one, for whoever asked; or without that. */
void		 nats_finish(struct nats_pending *p,
		    enum engine_answer answer,
		    const struct engine_place *place, unsigned silent);
void		 nats_pending_free(struct nats_pending *p);

/* --- engine_nats_hear.c --- */

void		 nats_on_message(void *arg, const struct natswire *w);
