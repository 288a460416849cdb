/*
 * Sandbox plans: what a sandbox object (PROTOCOL 9) allows, as rules, which
 * worker/sandbox enforces.  Pure: does not look at the file system.
 *
 * In writable folders .agents, .aws, .codex and .git are read-only, unless an
 * entry names them or everything is writable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/json/json.h"

/* Rows of proto/sandbox.def. */
enum plan_kind {
#define PLAN_RULE(name, word, meaning)	PLAN_##name,
#include "proto/sandbox.def"
#undef PLAN_RULE
	PLAN_KINDS
};

/*
 * if_exists: ignore the rule if its path is missing; else, if it takes rights
 * away, it applies to what is created there later.
 */
struct plan_rule {
	enum plan_kind	 kind;
	bool		 if_exists;
	char		*path;		/* absolute, normalized; or a pattern */
	bool		 may_miss;	/* plan_rule_may_miss() */
};

/*
 * Rules are sorted by path, a folder directly before its contents, each path
 * once. The deepest one at or above a path decides; none: invisible.  A
 * restriction also holds where symlinks lead, which is not known here.
 *
 * Patterns (PLAN_HIDE, common/plan/pathglob.h) come last.  They win over all
 * rules, apply to everything but folders, and no symlink is followed.
 * glob_depth: how deep to search, from pathglob_base() (1); 0: no limit.
 */
struct plan {
	bool		 reads_all;	/* reading is not restricted */
	bool		 writes_all;	/* neither is writing */
	bool		 net_off;
	unsigned	 glob_depth;
	struct plan_rule *rules;
	size_t		 n;
	size_t		 bytes;		/* sum of path lengths */
};

/* Folders of entries; NULL, not absolute: none. */
struct plan_context {
	const char	*cwd;		/* the process's; the object's wins */
	const char	*tmpdir;	/* $TMPDIR */
	bool		 native_paths;	/* accept paths instead of URIs */
};

/*
 * The object at token tok (not 0).  0, or -1 with a reason for the client:
 * malformed, unknown kind, not expressible by rules, or a folder of ctx is
 * missing. plan_free() in both cases.
 */
int	 plan_make(struct plan *p, struct json *j, unsigned tok,
	    const struct plan_context *ctx, char *why, size_t size) MUST_CHECK;
void	 plan_free(struct plan *p);

/* Restricts nothing.  -1: errno ENOMEM. */
int	 plan_everything(struct plan *p) MUST_CHECK;

/* A folder, or below it; absolute, normalized. */
bool	 plan_is_within(const char *folder, const char *path);

/* Whether it restricts anything. */
bool	 plan_restricts(const struct plan *p);

/* Absolute, normalized. */
enum plan_kind plan_decide(const struct plan *p, const char *path);

/* A kind's word; whether a rule restricts existing paths only. */
const char *plan_word(enum plan_kind kind);
bool	 plan_rule_may_miss(const struct plan *p, size_t i);

/*
 * Grants more than its parent.  If not, it must grant nothing by a symlink: who
 * writes the parent could point the name anywhere.
 */
bool	 plan_rule_gives(const struct plan *p, size_t i);

/* The right to the parent folder; the root's is itself. */
enum plan_kind plan_decide_around(const struct plan *p, const char *path);

/*
 * Equal text means equal plans, which can share a holder.  Blanks, backslashes,
 * non-ASCII are \ooo, as in /proc/mounts (proc(5)).  0, or -1 with errno
 * ENOMEM.
 */
int	 plan_print(const struct plan *p, struct buf *out) MUST_CHECK;
