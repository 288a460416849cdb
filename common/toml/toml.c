#include "common/toml/toml.h"
#include "common/toml/toml_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct toml *
toml_new(void)
{
	static const struct span	 none = { NULL, 0 };
	struct toml			*t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return NULL;
	map_init(&t->members);
	if ((t->root = toml_add(t, NULL, none, TOML_TABLE)) == NULL)
		toml_free(&t);
	else
		t->root->origin = TOML_HEADED;
	return t;
}

void
toml_free(struct toml **tp)
{
	struct toml		*t = *tp;
	struct toml_value	*v;

	if (t == NULL)
		return;
	map_fini(&t->members);
	while ((v = t->all) != NULL) {
		t->all = v->all;
		free(v);
	}
	free(t);
	*tp = NULL;
}

static void
toml_append(struct toml_value *parent, struct toml_value *v)
{
	assert(v->next == NULL && parent->last != v);
	if (parent->last == NULL)
		parent->first = v;
	else
		parent->last->next = v;
	parent->last = v;
}

struct toml_value *
toml_add(struct toml *t, struct toml_value *parent, struct span name,
    enum toml_type type)
{
	struct toml_value	*v;

	assert(parent == NULL || parent->type == TOML_TABLE ||
	    parent->type == TOML_ARRAY);
	if (t->n >= TOML_VALUES_MAX ||
	    (parent != NULL && parent->depth >= TOML_DEPTH_MAX)) {
		errno = E2BIG;
		return NULL;
	}
	if ((v = calloc(1, sizeof(*v) + TOML_KEY_ID + name.len)) == NULL)
		return NULL;
	v->all = t->all;
	t->all = v;
	v->id = t->n++;
	v->type = type;
	v->origin = TOML_CLOSED;
	if ((v->parent = parent) == NULL)
		return v;
	v->depth = parent->depth + 1;
	if (name.at != NULL) {
		v->key_len = TOML_KEY_ID + name.len;
		memcpy(v->key, &parent->id, TOML_KEY_ID);
		memcpy(v->key + TOML_KEY_ID, name.at, name.len);
		if (map_add(&t->members, &v->node, v->key, v->key_len,
		    v) == -1)
			return NULL;
	}
	toml_append(parent, v);
	return v;
}

struct toml_value *
toml_member(const struct toml *t, const struct toml_value *table,
    struct span name)
{
	char	 key[TOML_KEY_ID + TOML_KEY_MAX];

	assert(table->type == TOML_TABLE);
	if (name.len > TOML_KEY_MAX)
		return NULL;
	memcpy(key, &table->id, TOML_KEY_ID);
	memcpy(key + TOML_KEY_ID, name.at, name.len);
	return map_find(&t->members, key, TOML_KEY_ID + name.len);
}

const struct toml_value *
toml_root(const struct toml *t)
{
	return t->root;
}

const struct toml_value *
toml_get(const struct toml *t, const struct toml_value *v, struct span key)
{
	return v->type == TOML_TABLE ? toml_member(t, v, key) : NULL;
}

const struct toml_value *
toml_first(const struct toml_value *v)
{
	return v->type == TOML_TABLE ? v->first : NULL;
}

const struct toml_value *
toml_next(const struct toml_value *v)
{
	return v->next;
}

bool
toml_is_table(const struct toml_value *v)
{
	return v->type == TOML_TABLE;
}

struct span
toml_key(const struct toml_value *v)
{
	struct span	 key = { NULL, 0 };

	if (v->key_len > 0) {
		key.at = (const char *)v->key + TOML_KEY_ID;
		key.len = v->key_len - TOML_KEY_ID;
	}
	return key;
}

struct span
toml_string(const struct toml_value *v)
{
	static const struct span	 none = { NULL, 0 };

	return v->type == TOML_STRING ? v->text : none;
}

int
toml_bool(const struct toml_value *v)
{
	return v->type == TOML_TRUE ? 1 : v->type == TOML_FALSE ? 0 : -1;
}

void
toml_select(struct toml *t, const struct span *path, size_t n)
{
	struct toml_value	*v = t->root, *next;
	size_t			 i;

	for (i = 0; i < n && v->type == TOML_TABLE; i++) {
		if ((next = toml_member(t, v, path[i])) == NULL)
			break;
		v = next;
	}
	if (i == n || v->type != TOML_TABLE)
		v->is_wanted = v != t->root;
	for (; v != NULL && v != t->root; v = v->parent)
		v->is_on_way = true;
}
