/*
 * What is in force for a client: the Match blocks of the configuration, and the
 * users and groups that they, SessionUser, AllowUsers and its like name.  The
 * master waits for no name service: names are looked up when a configuration is
 * read, those of patterns with * and ? in /etc/passwd and /etc/group only.
 */
#ifndef MASTER_ACCEPT_POLICY_H
#define MASTER_ACCEPT_POLICY_H

#include "common/conf/conf.h"
#include "common/ipc/ipc.h"
#include "master/auth/peer.h"
#include "master/world.h"

struct policy;

/*
 * The names of a configuration.  NULL with the reason in e: one of SessionUser
 * is not known, or not possible.
 */
struct policy	*policy_new(const struct conf *c, struct conf_error *e);
void		 policy_free(struct policy **pp);

/*
 * The settings for a client: those of all, or, where there are Match blocks,
 * made in *room.  policy_put() then.  NULL: no memory.
 */
const struct conf *policy_get(const struct master *m, const struct peer *p,
		    struct conf *room);
void		 policy_put(const struct conf *c, struct conf *room);

#define POLICY_RLIMITS	6	/* rows of rlimit.def */

/* The part that a worker lives by; texts are c's and m's. */
struct policy_settings {
	Ipc__Settings	 s;
	Ipc__Rlimit	 rlimit[POLICY_RLIMITS];
	Ipc__Rlimit	*list[POLICY_RLIMITS];
};

/* All but what control groups limit (master/workers/cgroups.h). */
void		 policy_settings(const struct master *m, const struct conf *c,
		    struct policy_settings *out);

/*
 * Whether a peer may come: 0, or the HTTP status to refuse it with, after a
 * line in the log.  p->uid becomes who its sessions run as; *full_out: it may
 * resume a session, but not open one.  With p->must_show it may only show a
 * token, and is asked about again as who that names (peer_grant()).
 */
int		 policy_admit(struct master *m, struct peer *p,
		    bool *full_out);

/*
 * Whether its newest session is one too many: of those that were admitted at
 * the same time, before any of them was open.
 */
bool		 policy_exceeded(struct master *m, struct peer *p);

#endif
