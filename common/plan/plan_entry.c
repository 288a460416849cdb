/* An entry of the permissions: its paths and rights. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/plan/pathglob.h"
#include "common/plan/plan_priv.h"

#define BRACES_DEEP	32		/* nested expansions */

struct entry {
	enum plan_kind	 kind;
	bool		 if_exists;
	struct special_value_params value;
};

typedef int	 special_fn(struct plan_maker *, const struct entry *);

static int
refuse_entry(struct plan_maker *m, const char *why)
{
	return plan_refuse(m, "entries[%zu]: %s", m->entry, why);
}

/* --- special paths --- */

static int
special_root(struct plan_maker *m, const struct entry *e)
{
	return plan_put(m, e->kind, e->if_exists, "/");
}

/* No entry can make it writable, as in the reference. */
static int
special_minimal(struct plan_maker *m, const struct entry *e)
{
	if (e->kind == PLAN_DENY)
		return refuse_entry(m, "minimal cannot be denied");
	m->has_minimal = true;
	return 0;
}

static int
special_roots(struct plan_maker *m, const struct entry *e)
{
	return plan_put_roots(m, e->kind, e->if_exists, e->value.subpath.s,
	    e->value.subpath.len);
}

static int
special_tmpdir(struct plan_maker *m, const struct entry *e)
{
	return plan_put_tmpdir(m, e->kind, e->if_exists);
}

static int
special_slash_tmp(struct plan_maker *m, const struct entry *e)
{
	return plan_put(m, e->kind, e->if_exists, "/tmp");
}

/*
 * A special path of newer clients.  The reference ignores it, which is safe
 * only for an entry that grants.
 */
static int
special_unknown(struct plan_maker *m, const struct entry *e)
{
	if (e->value.path.s == NULL)
		return refuse_entry(m, "missing \"path\"");
	if (e->kind != PLAN_WRITE)
		return refuse_entry(m, "an unknown place cannot be protected");
	return 0;
}

/* The second is an alias of the third, as in the reference. */
static const struct special {
	const char	*kind;
	special_fn	*fn;
	bool		 takes_subpath;
} specials[] = {
	{ "root",			special_root,		false },
	{ "current_working_directory",	special_roots,		true },
	{ "project_roots",		special_roots,		true },
	{ "minimal",			special_minimal,	false },
	{ "slash_tmp",			special_slash_tmp,	false },
	{ "tmpdir",			special_tmpdir,		false },
	{ "unknown",			special_unknown,	true },
};

static int
put_special(struct plan_maker *m, struct entry *e, uint32_t tok)
{
	struct entry_special_params	 p;
	const struct special		*s;
	size_t				 i;

	if (PLAN_DECODE(m, tok, entry_special, &p) == -1 ||
	    PLAN_DECODE(m, p.value, special_value, &e->value) == -1)
		return -1;
	for (i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		s = &specials[i];
		if (!param_is(&e->value.kind, s->kind))
			continue;
		if (e->value.subpath.s != NULL && !s->takes_subpath)
			return refuse_entry(m, "this kind has no subpath");
		return s->fn(m, e);
	}
	return refuse_entry(m, "unknown kind of special path");
}

/* --- patterns --- */

/* Return the matching end of a bracket or brace at s, or NULL. */
static char *
closing(char *s)
{
	size_t	 deep = 0;

	for (; *s != '\0'; s++) {
		if (*s == '\\' && s[1] != '\0') {
			s++;
		} else if (*s == '[') {
			if (s[1] == '!' || s[1] == '^')
				s++;
			if (s[1] == ']')
				s++;
			if ((s = strchr(s + 1, ']')) == NULL)
				return NULL;
			if (deep == 0)
				return s;
		} else if (*s == '{') {
			deep++;
		} else if (*s == '}' && --deep == 0) {
			return s;
		}
	}
	return NULL;
}

/* Return the first brace or NULL; bad_out: something is not closed. */
static char *
first_brace(char *s, bool *bad_out)
{
	*bad_out = false;
	for (; *s != '\0' && *s != '{'; s++) {
		if (*s == '\\' && s[1] != '\0')
			s++;
		else if (*s == '}' ||
		    (*s == '[' && (s = closing(s)) == NULL)) {
			*bad_out = true;
			return NULL;
		}
	}
	return *s == '{' ? s : NULL;
}

/* Return the end of an alternative: a comma at this level, or the brace. */
static char *
alternative_end(char *s, char *brace)
{
	for (; s < brace && *s != ','; s++)
		if (*s == '\\')
			s++;
		else if (*s == '[' || *s == '{')
			s = closing(s);
	return s < brace ? s : brace;
}

