/*
 * Wherever output is cut, a transcript says the same: of a terminal, the texts
 * of its lines together are the text as a whole; of a pipe, their bytes are the
 * bytes.  The first byte chooses the way, the next ones where to cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "worker/session/asciicast.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)
#define CUTS		8
#define ROOM		((size_t)8 << 20)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one line says, put behind what is known already. */
static void
read_line(bool is_terminal, char *text, size_t len, struct buf *said)
{
	struct json	 j;
	uint32_t	 i;
	ssize_t		 n;
	char		*room;

	json_init(&j);
	CHECK(json_parse(&j, text, len) == 0);
	CHECK(json_tok(&j, 0)->type == (is_terminal ? JSON_ARRAY :
	    JSON_OBJECT));
	if (is_terminal) {
		i = json_after_elem(&j, json_after_elem(&j, json_first(0)));
		CHECK(buf_put(said, json_text(&j, i), json_tok(&j, i)->len) ==
		    0);
	} else if ((i = json_find(&j, 0, "data")) != 0) {
		CHECK(buf_put(said, json_text(&j, i), json_tok(&j, i)->len) ==
		    0);
	} else {
		CHECK((i = json_find(&j, 0, "base64")) != 0);
		CHECK((room = buf_reserve(said, json_tok(&j, i)->len + 3)) !=
		    NULL);
		CHECK((n = b64_decode(room, json_text(&j, i),
		    json_tok(&j, i)->len)) != -1);
		buf_commit(said, (size_t)n);
	}
	json_fini(&j);
}

static void
read_lines(bool is_terminal, struct buf *b, struct buf *said)
{
	char	*text = (char *)buf_data(b), *end;
	size_t	 left = b->len;

	while (left > 0) {
		CHECK((end = memchr(text, '\n', left)) != NULL);
		read_line(is_terminal, text, (size_t)(end - text), said);
		left -= (size_t)(end + 1 - text);
		text = end + 1;
	}
}

/* The same by a writer of JSON that sees all of it, read again. */
static void
read_whole(const uint8_t *data, size_t size, struct buf *said)
{
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '[');
	json_out_u64(&o, 0);
	json_out_u64(&o, 0);
	json_out_text(&o, (const char *)data, size);
	json_out_close(&o, ']');
	CHECK(json_out_fini(&o) == 0);
	read_line(true, (char *)buf_data(&b), b.len, said);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asciicast	 c = { .json_id = "\"p\"", .json_id_len = 3 };
	struct buf	 b, said, whole;
	const uint8_t	*cut = data + 1;
	size_t		 at = 0, n, i;

	if (size < 1 + CUTS)
		return 0;
	c.is_terminal = (data[0] & 1) != 0;
	data += 1 + CUTS;
	size -= 1 + CUTS;
	buf_init(&b, ROOM);
	buf_init(&said, ROOM);
	buf_init(&whole, ROOM);
	for (i = 0; at < size; i++) {
		n = cut[i % CUTS] % 8 + (i >= CUTS ? 1 : 0);
		n = n < size - at ? n : size - at;
		CHECK(asciicast_output(&c, &b, i, 0, data + at, n) == 0);
		at += n;
	}
	CHECK(asciicast_close(&c, &b, i) == 0);
	read_lines(c.is_terminal, &b, &said);
	if (c.is_terminal)
		read_whole(data, size, &whole);
	else
		CHECK(size == 0 || buf_put(&whole, data, size) == 0);
	CHECK(said.len == whole.len && (said.len == 0 ||
	    memcmp(buf_data(&said), buf_data(&whole), said.len) == 0));
	buf_fini(&whole);
	buf_fini(&said);
	buf_fini(&b);
	return 0;
}
