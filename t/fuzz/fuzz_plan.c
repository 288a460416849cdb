/*
 * Any JSON object as a sandbox: rules in order and tidy, lines that nobody can
 * forge, the same text when they are made once more.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/plan/pathglob.h"
#include "common/plan/plan.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct plan_context	 contexts[] = {
	{ NULL, NULL, false },
	{ "/work/[x]", "/t", false },
	{ "/work/../a/", "/tmp/", true },
};

static void
check_path(const char *path)
{
	size_t	 len = strlen(path);

	MUST(len > 0 && len < PATH_MAX && path[0] == '/');
	MUST(len == 1 || path[len - 1] != '/');
	MUST(strstr(path, "//") == NULL && strstr(path, "/./") == NULL &&
	    strstr(path, "/../") == NULL);
	MUST(len < 2 || strcmp(path + len - 2, "/.") != 0);
	MUST(len < 3 || strcmp(path + len - 3, "/..") != 0);
}

static void
check_pattern(const char *pattern)
{
	char	 base[PATH_MAX], path[PATH_MAX];

	MUST(pathglob_is_valid(pattern));
	MUST(pathglob_is_wild(pattern, strlen(pattern)));
	MUST(pathglob_base(pattern, base, sizeof(base)) == 0);
	check_path(base);
	MUST(!pathglob_match(pattern, base) || strcmp(base, "/") == 0);
	/* Hostile pairs end. */
	pathglob_match(pattern, pattern);
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	pathglob_match(pattern, path);
	MUST(pathglob_may_match_below(pattern, base));
}

static bool
is_above(const char *folder, const char *path)
{
	size_t	 n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(folder, path, n) == 0 && path[n] == '/';
}

static int
rights(const struct plan_rule *r)
{
	return r->kind == PLAN_WRITE ? 2 : r->kind == PLAN_READ ? 1 : 0;
}

/* Whether rule i takes rights, or gives none, where it is: the long way. */
static bool
matters_if_missing(const struct plan *p, size_t i)
{
	const struct plan_rule	*r = &p->rules[i];
	bool			 is_first = true;

	while (i-- > 0) {
		if (strcmp(p->rules[i].path, "/") != 0 &&
		    !is_above(p->rules[i].path, r->path))
			continue;
		if (rights(&p->rules[i]) > rights(r) ||
		    (is_first && rights(&p->rules[i]) == rights(r)))
			return true;
		is_first = false;
		if (!p->rules[i].if_exists)
			return false;
	}
	return is_first && rights(r) == 0;
}

static void
check_rules(const struct plan *p)
{
	const struct plan_rule	*r;
	size_t			 i;

	MUST(p->n <= LIMIT_SANDBOX_RULES);
	for (i = 0; i < p->n; i++) {
		r = &p->rules[i];
		check_path(r->path);
		if (r->kind == PLAN_HIDE) {
			check_pattern(r->path);
			MUST(r->if_exists && !p->reads_all && !p->writes_all);
			continue;
		}
		MUST(i == 0 || p->rules[i - 1].kind != PLAN_HIDE);
		MUST(plan_rule_may_miss(p, i) ==
		    (r->if_exists && matters_if_missing(p, i)));
		MUST(i == 0 || (strcmp(p->rules[i - 1].path, r->path) != 0 &&
		    !is_above(r->path, p->rules[i - 1].path)));
		MUST(plan_decide(p, r->path) == r->kind ||
		    plan_decide(p, r->path) == PLAN_HIDE);
		MUST(r->kind != PLAN_DENY || !p->reads_all);
		MUST(r->kind == PLAN_WRITE || !p->writes_all);
	}
	MUST(!p->writes_all || p->reads_all);
}

/* A line a rule, of words without anything that is not printable. */
static void
check_text(const struct plan *p, const struct buf *b)
{
	const uint8_t	*s = buf_data(b);
	size_t		 i, lines = 0;

	for (i = 0; i < b->len; i++) {
		lines += s[i] == '\n';
		MUST(s[i] == '\n' || (s[i] >= ' ' && s[i] < 0x7f));
	}
	MUST(lines == p->n + 1);
}

/* What was made of the text, or why nothing was, into b. */
static void
make(const uint8_t *data, size_t len, const struct plan_context *ctx,
    struct buf *b)
{
	struct json	 j;
	struct plan	 p;
	char		*text, why[128];

	text = malloc(len + 2);
	MUST(text != NULL);
	text[0] = '[';
	if (len > 0)
		memcpy(text + 1, data, len);
	text[len + 1] = ']';
	json_init(&j);
	if (json_parse(&j, text, len + 2) == 0 && j.ntoks > 1) {
		memset(why, 'x', sizeof(why));
		if (plan_make(&p, &j, 1, ctx, why, sizeof(why)) == 0) {
			check_rules(&p);
			MUST(plan_print(&p, b) == 0);
			check_text(&p, b);
		} else {
			MUST(memchr(why, '\0', sizeof(why)) != NULL);
			MUST(why[0] != '\0');
			MUST(buf_put(b, why, strlen(why)) == 0);
		}
		plan_free(&p);
	}
	json_fini(&j);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf	 b, again;
	size_t		 i;

	if (!utf8_is_valid(data, len))
		return 0;
	for (i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		buf_init(&b, SIZE_MAX);
		buf_init(&again, SIZE_MAX);
		make(data, len, &contexts[i], &b);
		make(data, len, &contexts[i], &again);
		MUST(b.len == again.len && (b.len == 0 ||
		    memcmp(buf_data(&b), buf_data(&again), b.len) == 0));
		buf_fini(&b);
		buf_fini(&again);
	}
	return 0;
}
