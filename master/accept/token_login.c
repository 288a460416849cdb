#include "master/accept/token_login.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "master/accept/gate.h"
#include "master/accept/policy.h"
#include "master/auth/penalty.h"
#include "master/logs/audit.h"
#include "master/world.h"

#define NO_TOKEN	"no token"

static uint32_t
token_login_deny(const struct token_login *l, struct child *c, const char *why,
    bool is_guess)
{
	unsigned	 n;

	STAT_INC(c->all->world, denied);
	n = penalties_add(l->penalties, peer_culprit(&c->peer), is_guess,
	    clock_ms());
	if (n > 0)
		audit_peer(c->all->world, &c->peer, (struct audit_what){
		    .event = AUDIT_token_refused, .why = why,
		    .count = AUDIT_N(n) });
	if (n == 1)
		log_info("%s: denied: %s", c->peer.text, why);
	else if (n > 1)
		log_info("%s: denied: %s; %u times since it was last said "
		    "of this source", c->peer.text, why, n);
	return 401;
}

/*
 * Make p the client with the identity of its token, and apply policy_admit():
 * 0, or an HTTP status.
 */
static uint32_t
grant_peer(const struct token_login *l, const struct child *c, struct peer *p,
    bool *full_out)
{
	const struct grant	*g = &c->grant;

	assert(c->peer.uplink == 0 && !c->peer.has_shown);
	*p = c->peer;
	peer_grant(p, g->identity, g->user.uid, g->user.has_gid,
	    g->user.gid);
	return (uint32_t)policy_admit(c->all->world, l->routes, p, full_out);
}

/* A client with kernel credentials is told why those do not admit it. */
static void
explain_refusal(const struct peer *p, char why[TOKEN_LOGIN_WHY_MAX])
{
	bool	 is_all = p->why == NULL || p->lacks_token;

	snprintf(why, TOKEN_LOGIN_WHY_MAX, "%s%s" NO_TOKEN, is_all ? "" :
	    p->why, is_all ? "" : ", and ");
}

/* Tell the client nothing of why a token is wrong: it could guess by that. */
uint32_t
token_login_judge(const struct token_login *l, struct child *c,
    const void *shown, size_t len, char why_out[TOKEN_LOGIN_WHY_MAX])
{
	const char	*why;
	struct peer	 p;
	uint32_t	 status;
	bool		 is_guess, full;

	assert(c->token == CHILD_TOKEN_AWAITED && c->state == CHILD_GREETING);
	if (len == 0) {
		explain_refusal(&c->peer, why_out);
		return token_login_deny(l, c, NO_TOKEN, false);
	}
	/* Verify nothing during a penalty, or guessing would not slow down. */
	if (penalties_left(l->penalties, peer_culprit(&c->peer),
	    clock_ms()) > 0) {
		STAT_INC(c->all->world, denied);
		snprintf(why_out, TOKEN_LOGIN_WHY_MAX, "too many wrong tokens");
		return 429;
	}
	if ((why = tokens_judge(c->all->world->tokens, shown, len,
	    (uint64_t)time(NULL), &c->grant, &is_guess)) != NULL) {
		snprintf(why_out, TOKEN_LOGIN_WHY_MAX, "%s", why);
		return token_login_deny(l, c, why, is_guess);
	}
	if ((status = grant_peer(l, c, &p, &full)) != 0) {
		snprintf(why_out, TOKEN_LOGIN_WHY_MAX, "%s", p.why);
		return status;
	}
	STAT_INC(c->all->world, admitted);
	log_info("%s: admitted as %s, uid %lu", c->peer.text,
	    c->grant.identity, (unsigned long)p.uid);
	audit_peer(c->all->world, &p, (struct audit_what){
	    .event = AUDIT_token_accepted });
	return 0;
}

void
token_login_pass_on(const struct token_login *l, struct child *c, int fd,
    const void *message, size_t len)
{
	struct peer	 p;
	bool		 full;

	assert(c->token == CHILD_TOKEN_GOOD && c->state == CHILD_LEAVING);
	assert(fd != -1);
	/* A reload may have changed the settings since token_login_judge(). */
	if (world_is_stopping(c->all->world) ||
	    grant_peer(l, c, &p, &full) != 0)
		fd_close(&fd);
	else
		gate_admit(l->gate, fd, &p, full, message, len);
}
