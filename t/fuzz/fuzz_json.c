/*
 * The reader on any text, and what it read through the writer and the reader
 * again.  Only valid UTF-8 is fed: that is the reader's contract, whoever has
 * foreign bytes asks utf8_is_valid() first.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "common/json/json_out.h"
#include "common/json/utf8.h"
#include "t/unit/json_help.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Everything a reader of the tape relies on; returns the token behind i. */
static uint32_t
check_tok(const struct json *j, uint32_t i, size_t len, unsigned int depth)
{
	const struct json_tok	*t = json_tok(j, i);
	uint32_t		 k = json_first(i);

	MUST(i < j->ntoks && t->type <= JSON_OBJECT);
	MUST(t->pos <= len && t->len <= len - t->pos);
	MUST(t->next > i && t->next <= j->ntoks);
	/* the text of arrays and objects is torn where a string shrank */
	MUST(t->type >= JSON_ARRAY || utf8_is_valid(json_text(j, i), t->len));
	if (t->type == JSON_ARRAY || t->type == JSON_OBJECT) {
		MUST(depth < JSON_DEPTH_MAX && t->len >= 2);
		while (json_more(j, i, k)) {
			MUST(json_tok(j, k)->pos > t->pos);
			if (t->type == JSON_OBJECT) {
				MUST(json_tok(j, k)->type == JSON_STRING);
				MUST(json_tok(j, k)->next == k + 1);
				k++;
			}
			k = check_tok(j, k, len, depth + 1);
		}
	}
	MUST(t->next == k);
	return k;
}

/* Two tapes of the same values (the texts differ in blanks and escapes). */
static void
check_same(const struct json *a, const struct json *b)
{
	uint32_t	 i;

	MUST(a->ntoks == b->ntoks);
	for (i = 0; i < a->ntoks; i++) {
		MUST(json_tok(a, i)->type == json_tok(b, i)->type);
		MUST(json_tok(a, i)->next == json_tok(b, i)->next);
		if (json_tok(a, i)->type >= JSON_ARRAY)
			continue;
		MUST(json_tok(a, i)->len == json_tok(b, i)->len);
		MUST(memcmp(json_text(a, i), json_text(b, i),
		    json_tok(a, i)->len) == 0);
	}
}

/* An integer is what the C library thinks it is. */
static void
check_numbers(const struct json *j)
{
	char		 text[32];
	uint64_t	 u;
	int64_t		 n;
	uint32_t	 i;

	for (i = 0; i < j->ntoks; i++) {
		if (json_i64(j, i, &n) == 0) {
			MUST(json_tok(j, i)->len < sizeof(text));
			memcpy(text, json_text(j, i), json_tok(j, i)->len);
			text[json_tok(j, i)->len] = '\0';
			MUST(n == strtoll(text, NULL, 10));
		}
		if (json_u64(j, i, &u) == 0 && u <= INT64_MAX)
			MUST(json_i64(j, i, &n) == 0 && (uint64_t)n == u);
	}
}

static void
check_finds(const struct json *j)
{
	uint32_t	 i, k;
	char		*key;

	for (i = 0; i < j->ntoks; i++) {
		if (json_tok(j, i)->type != JSON_OBJECT) {
			MUST(json_find(j, i, "id") == 0);
			continue;
		}
		k = json_first(i);
		if (!json_more(j, i, k))
			continue;
		key = strndup(json_text(j, k), json_tok(j, k)->len);
		MUST(key != NULL);
		if (strlen(key) == json_tok(j, k)->len)
			MUST(json_find(j, i, key) == k + 1);
		free(key);
	}
}

static void
check_round_trip(const struct json *j)
{
	struct json_out	 o;
	struct json	 again;
	struct buf	 b;

	buf_init(&b, 1 << 26);
	json_out_init(&o, &b);
	json_write(&o, j, 0);
	MUST(json_out_fini(&o) == 0);
	json_init(&again);
	MUST(json_parse(&again, (char *)buf_data(&b), b.len) == 0);
	check_same(j, &again);
	json_fini(&again);
	buf_fini(&b);
}

/* Any bytes at all, as a text to be written. */
static void
check_writer(const uint8_t *data, size_t len)
{
	struct json_out	 o;
	struct json	 j;
	struct buf	 b;

	buf_init(&b, 1 << 26);
	json_out_init(&o, &b);
	json_out_text(&o, (const char *)data, len);
	MUST(json_out_fini(&o) == 0);
	MUST(utf8_is_valid(buf_data(&b), b.len));
	json_init(&j);
	MUST(json_parse(&j, (char *)buf_data(&b), b.len) == 0);
	MUST(j.ntoks == 1 && json_tok(&j, 0)->type == JSON_STRING);
	if (utf8_is_valid(data, len)) {
		MUST(json_tok(&j, 0)->len == len);
		MUST(len == 0 || memcmp(json_text(&j, 0), data, len) == 0);
	}
	json_fini(&j);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct json	 j;
	char		*text;

	check_writer(data, len);
	if (!utf8_is_valid(data, len))
		return 0;
	text = malloc(len == 0 ? 1 : len);	/* no byte behind it */
	MUST(text != NULL);
	if (len > 0)
		memcpy(text, data, len);
	json_init(&j);
	if (json_parse(&j, text, len) == 0) {
		MUST(check_tok(&j, 0, len, 0) == j.ntoks);
		check_numbers(&j);
		check_finds(&j);
		check_round_trip(&j);
	} else {
		MUST(j.ntoks == 0);
	}
	json_fini(&j);
	free(text);
	return 0;
}
