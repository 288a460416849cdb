/*
 * Sandbox plans: what a sandbox object (PROTOCOL 9) allows, as a list of rules.
 * Pure: does not look at the file system; worker/sandbox enforces a plan.
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
 * if_exists: ignore the rule if its path is missing.  Without it a rule that
 * takes rights away also applies to what is created there later.  Rules that
 * only grant rights never apply to a missing path.
 */
struct plan_rule {
	enum plan_kind	 kind;
	bool		 if_exists;
	char		*path;		/* absolute, normalized; or a pattern */
	bool		 may_miss;	/* plan_rule_may_miss() */
};

/*
 * Rules are sorted by path, a folder directly before its contents; each path
 * occurs once.  The deepest rule at or above a path decides, without one it is
 * invisible.  Where a path leads by symlinks is not known here: a restriction
 * holds wherever that is, also below a writable folder of another name.
 *
 * Patterns (PLAN_HIDE, common/plan/pathglob.h) come last.  They win over all
 * rules, apply to everything but folders, and no symlink is followed.
 * glob_depth limits how deep to search: 1 is pathglob_base() itself, 0 no
 * limit.
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

/* Folders that entries refer to; NULL, or not absolute: none. */
struct plan_context {
	const char	*cwd;		/* the process's; the object's wins */
	const char	*tmpdir;	/* $TMPDIR */
	bool		 native_paths;	/* accept paths instead of URIs */
};

/*
 * Make the plan of the sandbox object at token tok (not 0).  0, or -1 with a
 * reason for the client in why: malformed, unknown kind, not expressible by
 * rules, or a folder of ctx is needed and missing.  plan_free() in both cases.
 */
int	 plan_make(struct plan *p, struct json *j, unsigned tok,
	    const struct plan_context *ctx, char *why, size_t size) MUST_CHECK;
void	 plan_free(struct plan *p);

/* Make the plan that restricts nothing.  0, or -1 with errno ENOMEM. */
int	 plan_everything(struct plan *p) MUST_CHECK;

/* Whether a path is a folder or below it; both are absolute, normalized. */
bool	 plan_is_within(const char *folder, const char *path);

/* Whether the plan restricts anything. */
bool	 plan_restricts(const struct plan *p);

/* Return the right to an absolute, normalized path. */
enum plan_kind plan_decide(const struct plan *p, const char *path);

/* Return the word of a kind; whether a rule restricts existing paths only. */
const char *plan_word(enum plan_kind kind);
bool	 plan_rule_may_miss(const struct plan *p, size_t i);

/*
 * Whether a rule grants more than its parent.  A rule that does not must grant
 * nothing by a symlink either: who may write to the parent directory could
 * point the name anywhere.
 */
bool	 plan_rule_gives(const struct plan *p, size_t i);

/* Return the right to the parent folder of a path; the root's is itself. */
enum plan_kind plan_decide_around(const struct plan *p, const char *path);

/*
 * Print a plan; equal text means equal plans, which can share a holder.
 * Blanks, backslashes and non-ASCII in paths are \ooo, as in /proc/mounts
 * (proc(5)).  0, or -1 with errno ENOMEM.
 */
int	 plan_print(const struct plan *p, struct buf *out) MUST_CHECK;
