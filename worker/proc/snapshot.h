/*
 * Shell snapshots of a session (PROTOCOL 5.11): a login shell runs once, and
 * what its startup files leave is kept for later commands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/proc/snapshot_text.h"

struct holder;
struct procs;
struct snapshot;
struct snapshots;
struct spawn;

/* What a snapshot is of; the key is what makes it another one. */
struct snapshot_wish {
	char			*key;		/* allocated; NULL: no wish */
	size_t			 key_len;
	enum snapshot_shell	 shell;
	struct snapshot_policy	 policy;
	char			**own;		/* environment of the request */
};

void	 snapshot_wish_fini(struct snapshot_wish *w);

/* on_done: one has become ready or failed.  NULL with errno. */
struct snapshots	*snapshots_new(struct procs *ps,
			    void (*on_done)(void *), void *arg) MUST_CHECK;
void	 snapshots_free(struct snapshots **ssp);

/*
 * Find what a command wishes, or begin to take it: sp is the command in its
 * sandbox, of holder or NULL.  NULL: there is none, run the command as it is;
 * *is_pending: wait for on_done.  Takes the policy of the wish if it is new.
 */
const struct snapshot	*snapshots_find(struct snapshots *ss,
			    struct snapshot_wish *w,
			    const struct spawn *sp, bool sandboxed,
			    struct holder *holder, bool *is_pending);

const char	*snapshot_state(const struct snapshot *sn);
char *const	*snapshot_left(const struct snapshot *sn);
