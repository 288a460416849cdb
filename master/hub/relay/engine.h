/*
 * The directory of a site: which hub has an environment's executor (asked for
 * what is not here), and what hubs ask each other.  Alone: engine_local.c; of
 * several hubs: fleet/engine_nats.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"
#include "master/hub/admit/ticket.h"

#define ENGINE_URL_MAX	160	/* bytes of the URL of a hub */
#define ENGINE_REPLY_MAX 128

/* Texts are valid during the call. */
struct engine_place {
	const char		*hub_url;	/* for harnesses; "": any hub */
	const char		*internal_url;	/* for other hubs; "": none */
	bool			 is_proxied;
	const char		*labels;
	const char		*subject;	/* who registered it */
	uint8_t			 registration[REGISTRATION_LEN];
	struct hubkey		 key;
};

/* That came to a hub. */
struct engine_claim {
	uint8_t			 registration[REGISTRATION_LEN];
	uint8_t			 key_hash[HUBKEY_HASH_LEN];
	uint64_t		 since;		/* Unix seconds */
	bool			 is_again;	/* it was there before */
};

enum engine_answer {
	ENGINE_NOBODY,		/* no other hub has it */
	ENGINE_FOUND,
	ENGINE_DOWN
};

/* p: NULL unless it is the answer to where, and ENGINE_FOUND. */
typedef void	 engine_fn(void *arg, enum engine_answer answer,
		    const struct engine_place *p);

/* Embedded; cancel it before it is freed. */
struct engine_ask {
	engine_fn	*fn;
	void		*arg;
	void		*pending;	/* the engine's; NULL: answered */
};

/*
 * Answers: lines, as on the control socket; at the end text.at is NULL, and
 * silent how many hubs gave none.
 */
struct engine_request {
	void		(*fn)(void *arg, struct span text, unsigned silent);
	void		*arg;
	void		*pending;
};

/* Where an answer goes; copied by who answers later. */
struct engine_reply {
	char		 subject[ENGINE_REPLY_MAX];
	uint8_t		 nonce[TICKET_NONCE_LEN];
};

struct engine_events {
	/*
	 * Answer by place or yielded, now or later.  key_hash: only if it lives
	 * with another key; NULL: anyhow.
	 */
	void	(*where)(void *arg, const char *environment,
		    const uint8_t *key_hash, const struct engine_reply *r);

	/*
	 * Another hub got an executor of it: close ours, or keep it; answer by
	 * yielded or kept, now or later.  is_later: of two of the same moment
	 * theirs is the later one.  r NULL: do not answer, but claim again what
	 * is kept.
	 */
	void	(*claimed)(void *arg, const char *environment,
		    const struct engine_claim *c, bool is_later,
		    const struct engine_reply *r);

	/* Answer by rows. */
	void	(*requested)(void *arg, const char *environment,
		    struct span text, const struct engine_reply *r);

	/* A registration is good no more. */
	void	(*evicted)(void *arg, const uint8_t *registration);

	/* Call fn for each environment that is attached here. */
	void	(*each)(void *arg, void (*fn)(void *fn_arg,
		    const char *environment), void *fn_arg);
	bool	(*claim_of)(void *arg, const char *environment,
		    struct engine_claim *out);

	const struct ticket_keys *(*keys)(void *arg);
	void	(*state)(void *arg, bool is_up);
};

struct engine_counts {
	uint64_t	 asked;
	uint64_t	 asked_us;	/* time that took */
	uint64_t	 forged;	/* messages that were not signed so */
	uint64_t	 replayed;	/* of another time, or said twice */
};

struct engine;

struct engine_ops {
	/* We have it from now on, or not any more. */
	void	(*hold)(struct engine *, const char *environment);
	void	(*release)(struct engine *, const char *environment);

	/*
	 * May we have it?  ENGINE_NOBODY: yes, ENGINE_FOUND: no.  Asking holds
	 * it: attach, or release.  fn is called once, perhaps before this
	 * returns.
	 */
	void	(*claim)(struct engine *, const char *environment,
		    const struct engine_claim *, struct engine_ask *);

	/* Who has it?  key_hash: as in events->where. */
	void	(*where)(struct engine *, const char *environment,
		    const uint8_t *key_hash, struct engine_ask *);
	void	(*cancel)(struct engine *, struct engine_ask *);

	/* Tell the others once more that we have it. */
	void	(*claim_again)(struct engine *, const char *environment);

	/* Answers. */
	void	(*place)(struct engine *, const char *environment,
		    const struct engine_reply *, const struct engine_place *);
	void	(*yielded)(struct engine *, const char *environment,
		    const struct engine_reply *);
	void	(*kept)(struct engine *, const char *environment,
		    const struct engine_reply *);
	void	(*rows)(struct engine *, const char *environment,
		    const struct engine_reply *, struct span text);

	/*
	 * To the hub with an environment, to one by its name, or to all (both
	 * NULL).
	 */
	void	(*request)(struct engine *, const char *environment,
		    const char *hub, struct span text,
		    struct engine_request *);
	void	(*cancel_request)(struct engine *, struct engine_request *);
	void	(*evict)(struct engine *, const uint8_t *registration);
	bool	(*is_up)(const struct engine *);

	/* Say good-bye, if we can. */
	void	(*free)(struct engine *);
};

struct engine {
	const struct engine_ops		*ops;
	const struct engine_events	*events;
	void				*arg;
	bool				 is_shared;
	struct engine_counts		 counts;
};

/* The engine of one hub alone.  NULL with errno. */
struct engine	*engine_local_new(const struct engine_events *e, void *arg);
