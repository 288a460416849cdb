/*
 * Sandbox plans: what a sandbox object (PROTOCOL 9) allows, as
 * a list of rules.  Pure: nothing here looks at the file system, so that a plan
 * can be made, tested and shown anywhere; worker/holder enforces it.
 *
 * In a writable folder .agents, .aws, .codex and .git are read-only, unless an
 * entry names them or everything is writable: so in the reference, whatever
 * the client sends.
 */
#ifndef COMMON_PLAN_PLAN_H
#define COMMON_PLAN_PLAN_H

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
 * if_exists: where the path is missing there is nothing to do.  So it is with
 * all rules that only add rights: what is missing cannot be used.  Without
 * it the rule takes rights away also from what is made there later.
 */
struct plan_rule {
	enum plan_kind	 kind;
	bool		 if_exists;
	char		*path;		/* absolute, tidy; or a pattern */
	bool		 may_miss;	/* see plan_rule_may_miss() */
};

/*
 * Where a path leads by links is not known here: what it protects is protected
 * wherever that is, also in what another rule makes writable by other names.
 *
 * Rules are in the order of their paths, a folder before what is in it and
 * nothing between; each path stands once.  The deepest rule above or at a path
 * decides about it; where there is none it cannot be seen.  Behind them come
 * those of PLAN_HIDE, whose paths are patterns (common/plan/pathglob.h).  They
 * are for what is no folder, they win over all others, and no link is followed
 * on the way (as the reference).
 *
 * glob_depth: how far below pathglob_base() of a pattern is looked, 1 is that
 * folder itself; 0: as far as there is something.
 */
struct plan {
	bool		 reads_all;	/* reading is not confined */
	bool		 writes_all;	/* nor is writing */
	bool		 net_off;
	unsigned	 glob_depth;
	struct plan_rule *rules;
	size_t		 n;
	size_t		 bytes;		/* of paths that were added */
};

/*
 * What the plan is made for; NULL where there is none.  A path that is not
 * absolute is none either.
 */
struct plan_context {
	const char	*cwd;		/* a process's; the object's counts */
	const char	*tmpdir;	/* $TMPDIR of the process, or ours */
	bool		 native_paths;	/* accept them where URIs belong */
};

/*
 * The plan of the sandbox object at token tok of a parsed message, not 0.  0,
 * or -1 with the reason for the client in why: the object is malformed, of
 * an unknown kind, asks for what cannot be said by rules, or depends on a
 * folder that nobody named.  Everything is freed by plan_free(), also after -1.
 */
int	 plan_make(struct plan *p, struct json *j, unsigned tok,
	    const struct plan_context *ctx, char *why, size_t size)
	    __attribute__((warn_unused_result));
void	 plan_free(struct plan *p);

/* Whether it restricts anything at all. */
bool	 plan_restricts(const struct plan *p);

/* What the rules say about an absolute path, tidy as theirs. */
enum plan_kind plan_decide(const struct plan *p, const char *path);

/* The word of a row; whether a rule takes rights from what exists only. */
const char *plan_word(enum plan_kind kind);
bool	 plan_rule_may_miss(const struct plan *p, size_t i);

/*
 * Whether a rule gives more than the one around it.  One that does not has
 * nothing to give by way of a link either: who can write where its name is
 * can make it one, to anywhere.
 */
bool	 plan_rule_gives(const struct plan *p, size_t i);

/* And about the folder that a path is in; of the root, itself. */
enum plan_kind plan_decide_around(const struct plan *p, const char *path);

/*
 * The plan as lines of text, the same for plans that mean the same: what is
 * shown, and what tells whether two requests can share a holder.  Blanks,
 * backslashes and what is not ASCII are \ooo in paths, as in proc(5), mounts.
 * 0, or -1 for want of memory.
 */
int	 plan_print(const struct plan *p, struct buf *out)
	    __attribute__((warn_unused_result));

#endif
