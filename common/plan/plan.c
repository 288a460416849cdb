#include "common/plan/plan_priv.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/plan/pathglob.h"

#define FIRST_ROOM	8		/* rules allocated first; doubled */

static const char	*const words[] = {
#define PLAN_RULE(name, word, meaning)	word,
#include "proto/sandbox.def"
#undef PLAN_RULE
};

/* Readable folders of "minimal" on Linux, as in the reference. */
static const char	*const platform[] = {
	"/bin", "/etc", "/lib", "/lib64", "/nix/store",
	"/run/current-system/sw", "/sbin", "/usr"
};

/*
 * Read-only in writable folders, as in the reference, unless an entry names
 * them: programs outside of the sandbox run what is in there.
 */
static const char	*const protected[] = {
	".agents", ".aws", ".codex", ".git"
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static bool
is_root(const char *path)
{
	return path[0] == '/' && path[1] == '\0';
}

bool
plan_is_within(const char *folder, const char *path)
{
	size_t	 n = is_root(folder) ? 0 : strlen(folder);

	return strncmp(folder, path, n) == 0 &&
	    (path[n] == '/' || path[n] == '\0');
}

/* strcmp() but for the order of '/': a folder's contents follow it directly. */
static int
compare_paths(const char *a, const char *b)
{
	for (; *a == *b && *a != '\0'; a++, b++)
		;
	if (*a == *b)
		return 0;
	if (*a == '\0' || *b == '\0')
		return *a == '\0' ? -1 : 1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int
plan_compare_places(const struct plan_rule *a, const struct plan_rule *b)
{
	if ((a->kind == PLAN_HIDE) != (b->kind == PLAN_HIDE))
		return a->kind == PLAN_HIDE ? 1 : -1;
	return compare_paths(a->path, b->path);
}

/* Of equal paths the winner comes first: later row, then not if_exists. */
static int
compare_rules(const void *va, const void *vb)
{
	const struct plan_rule	*a = va, *b = vb;
	int			 c = plan_compare_places(a, b);

	if (c != 0)
		return c;
	if (a->kind != b->kind)
		return a->kind > b->kind ? -1 : 1;
	return a->if_exists - b->if_exists;
}

int
plan_add(struct plan *p, enum plan_kind kind, bool if_exists,
    const char *path)
{
	struct plan_rule	*more;
	size_t			 n = p->n, len = strlen(path);

	assert(n <= LIMIT_SANDBOX_RULES && p->bytes <= LIMIT_SANDBOX_PATHS);
	if (n >= LIMIT_SANDBOX_RULES || len > LIMIT_SANDBOX_PATHS - p->bytes) {
		errno = E2BIG;
		return -1;
	}
	if (n == 0 || (n >= FIRST_ROOM && (n & (n - 1)) == 0)) {
		more = reallocarray(p->rules, n == 0 ? FIRST_ROOM : 2 * n,
		    sizeof(*more));
		if (more == NULL)
			return -1;
		p->rules = more;
	}
	if ((p->rules[n].path = strdup(path)) == NULL)
		return -1;
	p->rules[n].kind = kind;
	p->rules[n].if_exists = if_exists;
	p->rules[n].may_miss = false;
	p->bytes += len;
	p->n++;
	return 0;
}

/* Sort, and keep the winner for each path. */
static void
sort_rules(struct plan *p)
{
	size_t	 i, n = 0;

	if (p->n == 0)
		return;
	qsort(p->rules, p->n, sizeof(p->rules[0]), compare_rules);
	for (i = 1; i < p->n; i++)
		if (plan_compare_places(&p->rules[n], &p->rules[i]) == 0)
			free(p->rules[i].path);
		else
			p->rules[++n] = p->rules[i];
	p->n = n + 1;
}

/* Return the deepest of the first n rules at or above a path, or NULL. */
static const struct plan_rule *
deepest(const struct plan *p, size_t n, const char *path)
{
	while (n-- > 0)
		if (p->rules[n].kind != PLAN_HIDE &&
		    plan_is_within(p->rules[n].path, path))
			return &p->rules[n];
	return NULL;
}

/* Add them unless an entry covers them; one that denies all does not count. */
static int
add_platform(struct plan *p)
{
	const struct plan_rule	*r;
	size_t			 i, n = p->n;

	for (i = 0; i < COUNT(platform); i++) {
		r = deepest(p, n, platform[i]);
		if (r != NULL && (!is_root(r->path) || r->kind != PLAN_DENY))
			continue;
		if (plan_add(p, PLAN_READ, true, platform[i]) == -1)
			return -1;
	}
	sort_rules(p);
	return 0;
}

static int
compare_to_key(const void *key, const void *rule)
{
	return plan_compare_places(key, rule);
}

static int
add_protected(struct plan *p)
{
	struct plan_rule	 key = { .kind = PLAN_READ };
	char			 path[PATH_MAX];
	size_t			 i, k, n = p->n;

	/* If all is writable, so are the protected folders. */
	if (n > 0 && is_root(p->rules[0].path) &&
	    p->rules[0].kind == PLAN_WRITE)
		return 0;
	key.path = path;
	for (i = 0; i < n; i++)
		for (k = 0; k < COUNT(protected); k++) {
			if (p->rules[i].kind != PLAN_WRITE)
				continue;
			if (snprintf(path, sizeof(path), "%s/%s",
			    p->rules[i].path, protected[k]) >=
			    (int)sizeof(path)) {
				errno = ENAMETOOLONG;
				return -1;
			}
			if (bsearch(&key, p->rules, n, sizeof(key),
			    compare_to_key) == NULL &&
			    plan_add(p, PLAN_READ, true, path) == -1)
				return -1;
		}
	sort_rules(p);
	return 0;
}

static int
plan_rights(const struct plan_rule *r)
{
	if (r == NULL || r->kind == PLAN_DENY)
		return 0;
	return r->kind == PLAN_WRITE ? 2 : 1;
}

/* A rule above the current one. */
struct above {
	const char	*path;
	int		 rights;
	int		 most;		/* the same if its path is missing */
};

/*
 * Drop the last of *depth rules that path is not below: by the order of rules
 * no later path is either.  Return the deepest left, or NULL.
 */
static const struct above *
climb(const struct above *up, size_t *depth, const char *path)
{
	while (*depth > 0 && !plan_is_within(up[*depth - 1].path, path))
		(*depth)--;
	return *depth > 0 ? &up[*depth - 1] : NULL;
}

static int
max(int a, int b)
{
	return a > b ? a : b;
}

/* Return the most that any rule grants. */
static int
most_rights(const struct plan *p)
{
	size_t	 i;
	int	 most = 0;

	for (i = 0; i < p->n; i++)
		if (p->rules[i].kind != PLAN_HIDE)
			most = max(most, plan_rights(&p->rules[i]));
	return most;
}

/*
 * Drop rules without effect, mark those that only grant.  A rule takes rights
 * away if the rule above grants more, or would if folders that may be missing
 * were.  A path may lead elsewhere by a symlink, so a rule that takes rights
 * away is kept as long as any rule grants them.  The root is no symlink.
 */
static void
drop_idle(struct plan *p)
{
	struct above		 up[LIMIT_SANDBOX_RULES];
	const struct above	*over;
	struct plan_rule	 r;
	size_t			 i, n = 0, depth = 0;
	bool			 takes, idle;
	int			 most = most_rights(p);

	assert(p->n <= LIMIT_SANDBOX_RULES);
	for (i = 0; i < p->n; i++) {
		r = p->rules[i];
		r.may_miss = false;
		if (r.kind == PLAN_HIDE) {
			r.if_exists = true;
			p->rules[n++] = r;
			continue;
		}
		over = climb(up, &depth, r.path);
		takes = over != NULL && over->most > plan_rights(&r);
		idle = plan_rights(&r) == (over != NULL ? over->rights : 0);
		if (idle && (!takes || r.if_exists) &&
		    (plan_rights(&r) == most || is_root(r.path))) {
			free(r.path);
			continue;
		}
		r.may_miss = r.if_exists && (takes || idle);
		r.if_exists |= !takes && !idle;
		assert(depth < LIMIT_SANDBOX_RULES);
		up[depth].path = r.path;
		up[depth].rights = plan_rights(&r);
		up[depth].most = r.if_exists && over != NULL ?
		    max(plan_rights(&r), over->most) : plan_rights(&r);
		depth++;
		p->rules[n++] = r;
	}
	p->n = n;
}

int
plan_settle(struct plan *p, bool has_minimal)
{
	bool	 hides = false;
	size_t	 i;

	sort_rules(p);
	if ((has_minimal && add_platform(p) == -1) || add_protected(p) == -1)
		return -1;
	drop_idle(p);
	for (i = 0; i < p->n; i++)
		hides |= p->rules[i].kind == PLAN_HIDE;
	if (!hides)
		p->glob_depth = 0;
	/* A rule kept below the root would take writing away. */
	p->writes_all = p->n == 1 && is_root(p->rules[0].path) &&
	    p->rules[0].kind == PLAN_WRITE;
	p->reads_all = p->n > 0 && is_root(p->rules[0].path);
	for (i = 0; i < p->n; i++)
		if (p->rules[i].kind == PLAN_DENY ||
		    p->rules[i].kind == PLAN_HIDE)
			p->reads_all = false;
	return 0;
}

int
plan_everything(struct plan *p)
{
	memset(p, 0, sizeof(*p));
	if (plan_add(p, PLAN_WRITE, false, "/") == 0 &&
	    plan_settle(p, false) == 0)
		return 0;
	plan_free(p);
	return -1;
}

void
plan_free(struct plan *p)
{
	size_t	 i;

	for (i = 0; i < p->n; i++)
		free(p->rules[i].path);
	free(p->rules);
	memset(p, 0, sizeof(*p));
}

bool
plan_restricts(const struct plan *p)
{
	return !p->reads_all || !p->writes_all || p->net_off;
}

enum plan_kind
plan_decide(const struct plan *p, const char *path)
{
	const struct plan_rule	*r;
	size_t			 i;

	for (i = p->n; i-- > 0 && p->rules[i].kind == PLAN_HIDE;)
		if (pathglob_match(p->rules[i].path, path))
			return PLAN_HIDE;
	r = deepest(p, p->n, path);
	return r == NULL ? PLAN_DENY : r->kind;
}

enum plan_kind
plan_decide_around(const struct plan *p, const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		 parent[PATH_MAX];

	if (slash == NULL || slash == path)
		return plan_decide(p, "/");
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	return plan_decide(p, parent);
}

const char *
plan_word(enum plan_kind kind)
{
	assert(kind < PLAN_KINDS);
	return words[kind];
}

bool
plan_rule_may_miss(const struct plan *p, size_t i)
{
	assert(i < p->n);
	return p->rules[i].may_miss;
}

bool
plan_rule_gives(const struct plan *p, size_t i)
{
	const struct plan_rule	*r = &p->rules[i];

	assert(i < p->n);
	return r->kind != PLAN_HIDE &&
	    plan_rights(r) > plan_rights(deepest(p, i, r->path));
}

/* --- as text --- */

static int
plan_put_text(struct buf *out, const char *text)
{
	return buf_put(out, text, strlen(text));
}

/* Escape as in /proc/mounts what ends a word or a line. */
static int
plan_put_path(struct buf *out, const char *path)
{
	char	 octal[8];

	for (; *path != '\0'; path++) {
		if (*path > ' ' && *path < 0x7f && *path != '\\') {
			if (buf_put(out, path, 1) == -1)
				return -1;
			continue;
		}
		snprintf(octal, sizeof(octal), "\\%03o",
		    (unsigned)(unsigned char)*path);
		if (plan_put_text(out, octal) == -1)
			return -1;
	}
	return 0;
}

static int
print_rule(const struct plan *p, size_t i, struct buf *out)
{
	const struct plan_rule	*r = &p->rules[i];
	char			 depth[32];

	if (plan_put_text(out, words[r->kind]) == -1 ||
	    plan_put_text(out, " ") == -1 || plan_put_path(out, r->path) == -1)
		return -1;
	if (plan_rule_may_miss(p, i) && plan_put_text(out, " if-exists") == -1)
		return -1;
	if (r->kind == PLAN_HIDE && p->glob_depth > 0) {
		snprintf(depth, sizeof(depth), " depth %u", p->glob_depth);
		if (plan_put_text(out, depth) == -1)
			return -1;
	}
	return plan_put_text(out, "\n");
}

int
plan_print(const struct plan *p, struct buf *out)
{
	size_t	 i;

	for (i = 0; i < p->n; i++)
		if (print_rule(p, i, out) == -1)
			return -1;
	return plan_put_text(out, p->net_off ? "network off\n" :
	    "network on\n");
}
