/*
 * TOML: what is written of a document is one again, and writing that anew
 * changes nothing; of a selection nothing but what the whole has.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/toml/toml.h"
#include "worker/fs/discovery/fsconfig.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Parse a copy, which *copy_out is. */
static struct toml *
parsed(const void *data, size_t size, char **copy_out)
{
	struct toml		*t = toml_new();
	struct toml_error	 e;

	*copy_out = malloc(size > 0 ? size : 1);
	CHECK(t != NULL && *copy_out != NULL);
	if (size > 0)
		memcpy(*copy_out, data, size);
	if (toml_parse(t, *copy_out, size, &e) == 0)
		return t;
	CHECK(e.why != NULL && (e.line > 0 || e.column == 0));
	CHECK(e.column <= size + 1);
	toml_free(&t);
	free(*copy_out);
	return NULL;
}

/* Select all, or a member of each second table. */
static void
choose(struct toml *t, bool all)
{
	const struct toml_value	*v, *inner;
	struct span		 path[3];
	size_t			 n = 0;

	for (v = toml_first(toml_root(t)); v != NULL; v = toml_next(v)) {
		path[0] = toml_key(v);
		if (all) {
			toml_select(t, path, 1);
			continue;
		}
		if (++n % 2 == 0)
			continue;
		inner = toml_first(v);
		path[1] = inner != NULL ? toml_key(inner) : path[0];
		path[2] = path[0];
		toml_select(t, path, n % 4 == 1 ? 2 : 3);
	}
}

/* 0, or -1: it has become too long. */
static int
rewrite(const void *data, size_t size, bool all, struct buf *out)
{
	struct toml	*t;
	char		*copy;
	int		 rv;

	CHECK((t = parsed(data, size, &copy)) != NULL);
	choose(t, all);
	rv = toml_put(t, out);
	CHECK(rv == 0 || errno == EFBIG);
	toml_free(&t);
	free(copy);
	return rv;
}

static void
derive(struct toml *t)
{
	struct buf	 b;
	const char	*why = NULL;
	struct toml	*again;
	char		*copy;

	buf_init(&b, 4096);
	if (fsconfig_derive(t, &b, &why) == 0) {
		CHECK((again = parsed(buf_data(&b), b.len, &copy)) != NULL);
		toml_free(&again);
		free(copy);
	} else {
		CHECK(why != NULL);
	}
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct toml	*t;
	struct buf	 once, twice;
	char		*copy;

	if (size > 65536 || (t = parsed(data, size, &copy)) == NULL)
		return 0;
	derive(t);
	toml_free(&t);
	free(copy);
	buf_init(&once, 1024 * 1024);
	buf_init(&twice, 1024 * 1024);
	if (rewrite(data, size, true, &once) == 0) {
		CHECK(rewrite(buf_data(&once), once.len, true, &twice) == 0);
		CHECK(once.len == twice.len && (once.len == 0 ||
		    memcmp(buf_data(&once), buf_data(&twice), once.len) == 0));
		buf_fini(&twice);
		CHECK(rewrite(data, size, false, &twice) == 0);
		CHECK(twice.len <= once.len + size);
		buf_fini(&once);
		(void)rewrite(buf_data(&twice), twice.len, true, &once);
	}
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
