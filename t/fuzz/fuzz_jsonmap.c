/*
 * Results of typed calls.  First byte: which struct; the rest is the answer of
 * a hostile server.  What is read into a struct says the same when it is
 * written, read and written once more, and every piece of it has its NUL.
 */
#include <stdlib.h>
#include <string.h>

#include "common/client/jsonmap.h"
#include "common/json/utf8.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

#define TEXT_MAX	(1 << 20)	/* of what is written: any seed fits */

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct jsonmap *const	 maps[] = {
#define JSONMAP(name, type)	&execsrv_jsonmap_##name,
#define ROW(map, type, key, presence, member)
#define SUB(map, type, key, presence, member, sub)
#define END(map)
#include "common/client/jsonmaps.def"
#undef JSONMAP
#undef ROW
#undef SUB
#undef END
};

#define NJSONMAPS	(sizeof(maps) / sizeof(maps[0]))

/* Read a text, which is changed; NULL: it is no such thing. */
static void *
read_as(const struct jsonmap *map, char *text, size_t len)
{
	struct json	 j;
	void		*to = NULL;

	json_init(&j);
	if (utf8_is_valid(text, len) && json_parse(&j, text, len) == 0)
		to = execsrv_jsonmap_get(map, &j, 0);
	json_fini(&j);
	return to;
}

static void	 check_members(const struct jsonmap *map, const char *from);

static void
check_row(const struct jsonmap_row *row, const char *from)
{
	const struct execsrv_bytes	*bytes;
	const char			*elem;
	size_t				 i, n;

	switch (row->type) {
	case JSONMAP_BYTES:
		bytes = (const void *)(from + row->offset);
		if (bytes->data == NULL)
			MUST(row->presence != JSONMAP_NEEDED && bytes->len ==
			    0);
		else
			MUST(((const char *)bytes->data)[bytes->len] == '\0');
		break;
	case JSONMAP_LIST:
		memcpy(&elem, from + row->offset, sizeof(elem));
		memcpy(&n, from + row->number, sizeof(n));
		MUST(elem != NULL || n == 0);
		for (i = 0; i < n; i++, elem += row->sub->size)
			check_members(row->sub, elem);
		break;
	case JSONMAP_OBJECT:
		check_members(row->sub, from);
		break;
	default:
		break;
	}
}

static void
check_members(const struct jsonmap *map, const char *from)
{
	const struct jsonmap_row	*row;

	for (row = map->rows; row->key != NULL; row++)
		check_row(row, from);
}

/* A row that cannot be written as it was read: any JSON is read. */
static bool
has_json(const struct jsonmap *map)
{
	const struct jsonmap_row	*row;

	for (row = map->rows; row->key != NULL; row++)
		if (row->type == JSONMAP_JSON)
			return true;
	return false;
}

/* As JSON; whether it could be. */
static bool
write_as(const struct jsonmap *map, const void *from, struct buf *b)
{
	struct json_out	 o;
	int		 r;

	json_out_init(&o, b);
	r = execsrv_jsonmap_put_object(&o, map, from);
	MUST(json_out_fini(&o) == 0);
	MUST(r == 0 || has_json(map));
	return r == 0;
}

static void
check_again(const struct jsonmap *map, const void *from)
{
	struct buf	 first, second;
	char		*copy;
	void		*to;

	buf_init(&first, TEXT_MAX);
	buf_init(&second, TEXT_MAX);
	if (write_as(map, from, &first)) {
		MUST((copy = malloc(first.len)) != NULL);
		memcpy(copy, buf_data(&first), first.len);
		MUST((to = read_as(map, copy, first.len)) != NULL);
		MUST(write_as(map, to, &second));
		MUST(first.len == second.len && memcmp(buf_data(&first),
		    buf_data(&second), first.len) == 0);
		free(to);
		free(copy);
	}
	buf_fini(&first);
	buf_fini(&second);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct jsonmap	*map;
	char			*text;
	void			*to;

	if (size < 2 || size > TEXT_MAX / 16)
		return 0;
	map = maps[data[0] % NJSONMAPS];
	MUST((text = malloc(size - 1)) != NULL);
	memcpy(text, data + 1, size - 1);
	if ((to = read_as(map, text, size - 1)) != NULL) {
		check_members(map, to);
		check_again(map, to);
	}
	free(to);
	free(text);
	return 0;
}
