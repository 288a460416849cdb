/*
 * A holder: a process that has one view of the file system, and lends it.  It
 * serves file operations under that view (worker/fs/fsagent.h), and commands
 * join its namespaces.  One for each sandbox policy of a session, and one
 * without a sandbox, which is there for operations that may take time.
 */
#ifndef WORKER_SANDBOX_HOLDER_H
#define WORKER_SANDBOX_HOLDER_H

#include <sys/types.h>

#include <stdbool.h>

#include "common/plan/plan.h"
#include "worker/os/env.h"
#include "worker/sandbox/nsset.h"

enum holder_state { HOLDER_STARTING, HOLDER_READY, HOLDER_FAILED };

struct holder;
struct holders;

/*
 * Those of a session; none is made before it is asked for.  on_changed(arg):
 * one became ready or failed, what waits for it can go on.  NULL with errno.
 */
struct holders	*holders_new(const struct env *env,
		    void (*on_changed)(void *), void *arg)
		    __attribute__((warn_unused_result));

/* The session ends: when one ends now, that is no failure. */
void	 holders_end(struct holders *hs);

/* What they made outside is undone first, which may take half a second. */
void	 holders_free(struct holders **hsp);

/*
 * The holder of a plan (NULL: no sandbox), started if there is none; what
 * failed a moment ago stays failed. NULL with errno. The plan is not kept.
 * It lives until the session ends, unless it is not used and room is needed.
 */
struct holder	*holder_get(struct holders *hs, const struct plan *plan)
		    __attribute__((warn_unused_result));

/*
 * The same for a command, which holder_use() then keeps; one of its own when
 * the plan hides what matches patterns, because what matches changes.
 */
struct holder	*holder_for_command(struct holders *hs,
		    const struct plan *plan)
		    __attribute__((warn_unused_result));

enum holder_state holder_state(const struct holder *h);

/* Why it failed, for the client. */
const char	*holder_why(const struct holder *h);

/* Where its agent takes requests; after HOLDER_READY only. */
int	 holder_sock(const struct holder *h);

/* Where its agent answers one of them at a time. */
struct fsagent_line *holder_line(struct holder *h);

/* What a command joins; after HOLDER_READY only. */
const struct nsset *holder_nsset(struct holder *h);

/*
 * Somebody needs it from now on, or no more: it stays meanwhile, and one of a
 * single command no longer.
 */
void	 holder_use(struct holder *h, bool more);

/*
 * Whether a path is, or is in, a folder that one of them made to stand for what
 * does not exist: whoever asks outside of the sandbox should not find it.
 */
bool	 holders_made(const struct holders *hs, const char *path, size_t len);

#endif
