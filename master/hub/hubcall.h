/*
 * A request to a hub while it is answered: refusals, who makes it, its body.
 * Whoever answers a call has its door no more.
 */
#pragma once

#include "common/json/json.h"
#include "common/json/json_out.h"
#include "master/hub/hub.h"
#include "master/hub/hubprobe.h"

#define HUBCALL_PROFILE	"noise_hybrid_ik_v1"
#define HUBCALL_ROOM	(1024 * 1024)	/* bytes of an answer */
#define HUBCALL_ATTACH	"/cloud-agent-nodelay/route/ws/environment/"

#define HUBCALL_RETRY(seconds)	"Retry-After: " #seconds "\r\n"

struct call {
	struct hub	*hub;
	struct door	*door;		/* NULL: answered, or later */
	const char	*what;		/* "register", for the audit log */
	char		 environment[ENVIRONMENT_MAX + 1];
	struct identity	 who;
	struct json	 json;		/* of the body */
	char		*body;
	enum probe	 probe;
	/* Do all of it again, when an executor that was asked has answered. */
	void		(*again)(struct hub *h, struct door *d,
			    enum probe probe);
};

/* --- refusals, the last five with an answer of their own --- */

void	 call_refuse(struct call *c, enum hub_stat stat, int status,
	    const char *lines, const char *code, const char *message);
void	 call_malformed(struct call *c, const char *message);
void	 call_not_found(struct call *c);
void	 call_offline(struct call *c);
void	 call_unknown(struct call *c);
void	 call_no_memory(struct call *c);

/* Refuse an upgrade, with its reason in a header. */
void	 call_reject(struct call *c, enum hub_stat stat, int status,
	    const char *reason);

/* --- who it is --- */

/* Whether too many wrong tokens came from there; lines: for the answer. */
#define HUBCALL_LINES	64
bool	 call_has_penalty(const struct call *c, char lines[HUBCALL_LINES]);
void	 call_add_penalty(struct call *c, const char *why, bool is_guess);

/* Ask for a token and for the rate of its subject.  False: answered. */
bool	 call_identify(struct call *c) MUST_CHECK;

/* --- the body --- */

/* Whether it is a JSON object. */
bool	 call_parse(struct call *c) MUST_CHECK;

bool	 call_take_key(const struct call *c, const char *member,
	    struct hubkey *out) MUST_CHECK;
bool	 call_text_is(const struct call *c, const char *member,
	    const char *text);

/* --- answers --- */

void	 call_put_key(struct json_out *o, const char *member,
	    const struct hubkey *key);

/* Send what was written to o, which is over, and free b. */
void	 call_answer(struct call *c, struct json_out *o, struct buf *b);

/* Ask whether an executor lives; c->again is called then. */
void	 call_probe(struct call *c, struct executor *x);
bool	 call_same_key(const struct hubkey *a, const struct hubkey *b);
