#include "common/client/jsonmap.h"

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/text.h"
#include "common/json/b64.h"
#include "common/json/uri.h"
#include "common/json/utf8.h"

#define URI_MAX		(3 * PATH_MAX + 8)

/* --- the tables --- */

#define JSONMAP(name, type)						\
	typedef struct type	 S_##name;				\
	static const struct jsonmap_row rows_##name[] = {
#define ROW(map, type, key, presence, member)				\
	{ key, JSONMAP_##type, JSONMAP_##presence,			\
	  offsetof(S_##map, member), 0, NULL },
#define SUB(map, type, key, presence, member, sub)			\
	{ key, JSONMAP_##type, JSONMAP_##presence,			\
	  AT_##type(map, member), NUMBER_##type(map, member),		\
	  &execsrv_jsonmap_##sub },
#define AT_OBJECT(map, member)		0
#define AT_LIST(map, member)		offsetof(S_##map, member)
#define NUMBER_OBJECT(map, member)	0
#define NUMBER_LIST(map, member)	offsetof(S_##map, n##member)
#define END(name)							\
	{ NULL, JSONMAP_TEXT, JSONMAP_OPTIONAL, 0, 0, NULL } };		\
	const struct jsonmap execsrv_jsonmap_##name = {			\
		sizeof(S_##name), rows_##name };
#include "common/client/jsonmaps.def"
#undef JSONMAP
#undef ROW
#undef SUB
#undef END

/* The type of a member must be that of its row. */
typedef const char			*C_TEXT, *C_PATH, *C_JSON, *C_YES;
typedef const char *const		*C_TEXTS;
typedef C_TEXTS				 C_PATHS, C_VARS;
typedef bool				 C_BOOL, C_ON, C_OFF;
typedef uint64_t			 C_U64, C_MODE;
typedef int64_t				 C_I64;
typedef struct execsrv_bytes		 C_BYTES;

#define JSONMAP(name, type)
#define ROW(map, type, key, presence, member)				\
	_Static_assert(__builtin_types_compatible_p(C_##type,		\
	    __typeof__(((S_##map *)0)->member)), #map "." #member);
#define SUB(map, type, key, presence, member, sub)
#define END(name)
#include "common/client/jsonmaps.def"
#undef JSONMAP
#undef ROW
#undef SUB
#undef END

#define MEMBER(from, row, type)						\
	(*(const type *)((const char *)(from) + (row)->offset))

/* --- writing --- */

static int
jsonmap_refuse(int error)
{
	errno = error;
	return -1;
}

static int
jsonmap_put_text(struct json_out *o, const char *text)
{
	if (!utf8_is_valid(text, strlen(text)))
		return jsonmap_refuse(EILSEQ);
	json_out_str(o, text);
	return 0;
}

static int
jsonmap_put_path(struct json_out *o, const char *path)
{
	char	 uri[URI_MAX];

	if (uri_from_path(path, uri, sizeof(uri)) == -1)
		return -1;
	json_out_str(o, uri);
	return 0;
}

/* Whether a later variable has the same name: write each key once. */
static bool
is_overridden(const char *const *v)
{
	const char *const	*w;
	size_t			 n = strcspn(*v, "=") + 1;

	for (w = v + 1; *w != NULL; w++)
		if (strncmp(*v, *w, n) == 0)
			return true;
	return false;
}

static int
put_vars(struct json_out *o, const char *const *v)
{
	size_t	 n;

	json_out_open(o, '{');
	for (; v != NULL && *v != NULL; v++) {
		n = strcspn(*v, "=");
		if (!utf8_is_valid(*v, strlen(*v)))
			return jsonmap_refuse(EILSEQ);
		if (n == 0 || (*v)[n] == '\0')
			return jsonmap_refuse(EINVAL);
		if (is_overridden(v))
			continue;
		json_out_key_text(o, *v, n);
		if (jsonmap_put_text(o, *v + n + 1) == -1)
			return -1;
	}
	json_out_close(o, '}');
	return 0;
}

static int
put_texts(struct json_out *o, const char *const *v, bool are_paths)
{
	json_out_open(o, '[');
	for (; v != NULL && *v != NULL; v++)
		if ((are_paths ? jsonmap_put_path : jsonmap_put_text)(o, *v) ==
		    -1)
			return -1;
	json_out_close(o, ']');
	return 0;
}

static int
jsonmap_put_json(struct json_out *o, const char *json)
{
	if (execsrv_check_json(json, strlen(json)) == -1)
		return -1;
	json_out_raw(o, json, strlen(json));
	return 0;
}

int
execsrv_jsonmap_put_object(struct json_out *o, const struct jsonmap *map,
    const void *from)
{
	json_out_open(o, '{');
	if (execsrv_jsonmap_put(o, map, from) == -1)
		return -1;
	json_out_close(o, '}');
	return 0;
}

static int
jsonmap_put_list(struct json_out *o, const struct jsonmap_row *row,
    const void *from)
{
	const char	*elem = MEMBER(from, row, C_TEXT);
	size_t		 i, n;

	n = *(const size_t *)((const char *)from + row->number);
	json_out_open(o, '[');
	for (i = 0; i < n; i++, elem += row->sub->size)
		if (execsrv_jsonmap_put_object(o, row->sub, elem) == -1)
			return -1;
	json_out_close(o, ']');
	return 0;
}

static bool
is_pointer(enum jsonmap_type type)
{
	return type == JSONMAP_TEXT || type == JSONMAP_PATH || type ==
	    JSONMAP_JSON;
}

/* Whether a member is not given, and so left out. */
static bool
is_given(const struct jsonmap_row *row, const void *from)
{
	if (is_pointer(row->type))
		return MEMBER(from, row, C_TEXT) != NULL;
	if (row->presence == JSONMAP_NEEDED)
		return true;
	switch (row->type) {
	case JSONMAP_ON:
	case JSONMAP_OFF:
		return MEMBER(from, row, bool);
	case JSONMAP_U64:
	case JSONMAP_MODE:
		return MEMBER(from, row, uint64_t) != 0;
	case JSONMAP_BYTES:
		return MEMBER(from, row, struct execsrv_bytes).len > 0;
	case JSONMAP_LIST:
		return MEMBER(from, row, C_TEXT) != NULL;
	default:
		return true;
	}
}

static int
jsonmap_put_value(struct json_out *o, const struct jsonmap_row *row,
    const void *from)
{
	const struct execsrv_bytes	*b;

	switch (row->type) {
	case JSONMAP_TEXT:
		return jsonmap_put_text(o, MEMBER(from, row, C_TEXT));
	case JSONMAP_PATH:
		return jsonmap_put_path(o, MEMBER(from, row, C_TEXT));
	case JSONMAP_JSON:
		return jsonmap_put_json(o, MEMBER(from, row, C_TEXT));
	case JSONMAP_TEXTS:
	case JSONMAP_PATHS:
		return put_texts(o, MEMBER(from, row, C_TEXTS),
		    row->type == JSONMAP_PATHS);
	case JSONMAP_VARS:
		return put_vars(o, MEMBER(from, row, C_TEXTS));
	case JSONMAP_OBJECT:
		return execsrv_jsonmap_put_object(o, row->sub, from);
	case JSONMAP_LIST:
		return jsonmap_put_list(o, row, from);
	case JSONMAP_BYTES:
		b = &MEMBER(from, row, struct execsrv_bytes);
		json_out_b64(o, b->data, b->len);
		break;
	case JSONMAP_U64:
		json_out_u64(o, MEMBER(from, row, uint64_t));
		break;
	case JSONMAP_MODE:
		json_out_u64(o, MEMBER(from, row, uint64_t) &
		    ~(uint64_t)S_IFMT);
		break;
	case JSONMAP_I64:
		json_out_i64(o, MEMBER(from, row, int64_t));
		break;
	case JSONMAP_BOOL:
		json_out_bool(o, MEMBER(from, row, bool));
		break;
	case JSONMAP_ON:
	case JSONMAP_OFF:
	case JSONMAP_YES:
		json_out_bool(o, row->type != JSONMAP_OFF);
		break;
	}
	return 0;
}

int
execsrv_jsonmap_put(struct json_out *o, const struct jsonmap *map,
    const void *from)
{
	const struct jsonmap_row	*row;

	for (row = map->rows; row->key != NULL; row++) {
		if (!is_given(row, from)) {
			if (row->presence == JSONMAP_NEEDED)
				return jsonmap_refuse(EINVAL);
			continue;
		}
		json_out_key(o, row->key);
		if (jsonmap_put_value(o, row, from) == -1)
			return -1;
	}
	return 0;
}

/* --- reading --- */

/*
 * The tokens are read twice: first with base NULL, which only counts bytes,
 * then into memory of that size.
 */
struct reading {
	const struct json	*j;
	char			*base;
	size_t			 used;
};

static void *
jsonmap_take(struct reading *r, size_t size)
{
	size_t	 at = (r->used + alignof(max_align_t) - 1) /
		    alignof(max_align_t) * alignof(max_align_t);

	r->used = at + size;
	return r->base == NULL ? NULL : r->base + at;
}

#define SET(to, row, type, value)					\
	do {								\
		if ((to) != NULL)					\
			*(type *)((char *)(to) + (row)->offset) = (value);\
	} while (0)

static int
get_text(struct reading *r, uint32_t tok, const char **out)
{
	const struct json_tok	*t = json_tok(r->j, tok);
	char			*copy;

	/* A NUL inside would cut the text for the caller. */
	if (t->type != JSON_STRING ||
	    memchr(json_text(r->j, tok), '\0', t->len) != NULL)
		return -1;
	if ((copy = jsonmap_take(r, (size_t)t->len + 1)) != NULL) {
		memcpy(copy, json_text(r->j, tok), t->len);
		copy[t->len] = '\0';
	}
	*out = copy;
	return 0;
}

static int
get_path(struct reading *r, uint32_t tok, const char **out)
{
	const struct json_tok	*t = json_tok(r->j, tok);
	char			 path[PATH_MAX], *copy;
	ssize_t			 n;

	if (t->type != JSON_STRING || (n = uri_to_path(json_text(r->j, tok),
	    t->len, path, sizeof(path))) == -1)
		return -1;
	if ((copy = jsonmap_take(r, (size_t)n + 1)) != NULL)
		memcpy(copy, path, (size_t)n + 1);
	*out = copy;
	return 0;
}

static int
get_json(struct reading *r, uint32_t tok, const char **out)
{
	struct json_out	 o;
	struct buf	 b;
	char		*copy = NULL;
	int		 error;

	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	execsrv_put_value(&o, r->j, tok);
	error = json_out_fini(&o);
	if (error == 0 && (copy = jsonmap_take(r, b.len + 1)) != NULL) {
		memcpy(copy, buf_data(&b), b.len);
		copy[b.len] = '\0';
	}
	buf_fini(&b);
	*out = copy;
	return error;
}

static int
get_bytes(struct reading *r, uint32_t tok, struct execsrv_bytes *out)
{
	const struct json_tok	*t = json_tok(r->j, tok);
	char			*data;
	ssize_t			 n = 0;

	if (t->type != JSON_STRING)
		return -1;
	if ((data = jsonmap_take(r, B64_DECODED_MAX(t->len) + 1)) != NULL) {
		if ((n = b64_decode(data, json_text(r->j, tok), t->len)) == -1)
			return -1;
		data[n] = '\0';
	}
	out->data = data;
	out->len = (size_t)n;
	return 0;
}

static uint32_t
jsonmap_count(const struct json *j, uint32_t list)
{
	uint32_t	 i, n = 0;

	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i))
		n++;
	return n;
}

static int
get_texts(struct reading *r, uint32_t tok, bool are_paths, C_TEXTS *out)
{
	const char	**v, *text = NULL;
	uint32_t	  i, n = 0;

	if (json_tok(r->j, tok)->type != JSON_ARRAY)
		return -1;
	v = jsonmap_take(r, ((size_t)jsonmap_count(r->j, tok) +
	    1) * sizeof(*v));
	for (i = json_first(tok); json_more(r->j, tok, i);
	    i = json_after_elem(r->j, i)) {
		if ((are_paths ? get_path : get_text)(r, i, &text) == -1)
			return -1;
		if (v != NULL)
			v[n++] = text;
	}
	if (v != NULL)
		v[n] = NULL;
	*out = v;
	return 0;
}

static int	 get_members(struct reading *, const struct jsonmap *, uint32_t,
		    void *);

static int
get_list(struct reading *r, const struct jsonmap_row *row, uint32_t tok,
    void *to)
{
	uint32_t	 i, n;
	char		*elems, *elem;

	if (json_tok(r->j, tok)->type != JSON_ARRAY)
		return -1;
	n = jsonmap_count(r->j, tok);
	elem = elems = jsonmap_take(r, n * row->sub->size);
	for (i = json_first(tok); json_more(r->j, tok, i);
	    i = json_after_elem(r->j, i)) {
		if (get_members(r, row->sub, i, elem) == -1)
			return -1;
		if (elem != NULL)
			elem += row->sub->size;
	}
	SET(to, row, char *, elems);
	if (to != NULL)
		*(size_t *)((char *)to + row->number) = n;
	return 0;
}

static int
get_texty(struct reading *r, const struct jsonmap_row *row, uint32_t tok,
    void *to)
{
	const char	*text = NULL;
	int		 result;

	if (row->type == JSONMAP_TEXT)
		result = get_text(r, tok, &text);
	else if (row->type == JSONMAP_PATH)
		result = get_path(r, tok, &text);
	else
		result = get_json(r, tok, &text);
	SET(to, row, const char *, text);
	return result;
}

static int
get_number(struct reading *r, const struct jsonmap_row *row, uint32_t tok,
    void *to)
{
	uint64_t	 u = 0;
	int64_t		 i = 0;

	if (row->type == JSONMAP_U64) {
		if (json_u64(r->j, tok, &u) == -1)
			return -1;
		SET(to, row, uint64_t, u);
	} else {
		if (json_i64(r->j, tok, &i) == -1)
			return -1;
		SET(to, row, int64_t, i);
	}
	return 0;
}

static int
get_bool(struct reading *r, const struct jsonmap_row *row, uint32_t tok,
    void *to)
{
	uint32_t	 type = json_tok(r->j, tok)->type;

	if (type != JSON_TRUE && type != JSON_FALSE)
		return -1;
	SET(to, row, bool, type == JSON_TRUE);
	return 0;
}

static int
get_value(struct reading *r, const struct jsonmap_row *row, uint32_t tok,
    void *to)
{
	struct execsrv_bytes	 bytes;
	C_TEXTS			 texts;

	switch (row->type) {
	case JSONMAP_TEXT:
	case JSONMAP_PATH:
	case JSONMAP_JSON:
		return get_texty(r, row, tok, to);
	case JSONMAP_TEXTS:
	case JSONMAP_PATHS:
		if (get_texts(r, tok, row->type == JSONMAP_PATHS, &texts) == -1)
			return -1;
		SET(to, row, C_TEXTS, texts);
		return 0;
	case JSONMAP_BYTES:
		if (get_bytes(r, tok, &bytes) == -1)
			return -1;
		SET(to, row, struct execsrv_bytes, bytes);
		return 0;
	case JSONMAP_U64:
	case JSONMAP_I64:
		return get_number(r, row, tok, to);
	case JSONMAP_BOOL:
		return get_bool(r, row, tok, to);
	case JSONMAP_OBJECT:
		return get_members(r, row->sub, tok, to);
	case JSONMAP_LIST:
		return get_list(r, row, tok, to);
	default:
		return -1;		/* never read */
	}
}

static int
get_members(struct reading *r, const struct jsonmap *map, uint32_t tok,
    void *to)
{
	const struct jsonmap_row	*row;
	uint32_t		 value;

	if (json_tok(r->j, tok)->type != JSON_OBJECT)
		return -1;
	for (row = map->rows; row->key != NULL; row++) {
		value = json_find(r->j, tok, row->key);
		if (value != 0 && (row->presence == JSONMAP_NEEDED ||
		    json_tok(r->j, value)->type != JSON_NULL)) {
			if (get_value(r, row, value, to) == -1)
				return -1;
		} else if (row->presence == JSONMAP_NEEDED) {
			return -1;
		} else if (row->presence == JSONMAP_DEFAULT_M1) {
			SET(to, row, int64_t, -1);
		}
	}
	return 0;
}

void *
execsrv_jsonmap_get(const struct jsonmap *map, const struct json *j,
    uint32_t tok)
{
	struct reading	 r = { .j = j };
	void		*to;

	(void)jsonmap_take(&r, map->size);
	if (get_members(&r, map, tok, NULL) == -1) {
		errno = EINVAL;
		return NULL;
	}
	if ((r.base = calloc(1, r.used)) == NULL)
		return NULL;
	r.used = 0;
	to = jsonmap_take(&r, map->size);
	/* The first pass does not decode base64: it may still be wrong. */
	if (get_members(&r, map, tok, to) == -1) {
		free(r.base);
		errno = EINVAL;
		return NULL;
	}
	return to;
}
