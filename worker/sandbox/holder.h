/*
 * A holder keeps the namespaces of one policy of a session: it serves file
 * operations in them (worker/fs/fsagent.h), and commands join them.  One has no
 * sandbox, for slow file operations.
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

/* Started on first use; on_changed: one is ready or failed.  NULL: errno. */
struct holders	*holders_new(const struct env *env,
		    void (*on_changed)(void *), void *arg) MUST_CHECK;

/* A holder that exits from now on has not failed. */
void	 holders_end(struct holders *hs);

/* Removes what they made on disk, which may take half a second. */
void	 holders_free(struct holders **hsp);

/*
 * plan NULL: no sandbox.  Lives until the session ends, or until room is needed
 * and it is unused; one that failed a moment ago stays failed.  NULL with
 * errno.
 */
struct holder	*holder_get(struct holders *hs, const struct plan *plan)
		    MUST_CHECK;

/* For holder_use() by a command; with patterns one each, as matches change. */
struct holder	*holder_for_command(struct holders *hs,
		    const struct plan *plan) MUST_CHECK;

enum holder_state holder_state(const struct holder *h);

/* Why it failed, for the client. */
const char	*holder_why(const struct holder *h);

/* The agent's; HOLDER_READY only. */
int	 holder_sock(const struct holder *h);

/* For the agent's answers. */
struct fsagent_line *holder_line(struct holder *h);

/* HOLDER_READY only. */
const struct nsset *holder_nsset(struct holder *h);

/* One user more or less; a command's own ends with its last. */
void	 holder_use(struct holder *h, bool more);

/* A path is, or is below, a stand-in of a holder (struct mounted). */
bool	 holders_made(const struct holders *hs, const char *path, size_t len);
