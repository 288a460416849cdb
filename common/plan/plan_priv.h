/* Internal to common/plan/plan*.c. */
#pragma once

#include <limits.h>

#include "common/json/params.h"
#include "common/plan/plan.h"

/* A plan being made. */
struct plan_maker {
	struct plan		*p;
	struct json		*j;
	const struct plan_context *ctx;
	char			*why;
	size_t			 why_size;
	bool			 has_cwd;
	char			 cwd[PATH_MAX];
	bool			 cwd_is_root;	/* the only project root */
	uint32_t		 roots;		/* token of a list, or 0 */
	bool			 has_minimal;
	size_t			 entry;		/* current one, from 0 */
};

/* -1: errno E2BIG (too many), ENOMEM. */
int	 plan_add(struct plan *p, enum plan_kind kind, bool if_exists,
	    const char *path) MUST_CHECK;

/* Sort, add protected, (has_minimal) platform folders.  -1: errno. */
int	 plan_settle(struct plan *p, bool has_minimal) MUST_CHECK;

/* Set the reason, unless set.  Always -1. */
int	 plan_refuse(struct plan_maker *m, const char *fmt, ...) PRINTF(2, 3);

/* -1 with the reason set, as all below. */
int	 plan_put(struct plan_maker *m, enum plan_kind kind, bool if_exists,
	    const char *path) MUST_CHECK;

#define PLAN_DECODE(m, tok, group, out)					\
	plan_decode(m, tok, fields_##group, out, sizeof(*(out)))
int	 plan_decode(struct plan_maker *m, uint32_t tok,
	    const struct field *fields, void *out, size_t size) MUST_CHECK;

/* "." and "..". */
enum plan_dots {
	DOTS_REFUSED,		/* in a subpath, which must stay below */
	DOTS_RESOLVED,		/* in a path: textually, as in URIs */
	DOTS_IN_PATTERN		/* the same, but not after a wildcard */
};

/*
 * Append names to a normalized absolute path of up to PATH_MAX bytes, without
 * empty ones.  0, or -1 with errno: EINVAL (dots, or NUL), ENAMETOOLONG.
 */
int	 plan_join(char *path, const char *names, size_t len,
	    enum plan_dots dots) MUST_CHECK;

int	 plan_entry(struct plan_maker *m, uint32_t tok) MUST_CHECK;

/* None if path is not absolute. */
void	 plan_set_cwd(struct plan_maker *m, const char *path);

/* For each project root, or a folder in each; for the temporary folder. */
int	 plan_put_roots(struct plan_maker *m, enum plan_kind kind,
	    bool if_exists, const char *sub, size_t len) MUST_CHECK;
int	 plan_put_tmpdir(struct plan_maker *m, enum plan_kind kind,
	    bool if_exists) MUST_CHECK;

/* Add, or check only, writable paths. */
int	 plan_put_list(struct plan_maker *m, uint32_t list, const char *what,
	    bool is_writable) MUST_CHECK;

/* plan_legacy.c */
bool	 plan_is_legacy(const struct json *j, uint32_t tok);
int	 plan_legacy(struct plan_maker *m, uint32_t tok) MUST_CHECK;
