/*
 * The settings in force for a client, with Match blocks applied, and its
 * admission: SessionUser, AllowUsers and so on, PermitRootSession.
 */
#pragma once

#include "common/conf/conf.h"
#include "common/ipc/ipc.h"
#include "master/auth/peer.h"

struct policy;
struct routes;
struct world;

/* NULL: why; a user of SessionUser is not permitted, or a look-up failed. */
struct policy	*policy_new(const struct conf *c, struct conf_error *e);
void		 policy_free(struct policy **pp);

/* The global ones, or *room; see policy_put().  NULL: out of memory. */
const struct conf *policy_get(const struct world *w, const struct peer *p,
		    struct conf *room);
void		 policy_put(const struct conf *c, struct conf *room);

#define POLICY_RLIMITS	6	/* rows of rlimit.def */

/* The settings of a worker; strings are borrowed from c and w. */
struct policy_settings {
	Ipc__Settings	 s;
	Ipc__Rlimit	 rlimit[POLICY_RLIMITS];
	Ipc__Rlimit	*list[POLICY_RLIMITS];
};

/* All but limits by control groups (master/workers/cgroups.h). */
void		 policy_settings(const struct world *w, const struct conf *c,
		    struct policy_settings *out);

/*
 * 0, or the HTTP status to refuse it with, after a line in the log.  Sets
 * p->uid to the user of its sessions; *full_out: it may resume a session, but
 * not open one.  p->must_show: it may only present a token; call again after
 * peer_grant().
 */
int		 policy_admit(struct world *w, const struct routes *rs,
		    struct peer *p, bool *full_out);

/* Return for how long a worker may ask: DetachedTtlMax at most. */
uint64_t	 policy_retain(const struct world *w, const struct peer *p,
		    uint64_t ms);

/* Whether it has too many sessions; operates: one for session/operate. */
bool		 policy_exceeded(const struct world *w,
		    const struct routes *rs, const struct peer *p,
		    bool operates);
