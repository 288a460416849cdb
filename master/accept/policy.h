/*
 * The settings in force for a client, with Match blocks applied, and its
 * admission: SessionUser, AllowUsers and so on, PermitRootSession.  The master
 * must not wait for a name service, so users and groups are looked up when a
 * configuration is read; patterns with * or ? match only those in /etc/passwd
 * and /etc/group.
 */
#pragma once

#include "common/conf/conf.h"
#include "common/ipc/ipc.h"
#include "master/auth/peer.h"
#include "master/world.h"

struct policy;

/*
 * Look up the names in a configuration.  NULL with the reason in e: a user of
 * SessionUser does not exist or is not permitted, or the look-up failed.
 */
struct policy	*policy_new(const struct conf *c, struct conf_error *e);
void		 policy_free(struct policy **pp);

/*
 * Return the settings for a client: the global ones, or *room if there are
 * Match blocks; release with policy_put().  NULL: out of memory.
 */
const struct conf *policy_get(const struct master *m, const struct peer *p,
		    struct conf *room);
void		 policy_put(const struct conf *c, struct conf *room);

#define POLICY_RLIMITS	6	/* rows of rlimit.def */

/* The settings of a worker; strings are borrowed from c and m. */
struct policy_settings {
	Ipc__Settings	 s;
	Ipc__Rlimit	 rlimit[POLICY_RLIMITS];
	Ipc__Rlimit	*list[POLICY_RLIMITS];
};

/* Fill in all but limits by control groups (master/workers/cgroups.h). */
void		 policy_settings(const struct master *m, const struct conf *c,
		    struct policy_settings *out);

/*
 * Admit a peer: 0, or the HTTP status to refuse it with, after a line in the
 * log.  Sets p->uid to the user of its sessions; *full_out: it may resume a
 * session, but not open one.  p->must_show: it may only present a token; call
 * again after peer_grant().
 */
int		 policy_admit(struct master *m, struct peer *p,
		    bool *full_out);

/* Return for how long a worker may ask: DetachedTtlMax at most. */
uint64_t	 policy_retain(const struct master *m, const struct peer *p,
		    uint64_t ms);

/*
 * Whether the sessions of a peer, with the one just opened, exceed the limits:
 * several may have been admitted before any of them was open.  operates: it is
 * for session/operate alone, of which there may be a few more.
 */
bool		 policy_exceeded(struct master *m, struct peer *p,
		    bool operates);
