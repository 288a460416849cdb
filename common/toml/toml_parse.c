/* The grammar: tables, keys, arrays. */
#include "common/toml/toml.h"
#include "common/toml/toml_priv.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/json/utf8.h"

/* The keys of a header or of a value. */
struct path {
	struct span	 keys[TOML_DEPTH_MAX];
	size_t		 n;
};

static int	 read_value(struct toml_parser *p, struct toml_value *v);

int
toml_fail(struct toml_parser *p, const char *why)
{
	if (p->why == NULL)
		p->why = why;
	return -1;
}

bool
toml_skip_newline(struct toml_parser *p)
{
	size_t	 n = toml_peek(p, 0) == '\n' ? 1 :
	    toml_peek(p, 0) == '\r' && toml_peek(p, 1) == '\n' ? 2 : 0;

	if (n == 0)
		return false;
	p->p += n;
	p->line = p->p;
	p->number++;
	return true;
}

static void
skip_blanks(struct toml_parser *p)
{
	while (toml_peek(p, 0) == ' ' || toml_peek(p, 0) == '\t')
		p->p++;
}

static int
skip_comment(struct toml_parser *p)
{
	int	 c;

	if (toml_peek(p, 0) != '#')
		return 0;
	for (; (c = toml_peek(p, 0)) != -1 && c != '\n'; p->p++) {
		if (c == '\r' && toml_peek(p, 1) == '\n')
			break;
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return toml_fail(p, "control character in a comment");
	}
	return 0;
}

/* Skip what may be between the parts of an array or an inline table. */
static int
skip_space(struct toml_parser *p)
{
	do {
		skip_blanks(p);
		if (skip_comment(p) == -1)
			return -1;
	} while (toml_skip_newline(p));
	return 0;
}

/* --- keys --- */

static bool
is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static int
toml_read_key(struct toml_parser *p, struct span *out)
{
	int	 c = toml_peek(p, 0);

	out->at = p->p;
	while (is_bare(toml_peek(p, 0)))
		p->p++;
	out->len = (size_t)(p->p - out->at);
	if (c == '"' || c == '\'') {
		if (toml_read_string(p, true, out) == -1)
			return -1;
	} else if (out->len == 0) {
		return toml_fail(p, "expected a key");
	}
	return out->len <= TOML_KEY_MAX ? 0 :
	    toml_fail(p, "the key is too long");
}

static int
toml_read_path(struct toml_parser *p, struct path *path)
{
	for (path->n = 0;;) {
		if (path->n == TOML_DEPTH_MAX)
			return toml_fail(p, "nested too deeply");
		skip_blanks(p);
		if (toml_read_key(p, &path->keys[path->n++]) == -1)
			return -1;
		skip_blanks(p);
		if (toml_peek(p, 0) != '.')
			return 0;
		p->p++;
	}
}

static struct toml_value *
add(struct toml_parser *p, struct toml_value *parent, struct span key,
    enum toml_type type)
{
	struct toml_value	*v;

	if ((v = toml_add(p->t, parent, key, type)) == NULL)
		toml_fail(p, errno == E2BIG ?
		    "too many values, or nested too deeply" : "out of memory");
	return v;
}

/* Return the table of a member, made if need be; of a list its last one. */
static struct toml_value *
enter(struct toml_parser *p, struct toml_value *table, struct span key,
    enum toml_origin origin)
{
	struct toml_value	*v = toml_member(p->t, table, key);

	assert(table->type == TOML_TABLE);
	if (v == NULL) {
		if ((v = add(p, table, key, TOML_TABLE)) != NULL)
			v->origin = origin;
		return v;
	}
	if (origin == TOML_IMPLIED && v->type == TOML_ARRAY &&
	    v->origin == TOML_HEADED)
		return v->last;
	if (v->type != TOML_TABLE || v->origin == TOML_CLOSED ||
	    (origin == TOML_DOTTED && v->origin == TOML_HEADED)) {
		toml_fail(p, "there is a value of that name, or its table "
		    "cannot be extended here");
		return NULL;
	}
	if (origin == TOML_DOTTED)
		v->origin = TOML_DOTTED;
	return v;
}

/* --- values --- */

/* key = value, in a table. */
static int
read_member(struct toml_parser *p, struct toml_value *table)
{
	struct toml_value	*v;
	struct path		 path;
	size_t			 i;

	if (toml_read_path(p, &path) == -1)
		return -1;
	for (i = 0; i + 1 < path.n; i++)
		if ((table = enter(p, table, path.keys[i],
		    TOML_DOTTED)) == NULL)
			return -1;
	if (toml_member(p->t, table, path.keys[i]) != NULL)
		return toml_fail(p, "duplicate key");
	if (toml_peek(p, 0) != '=')
		return toml_fail(p, "expected = after a key");
	p->p++;
	skip_blanks(p);
	if ((v = add(p, table, path.keys[i], TOML_STRING)) == NULL)
		return -1;
	return read_value(p, v);
}

