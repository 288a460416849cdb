/* A document of what was selected. */
#include "common/toml/toml.h"
#include "common/toml/toml_priv.h"

#include <stdio.h>
#include <string.h>

static int	 put_value(struct buf *b, const struct toml_value *v);

static int
put_text(struct buf *b, const char *text)
{
	return buf_put(b, text, strlen(text));
}

/* Put a basic string, in the escapes of TOML 1.0. */
static int
put_string(struct buf *b, struct span s)
{
	static const char	 values[] = "\b\t\n\f\r\"\\";
	static const char	 names[] = "btnfr\"\\";
	const char		*at, *value;
	char			 escape[8];
	size_t			 i, begun = 0;

	if (put_text(b, "\"") == -1)
		return -1;
	for (i = 0, at = s.at; i < s.len; i++) {
		value = at[i] == '\0' ? NULL : strchr(values, at[i]);
		if (value == NULL && (unsigned char)at[i] >= 0x20 &&
		    at[i] != 0x7f)
			continue;
		if (value != NULL)
			snprintf(escape, sizeof(escape), "\\%c",
			    names[value - values]);
		else
			snprintf(escape, sizeof(escape), "\\u%04X",
			    (unsigned)(unsigned char)at[i]);
		if (buf_put(b, at + begun, i - begun) == -1 ||
		    put_text(b, escape) == -1)
			return -1;
		begun = i + 1;
	}
	if (s.len > begun && buf_put(b, s.at + begun, s.len - begun) == -1)
		return -1;
	return put_text(b, "\"");
}

static int
put_key(struct buf *b, struct span key)
{
	static const char	 bare[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t			 i;

	for (i = 0; i < key.len; i++)
		if (memchr(bare, key.at[i], sizeof(bare) - 1) == NULL)
			break;
	return key.len > 0 && i == key.len ? buf_put(b, key.at, key.len) :
	    put_string(b, key);
}

/* Put a scalar as it was written, with the seconds that 1.0 wants. */
static int
put_scalar(struct buf *b, const struct toml_value *v)
{
	size_t	 at = v->no_seconds;

	if (at == 0)
		return buf_put(b, v->text.at, v->text.len);
	if (buf_put(b, v->text.at, at) == -1 || put_text(b, ":00") == -1)
		return -1;
	return at == v->text.len ? 0 :
	    buf_put(b, v->text.at + at, v->text.len - at);
}

static int
put_parts(struct buf *b, const struct toml_value *v)
{
	const struct toml_value	*part;
	bool			 is_table = v->type == TOML_TABLE;

	if (put_text(b, is_table ? "{" : "[") == -1)
		return -1;
	for (part = v->first; part != NULL; part = part->next) {
		if (put_text(b, part == v->first ? is_table ? " " : "" :
		    ", ") == -1)
			return -1;
		if (is_table && (put_key(b, toml_key(part)) == -1 ||
		    put_text(b, " = ") == -1))
			return -1;
		if (put_value(b, part) == -1)
			return -1;
	}
	return put_text(b, is_table ? " }" : "]");
}

static int
put_value(struct buf *b, const struct toml_value *v)
{
	switch (v->type) {
	case TOML_STRING:
		return put_string(b, v->text);
	case TOML_TABLE:
	case TOML_ARRAY:
		return put_parts(b, v);
	default:
		return put_scalar(b, v);
	}
}

/* Put the keys that lead to a table; an element has that of its list. */
static int
put_path(struct buf *b, const struct toml_value *v)
{
	if (v->key_len == 0)
		v = v->parent;
	if (v->parent->parent != NULL &&
	    (put_path(b, v->parent) == -1 || put_text(b, ".") == -1))
		return -1;
	return put_key(b, toml_key(v));
}

/* Whether it gets a header: a table, or a list of those that had one. */
static bool
is_headed(const struct toml_value *v)
{
	return v->type == TOML_TABLE ||
	    (v->type == TOML_ARRAY && v->origin == TOML_HEADED);
}

static bool
is_shown(const struct toml_value *v, bool all)
{
	return all || v->is_on_way;
}

static int
put_header(struct buf *b, const struct toml_value *v)
{
	bool	 is_element = v->key_len == 0;

	if (b->len > 0 && put_text(b, "\n") == -1)
		return -1;
	if (put_text(b, is_element ? "[[" : "[") == -1 ||
	    put_path(b, v) == -1)
		return -1;
	return put_text(b, is_element ? "]]\n" : "]\n");
}

/* Whether only what is in it has to be named: tables, and nothing else. */
static bool
goes_without(const struct toml_value *v, bool all)
{
	const struct toml_value	*part;
	bool			 has_table = false;

	if (v->key_len == 0)
		return false;
	for (part = v->first; part != NULL; part = part->next)
		if (is_shown(part, all)) {
			if (!is_headed(part))
				return false;
			has_table = true;
		}
	return has_table;
}

/* Put the members of a table: its own values first. */
static int
toml_put_members(struct buf *b, const struct toml_value *v, bool all)
{
	const struct toml_value	*part, *table;
	bool			 whole;

	for (part = v->first; part != NULL; part = part->next)
		if (is_shown(part, all) && !is_headed(part) &&
		    (put_key(b, toml_key(part)) == -1 ||
		    put_text(b, " = ") == -1 || put_value(b, part) == -1 ||
		    put_text(b, "\n") == -1))
			return -1;
	for (part = v->first; part != NULL; part = part->next) {
		if (!is_shown(part, all) || !is_headed(part))
			continue;
		whole = all || part->is_wanted;
		table = part->type == TOML_ARRAY ? part->first : part;
		do {
			if ((!goes_without(table, whole) &&
			    put_header(b, table) == -1) ||
			    toml_put_members(b, table, whole) == -1)
				return -1;
		} while (part->type == TOML_ARRAY &&
		    (table = table->next) != NULL);
	}
	return 0;
}

int
toml_put(const struct toml *t, struct buf *out)
{
	return toml_put_members(out, t->root, false);
}