/* Add a pattern without braces; without wildcards it is a path. */
static int
plan_entry_put_plain(struct plan_maker *m, const char *pattern)
{
	char		 path[PATH_MAX] = "/", plain[PATH_MAX];
	const char	*c;
	size_t		 n = 1;

	if (pattern[0] != '/') {
		if (!m->has_cwd)
			return refuse_entry(m, "a relative pattern needs cwd");
		for (c = m->cwd + 1; *c != '\0'; c++) {
			if (n + 3 > sizeof(path))
				return refuse_entry(m, "the path is too long");
			if (strchr("*?[\\", *c) != NULL)
				path[n++] = '\\';
			path[n++] = *c;
		}
		path[n] = '\0';
	}
	if (plan_join(path, pattern, strlen(pattern), DOTS_IN_PATTERN) == -1 ||
	    !pathglob_is_valid(path))
		return refuse_entry(m, "a malformed pattern");
	if (pathglob_is_wild(path, strlen(path)))
		return plan_put(m, PLAN_HIDE, true, path);
	if (pathglob_base(path, plain, sizeof(plain)) == -1)
		return refuse_entry(m, "the path is too long");
	return plan_put(m, PLAN_DENY, true, plain);
}

/* Expand the first braces, then the rest; *room: patterns left. */
static int
expand(struct plan_maker *m, char *pattern, unsigned deep, unsigned *room)
{
	char	*open, *close, *s, *end, *one;
	bool	 is_bad;
	int	 r;

	if ((open = first_brace(pattern, &is_bad)) == NULL) {
		if (is_bad)
			return refuse_entry(m, "a malformed pattern");
		if ((*room)-- == 0)
			return refuse_entry(m, "too many alternatives");
		return plan_entry_put_plain(m, pattern);
	}
	if ((close = closing(open)) == NULL)
		return refuse_entry(m, "a malformed pattern");
	if (deep == BRACES_DEEP)
		return refuse_entry(m, "too many alternatives");
	for (s = open + 1; s <= close; s = end + 1) {
		end = alternative_end(s, close);
		if (asprintf(&one, "%.*s%.*s%s", (int)(open - pattern),
		    pattern, (int)(end - s), s, close + 1) == -1)
			return plan_refuse(m, "%s", strerror(errno));
		r = expand(m, one, deep + 1, room);
		free(one);
		if (r == -1)
			return -1;
	}
	return 0;
}

static int
put_pattern_text(struct plan_maker *m, const char *pattern, size_t len)
{
	char		*copy;
	unsigned	 room = LIMIT_SANDBOX_PATTERNS;
	int		 r;

	if (len == 0)
		return refuse_entry(m, "an empty pattern");
	if (len >= PATH_MAX)
		return refuse_entry(m, "the path is too long");
	if (len >= 5 && memcmp(pattern, "file:", 5) == 0)
		return refuse_entry(m, "a pattern is a path, not a URI");
	if ((copy = strndup(pattern, len)) == NULL)
		return plan_refuse(m, "%s", strerror(errno));
	r = expand(m, copy, 0, &room);
	free(copy);
	return r;
}

/* --- entries --- */

static int
plan_entry_put_path(struct plan_maker *m, const struct entry *e, uint32_t tok)
{
	struct entry_path_params	 p;
	char				 path[PATH_MAX] = "/";

	if (PLAN_DECODE(m, tok, entry_path, &p) == -1)
		return -1;
	if (plan_join(path, p.path.path, strlen(p.path.path),
	    DOTS_RESOLVED) == -1)
		return refuse_entry(m, "the path is too long");
	return plan_put(m, e->kind, e->if_exists, path);
}

/* Patterns can only deny, see PLAN_HIDE. */
static int
put_pattern(struct plan_maker *m, const struct entry *e, uint32_t tok)
{
	struct entry_pattern_params	 p;

	if (PLAN_DECODE(m, tok, entry_pattern, &p) == -1)
		return -1;
	if (e->kind != PLAN_DENY)
		return refuse_entry(m, "a pattern can only be denied");
	return put_pattern_text(m, p.pattern.s, p.pattern.len);
}

static int
read_access(struct plan_maker *m, const struct sandbox_entry_params *p,
    struct entry *e)
{
	static const struct {
		const char	*word;
		enum plan_kind	 kind;
	} access[] = {
		{ "read", PLAN_READ }, { "write", PLAN_WRITE },
		{ "deny", PLAN_DENY }, { "none", PLAN_DENY }
	};
	size_t	 i;

	for (i = 0; i < 4 && !param_is(&p->access, access[i].word); i++)
		;
	if (i == 4)
		return refuse_entry(m, "access must be read, write or deny");
	e->kind = access[i].kind;
	if (p->missing.s != NULL && !param_is(&p->missing, "skip"))
		return refuse_entry(m, "unknown missing_path_behavior");
	e->if_exists = p->missing.s != NULL;
	return 0;
}

int
plan_entry(struct plan_maker *m, uint32_t tok)
{
	struct sandbox_entry_params	 p;
	struct entry_place_params	 place;
	struct entry			 e;

	if (PLAN_DECODE(m, tok, sandbox_entry, &p) == -1 ||
	    PLAN_DECODE(m, p.path, entry_place, &place) == -1 ||
	    read_access(m, &p, &e) == -1)
		return -1;
	if (param_is(&place.type, "path"))
		return plan_entry_put_path(m, &e, p.path);
	if (param_is(&place.type, "glob_pattern"))
		return put_pattern(m, &e, p.path);
	if (param_is(&place.type, "special"))
		return put_special(m, &e, p.path);
	return refuse_entry(m, "unknown type of path");
}
