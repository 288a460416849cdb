/* What the files of a plan share: plan.c, plan_make.c, plan_entry.c. */
#ifndef COMMON_PLAN_PLAN_PRIV_H
#define COMMON_PLAN_PLAN_PRIV_H

#include <limits.h>

#include "common/json/params.h"
#include "common/plan/plan.h"

/* A plan that is being made. */
struct plan_maker {
	struct plan		*p;
	struct json		*j;
	const struct plan_context *ctx;
	char			*why;
	size_t			 why_size;
	bool			 has_cwd;
	char			 cwd[PATH_MAX];
	bool			 cwd_is_root;	/* it stands in for one */
	uint32_t		 roots;		/* list of them, or 0 */
	bool			 has_minimal;
	size_t			 entry;		/* looked at, from 0 */
};

/* Add a rule. 0, or -1 with errno: E2BIG too much, ENOMEM. */
int	 plan_add(struct plan *p, enum plan_kind kind, bool if_exists,
	    const char *path) __attribute__((warn_unused_result));

/*
 * Nothing more will be added: put in what no entry needs to say, the rules in
 * their order, and drop those without effect.  has_minimal: platform folders
 * may be read.  0, or -1 with errno: E2BIG, ENOMEM, ENAMETOOLONG.
 */
int	 plan_settle(struct plan *p, bool has_minimal)
	    __attribute__((warn_unused_result));

/* Say why, once; -1 for the caller to return. */
int	 plan_refuse(struct plan_maker *m, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/* plan_add(), and why not. */
int	 plan_put(struct plan_maker *m, enum plan_kind kind, bool if_exists,
	    const char *path) __attribute__((warn_unused_result));

/* Decode an object of the sandbox; why not is said. */
#define PLAN_DECODE(m, tok, group, out)					\
	plan_decode(m, tok, fields_##group, out, sizeof(*(out)))
int	 plan_decode(struct plan_maker *m, uint32_t tok,
	    const struct field *fields, void *out, size_t size)
	    __attribute__((warn_unused_result));

/* Dots in the names that plan_join() is given. */
enum plan_dots {
	DOTS_REFUSED,		/* a subpath: it leads nowhere else */
	DOTS_RESOLVED,		/* a path; "..", as in URIs, in the text */
	DOTS_IN_PATTERN		/* the same, but not over a wildcard */
};

/*
 * Put names behind a tidy absolute path of at most PATH_MAX bytes; empty
 * ones vanish.  0, or -1 with errno: EINVAL dots, or a NUL, ENAMETOOLONG.
 */
int	 plan_join(char *path, const char *names, size_t len,
	    enum plan_dots dots) __attribute__((warn_unused_result));

/* The entry at token tok. 0, or -1 having said why. */
int	 plan_entry(struct plan_maker *m, uint32_t tok)
	    __attribute__((warn_unused_result));

/* The working folder; none, if the path is not absolute. */
void	 plan_set_cwd(struct plan_maker *m, const char *path);

/*
 * A rule for each project root, or for a folder in each; for the temporary
 * one, if there is one.  0, or -1 having said why.
 */
int	 plan_put_roots(struct plan_maker *m, enum plan_kind kind,
	    bool if_exists, const char *sub, size_t len)
	    __attribute__((warn_unused_result));
int	 plan_put_tmpdir(struct plan_maker *m, enum plan_kind kind,
	    bool if_exists) __attribute__((warn_unused_result));

/* A list of paths: each as a writable one, or only looked at. */
int	 plan_put_list(struct plan_maker *m, uint32_t list, const char *what,
	    bool is_writable) __attribute__((warn_unused_result));

/* A policy as of April 2026 (plan_legacy.c), and whether it is one. */
bool	 plan_is_legacy(const struct json *j, uint32_t tok);
int	 plan_legacy(struct plan_maker *m, uint32_t tok)
	    __attribute__((warn_unused_result));

#endif
