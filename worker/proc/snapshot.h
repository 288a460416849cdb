/* Shell snapshots: the state that a login shell leaves (PROTOCOL 5.11). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/proc/snapshot_text.h"

struct holder;
struct procs;
struct snapshot;
struct snapshots;
struct spawn;

/* The key is what makes it another one. */
struct snapshot_wish {
	char			*key;		/* allocated; NULL: no wish */
	size_t			 key_len;
	enum snapshot_shell	 shell;
	struct snapshot_policy	 policy;
	char			**own;		/* the request's environment */
};

void	 snapshot_wish_fini(struct snapshot_wish *w);

/* on_done: one became ready or failed.  NULL with errno. */
struct snapshots	*snapshots_new(struct procs *ps,
			    void (*on_done)(void *), void *arg) MUST_CHECK;
void	 snapshots_free(struct snapshots **ssp);

/*
 * Find, or begin to take, what a command sp wishes in its sandbox, of holder or
 * NULL. NULL: run it as it is, or *is_pending: wait for on_done.  Takes the
 * policy of a new w.
 */
const struct snapshot	*snapshots_find(struct snapshots *ss,
			    struct snapshot_wish *w,
			    const struct spawn *sp, bool sandboxed,
			    struct holder *holder, bool *is_pending);

const char	*snapshot_state(const struct snapshot *sn);
char *const	*snapshot_left(const struct snapshot *sn);