/* Read the parts of an array or an inline table up to its end. */
static int
read_parts(struct toml_parser *p, struct toml_value *v, char end)
{
	static const struct span	 none = { NULL, 0 };
	struct toml_value		*element;

	p->p++;
	for (;;) {
		if (skip_space(p) == -1)
			return -1;
		if (toml_peek(p, 0) == end)
			break;
		if (v->type == TOML_TABLE) {
			if (read_member(p, v) == -1)
				return -1;
		} else if ((element = add(p, v, none, TOML_STRING)) == NULL ||
		    read_value(p, element) == -1) {
			return -1;
		}
		if (skip_space(p) == -1)
			return -1;
		if (toml_peek(p, 0) == end)
			break;
		if (toml_peek(p, 0) != ',')
			return toml_fail(p, "expected a comma or the end of "
			    "an array or inline table");
		p->p++;
	}
	p->p++;
	return 0;
}

/* The origin stays TOML_CLOSED: nothing can be added later. */
static int
read_value(struct toml_parser *p, struct toml_value *v)
{
	switch (toml_peek(p, 0)) {
	case '"':
	case '\'':
		return toml_read_string(p, false, &v->text);
	case '[':
		v->type = TOML_ARRAY;
		return read_parts(p, v, ']');
	case '{':
		v->type = TOML_TABLE;
		return read_parts(p, v, '}');
	default:
		return toml_read_scalar(p, v);
	}
}

/* --- headers --- */

/* Return the table that a header [...] names. */
static struct toml_value *
head_table(struct toml_parser *p, struct toml_value *parent, struct span key)
{
	struct toml_value	*v = toml_member(p->t, parent, key);

	if (v == NULL) {
		if ((v = add(p, parent, key, TOML_TABLE)) != NULL)
			v->origin = TOML_HEADED;
		return v;
	}
	if (v->type != TOML_TABLE || v->origin != TOML_IMPLIED) {
		toml_fail(p, "duplicate key");
		return NULL;
	}
	v->origin = TOML_HEADED;
	return v;
}

/* Return a new table at the end of the list that [[...]] names. */
static struct toml_value *
head_list(struct toml_parser *p, struct toml_value *parent, struct span key)
{
	static const struct span	 none = { NULL, 0 };
	struct toml_value		*list = toml_member(p->t, parent, key);
	struct toml_value		*v;

	if (list == NULL) {
		if ((list = add(p, parent, key, TOML_ARRAY)) == NULL)
			return NULL;
		list->origin = TOML_HEADED;
	} else if (list->type != TOML_ARRAY || list->origin != TOML_HEADED) {
		toml_fail(p, "duplicate key");
		return NULL;
	}
	if ((v = add(p, list, none, TOML_TABLE)) != NULL)
		v->origin = TOML_HEADED;
	return v;
}

static int
toml_read_header(struct toml_parser *p, struct toml_value **table)
{
	struct toml_value	*v = p->t->root;
	struct path		 path;
	bool			 is_list = toml_peek(p, 1) == '[';
	size_t			 i;

	p->p += is_list ? 2 : 1;
	if (toml_read_path(p, &path) == -1)
		return -1;
	if (toml_peek(p, 0) != ']' || (is_list && toml_peek(p, 1) != ']'))
		return toml_fail(p, "expected the end of a header");
	p->p += is_list ? 2 : 1;
	for (i = 0; i + 1 < path.n; i++)
		if ((v = enter(p, v, path.keys[i], TOML_IMPLIED)) == NULL)
			return -1;
	*table = is_list ? head_list(p, v, path.keys[i]) :
	    head_table(p, v, path.keys[i]);
	return *table == NULL ? -1 : 0;
}

/* --- all --- */

static int
toml_read_lines(struct toml_parser *p)
{
	struct toml_value	*table = p->t->root;
	int			 c;

	for (;;) {
		skip_blanks(p);
		c = toml_peek(p, 0);
		if (c == '[') {
			if (toml_read_header(p, &table) == -1)
				return -1;
		} else if (c != '#' && c != '\n' && c != '\r' && c != -1 &&
		    read_member(p, table) == -1) {
			return -1;
		}
		skip_blanks(p);
		if (skip_comment(p) == -1)
			return -1;
		if (toml_peek(p, 0) == -1)
			return 0;
		if (!toml_skip_newline(p))
			return toml_fail(p, "expected the end of the line");
	}
}

int
toml_parse(struct toml *t, char *text, size_t len, struct toml_error *e)
{
	struct toml_parser	 p = { t, text, text + len, text, 1, NULL };

	memset(e, 0, sizeof(*e));
	if (!utf8_is_valid(text, len)) {
		e->why = "not UTF-8";
		return -1;
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		p.p = p.line = text + 3;
	if (toml_read_lines(&p) == 0)
		return 0;
	e->line = p.number;
	e->column = (unsigned)(p.p - p.line) + 1;
	e->why = p.why;
	return -1;
}
