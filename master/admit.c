#include "master/admit.h"

#include <time.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "master/gatekeep.h"
#include "master/penalty.h"
#include "master/route.h"

static uint32_t
deny(struct child *c, const char *why, bool is_guess)
{
	struct master	*m = c->master;
	unsigned	 n;

	STAT_INC(m, denied);
	n = penalties_add(m->penalties, peer_culprit(&c->peer), is_guess,
	    clock_ms());
	if (n == 1)
		log_info("%s: denied: %s", c->peer.text, why);
	else if (n > 1)
		log_info("%s: denied: %s; %u times since it was last said "
		    "of this source", c->peer.text, why, n);
	return 401;
}

uint32_t
admit_judge(struct child *c, const void *shown, size_t len)
{
	struct master	*m = c->master;
	const char	*why;
	bool		 is_guess;

	if (len == 0)
		return deny(c, "no token", false);
	/* Not even looked at: or waiting would not slow anybody down. */
	if (penalties_left(m->penalties, peer_culprit(&c->peer),
	    clock_ms()) > 0) {
		STAT_INC(m, denied);
		return 429;
	}
	if ((why = tokens_judge(m->tokens, shown, len, (uint64_t)time(NULL),
	    &c->grant, &is_guess)) != NULL)
		return deny(c, why, is_guess);
	STAT_INC(m, admitted);
	log_info("%s: admitted as %s, uid %lu", c->peer.text,
	    c->grant.identity, (unsigned long)c->grant.user.uid);
	c->admitted = true;
	return 0;
}

void
admit_pass_on(struct child *c, int fd, const void *message, size_t len)
{
	struct master		*m = c->master;
	const struct grant	*g = &c->grant;
	struct peer		 p = c->peer;

	if (m->stopping) {
		fd_close(&fd);
		return;
	}
	peer_grant(&p, g->identity, g->user.uid, g->user.has_gid,
	    g->user.gid);
	gate_admit(m->gate, fd, &p, route_is_full(m, p.uid), message, len);
}
