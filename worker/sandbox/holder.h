/*
 * A holder: a process that keeps the namespaces of one sandbox policy.  It
 * serves file operations in them (worker/fs/fsagent.h), and commands join them.
 * A session has one for each policy, and one without a sandbox for slow file
 * operations.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "common/plan/plan.h"
#include "worker/os/env.h"
#include "worker/sandbox/nsset.h"

enum holder_state { HOLDER_STARTING, HOLDER_READY, HOLDER_FAILED };

struct holder;
struct holders;

/*
 * The holders of a session, each started on first use.  on_changed is called
 * when one became ready or failed: retry what waits.  NULL with errno.
 */
struct holders	*holders_new(const struct env *env,
		    void (*on_changed)(void *), void *arg) MUST_CHECK;

/* The session ends: a holder that exits from now on has not failed. */
void	 holders_end(struct holders *hs);

/* Removes what they made on disk, which may take half a second. */
void	 holders_free(struct holders **hsp);

/*
 * Return the holder of a plan (NULL: no sandbox), started if needed; one that
 * failed a moment ago stays failed.  It lives until the session ends, or until
 * room is needed and it is unused.  NULL with errno.
 */
struct holder	*holder_get(struct holders *hs, const struct plan *plan)
		    MUST_CHECK;

/*
 * The same for a command, to be kept by holder_use().  Plans with patterns get
 * a holder of their own for each command, as matches change.
 */
struct holder	*holder_for_command(struct holders *hs,
		    const struct plan *plan) MUST_CHECK;

enum holder_state holder_state(const struct holder *h);

/* Return why it failed, for the client. */
const char	*holder_why(const struct holder *h);

/* Return the agent's socket; HOLDER_READY only. */
int	 holder_sock(const struct holder *h);

/* Return the agent's socket for answers. */
struct fsagent_line *holder_line(struct holder *h);

/* Return what a command joins; HOLDER_READY only. */
const struct nsset *holder_nsset(struct holder *h);

/* Add or remove a user, who keeps it; a command's own ends with its last. */
void	 holder_use(struct holder *h, bool more);

/* Whether a path is, or is below, a stand-in of a holder (struct mounted). */
bool	 holders_made(const struct holders *hs, const char *path, size_t len);
