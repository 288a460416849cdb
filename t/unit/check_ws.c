/*
 * common/net/ws.c: every case is fed whole, byte by byte, in pieces of 997
 * bytes and exactly as ws_reader_need() asks, and must give the same events.
 *
 * A case is written as words.  Sent: the first byte of a frame in hex and its
 * payload ("81:Hello", "01:Hel 80:lo"), "81*70000" for so many bytes of a
 * pattern, "81*70000:x" for those that begin otherwise, "#8185" for bytes as
 * they are; a "!" before it sends the mask 0.
 * Expected: "text:", "bin:" (UTF-8), "raw:" (binary, not UTF-8), "ping:",
 * "pong:", "close=1000:reason", "err=1002".  %xx is a byte in both.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/net/ws.h"
#include "t/unit/ws_help.h"

#define FRAME_MAX	((size_t)16 << 20)
#define MESSAGE_MAX	((size_t)64 << 20)
#define EVENTS		64
#define FRAMES		64

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

enum roles { BOTH, SERVER, CLIENT };

struct ws_case {
	enum roles	 roles;
	const char	*sent;
	const char	*expected;
};

/* What a case sends, and where its frames end. */
struct sent {
	struct bytes	 b;
	size_t		 ends[FRAMES];
	size_t		 n;
};

enum feed { WHOLE, OCTETS, CHOPS, EXACT, FEEDS };

static void
put_word(struct bytes *out, const char *p, const char *end, bool is_server)
{
	static const uint8_t	 masks[2][4] = {
		{ 0x37, 0xfa, 0x21, 0x3d }, { 0, 0, 0, 0 }
	};
	const uint8_t		*mask = masks[*p == '!'];
	struct bytes		 data;

	if (*p == '#') {
		for (p++; p < end; p += 2)
			bytes_put_byte(out, ws_hex(p));
		return;
	}
	if (*p == '!')
		p++;
	data = ws_payload(p + 2, end);
	ws_put_frame(out, ws_hex(p), &data, is_server ? mask : NULL);
	free(data.p);
}

static const char *
word_end(const char *p)
{
	return p + strcspn(p, " ");
}

static struct sent
sent_new(const char *p, bool is_server)
{
	struct sent	 s;
	const char	*end;

	memset(&s, 0, sizeof(s));
	for (; *p != '\0'; p = *end == ' ' ? end + 1 : end) {
		end = word_end(p);
		put_word(&s.b, p, end, is_server);
		MUST(s.n < FRAMES);
		s.ends[s.n++] = s.b.len;
	}
	return s;
}

static const char *
event_name(const struct ws_event *ev, char *buf, size_t size)
{
	switch (ev->type) {
	case WS_EV_NONE:
		return "none";
	case WS_EV_MESSAGE:
		return !ev->is_binary ? "text" : ev->is_utf8 ? "bin" : "raw";
	case WS_EV_PING:
		return "ping";
	case WS_EV_PONG:
		return "pong";
	case WS_EV_CLOSE:
		snprintf(buf, size, "close=%d", ev->code);
		break;
	case WS_EV_ERROR:
		snprintf(buf, size, "err=%d", ev->code);
		break;
	}
	return buf;
}

/* Compare an event with the next expected word and step behind that. */
static void
check_event(const struct ws_case *c, const struct ws_event *ev,
    const char **word)
{
	const char	*p = *word, *end = word_end(p), *name;
	struct bytes	 data = { NULL, 0, 0 };
	char		 buf[32];
	size_t		 n;

	name = event_name(ev, buf, sizeof(buf));
	n = strcspn(p, ":* ");
	if (n != strlen(name) || strncmp(p, name, n) != 0)
		ck_abort_msg("%s: %s instead of \"%s\"", c->sent, name, p);
	if (p + n < end)
		data = ws_payload(p + n, end);
	if (ev->len != data.len ||
	    (ev->len > 0 && memcmp(ev->data, data.p, ev->len) != 0))
		ck_abort_msg("%s: %zu bytes where \"%.40s\"", c->sent, ev->len,
		    p);
	/* Ours to write to. */
	if (ev->len > 0)
		memset(ev->data, 0xff, ev->len);
	free(data.p);
	*word = *end == ' ' ? end + 1 : end;
}

static void
feed(struct ws_reader *r, const void *data, size_t len)
{
	uint8_t	*room;
	size_t	 size;

	room = ws_reader_room(r, len, &size);
	MUST(room != NULL && size >= len);
	memcpy(room, data, len);
	ws_reader_fed(r, len);
}

static size_t
piece(const struct ws_reader *r, enum feed how, size_t left)
{
	size_t	 n = left;

	if (how == OCTETS)
		n = 1;
	else if (how == CHOPS)
		n = 997;
	else if (how == EXACT)
		n = ws_reader_need(r);
	MUST(n >= 1);
	return n < left ? n : left;
}

/* Fed no more than was needed, a reader stays within one frame. */
static void
check_exact(const struct ws_case *c, const struct ws_reader *r,
    const struct sent *s, size_t was, size_t now, const struct ws_event *ev)
{
	size_t	 i = 0;

	while (s->ends[i] <= was)
		i++;
	if (ev->type == WS_EV_ERROR)
		return;
	if (now > s->ends[i])
		ck_abort_msg("%s: read beyond frame %zu", c->sent, i);
	if (ev->type == WS_EV_NONE && now == s->ends[i])
		MUST(ws_reader_need(r) == (r->is_server ? 6 : 2));
}

/* At its end a connection stays as it is. */
static void
check_rest(struct ws_reader *r, const struct ws_event *last)
{
	struct ws_event	 ev;
	int		 i;

	if (last->type != WS_EV_CLOSE && last->type != WS_EV_ERROR)
		return;
	for (i = 0; i < 3; i++) {
		ws_reader_next(r, &ev);
		MUST(last->type == WS_EV_ERROR ? ev.type == WS_EV_ERROR &&
		    ev.code == last->code : ev.type == WS_EV_NONE);
		MUST(ws_reader_is_empty(r) && ws_reader_need(r) >= 1);
		feed(r, "\x89\x01?\x89\x81?????", 11);
		ws_reader_trim(r);
	}
}

static void
run(const struct ws_case *c, bool is_server, enum feed how, size_t frame_max,
    size_t message_max)
{
	struct sent	 s = sent_new(c->sent, is_server);
	struct ws_reader r;
	struct ws_event	 ev, last = { .type = WS_EV_NONE };
	const char	*word = c->expected;
	size_t		 at, n;

	ws_reader_init(&r, is_server, frame_max, message_max);
	MUST(ws_reader_need(&r) == (is_server ? 6 : 2));
	for (at = 0; at < s.b.len; at += n) {
		n = piece(&r, how, s.b.len - at);
		feed(&r, s.b.p + at, n);
		ws_reader_next(&r, &ev);
		if (how == EXACT && last.type != WS_EV_CLOSE)
			check_exact(c, &r, &s, at, at + n, &ev);
		for (; ev.type != WS_EV_NONE; ws_reader_next(&r, &ev)) {
			check_event(c, &ev, &word);
			last = ev;
			if (ev.type == WS_EV_ERROR)
				break;
		}
		if (ev.type == WS_EV_ERROR)
			break;
		if (how == CHOPS)
			ws_reader_trim(&r);
	}
	if (*word != '\0')
		ck_abort_msg("%s: no %s", c->sent, word);
	check_rest(&r, &last);
	ws_reader_fini(&r);
	free(s.b.p);
}

static void
run_limited(const struct ws_case *c, size_t frame_max, size_t message_max)
{
	int	 how;

	for (how = 0; how < FEEDS; how++) {
		if (c->roles != CLIENT)
			run(c, true, (enum feed)how, frame_max, message_max);
		if (c->roles != SERVER)
			run(c, false, (enum feed)how, frame_max, message_max);
	}
}

static void
run_words(const char *sent, const char *expected)
{
	struct ws_case	 c = { BOTH, sent, expected };

	run_limited(&c, FRAME_MAX, MESSAGE_MAX);
}

static const struct ws_case cases[] = {
	/* 1 framing */
	{ BOTH, "", "" }, { BOTH, "81:", "text:" },
	{ BOTH, "82:", "bin:" }, { BOTH, "81:Hello", "text:Hello" },
	{ BOTH, "81*125", "text*125" }, { BOTH, "81*126", "text*126" },
	{ BOTH, "81*127", "text*127" }, { BOTH, "81*128", "text*128" },
	{ BOTH, "81*65535", "text*65535" },
	{ BOTH, "81*65536", "text*65536" }, { BOTH, "82*125", "bin*125" },
	{ BOTH, "82*126", "bin*126" }, { BOTH, "82*127", "bin*127" },
	{ BOTH, "82*128", "bin*128" }, { BOTH, "82*65535", "bin*65535" },
	{ BOTH, "82*65536", "bin*65536" },
	{ BOTH, "81*65536 81:x 81*65536 81*70000 82:",
		"text*65536 text:x text*65536 text*70000 bin:" },
	/* What was seen long before the end counts. */
	{ BOTH, "81*70000:%ff", "err=1007" },
	{ BOTH, "82*70000:%ff", "raw*70000:%ff" },
	{ BOTH, "81*70000:%c3%a9 81:x 82*70000:%e9",
		"text*70000:%c3%a9 text:x raw*70000:%e9" },
	{ BOTH, "01*70000:%ff 80*70000", "err=1007" },
	{ BOTH, "01*70000 80*70000:%ff", "err=1007" },
	{ BOTH, "01:%c3 89:%ff 80:%a9 82*70000:%80 01:%c3 80*70000",
		"ping:%ff text:%c3%a9 raw*70000:%80 err=1007" },
	{ SERVER, "!81:zero !82*300", "text:zero bin*300" },
	{ SERVER, "#818537fa213d7f9f4d5158", "text:Hello" },	/* RFC 5.7 */
	{ CLIENT, "#810548656c6c6f", "text:Hello" },

	/* 2 pings and pongs */
	{ BOTH, "89:", "ping:" }, { BOTH, "89:hello", "ping:hello" },
	{ BOTH, "89:%00%ff%fe%fd%fc%fb%00", "ping:%00%ff%fe%fd%fc%fb%00" },
	{ BOTH, "89*125", "ping*125" }, { BOTH, "89*126", "err=1002" },
	{ BOTH, "89*65536", "err=1002" }, { BOTH, "8a:", "pong:" },
	{ BOTH, "8a:unasked 89:x", "pong:unasked ping:x" },
	{ BOTH, "8a*125 8a*126", "pong*125 err=1002" },
	{ BOTH, "89:0 89:1 89:2 89:3 89:4 89:5 89:6 89:7 89:8 89:9",
		"ping:0 ping:1 ping:2 ping:3 ping:4 ping:5 ping:6 ping:7 "
		"ping:8 ping:9" },

	/* 5 fragments */
	{ BOTH, "09:x 80:", "err=1002" }, { BOTH, "0a:x 80:", "err=1002" },
	{ BOTH, "08:%03%e8", "err=1002" },
	{ BOTH, "01:Hel 80:lo", "text:Hello" },
	{ BOTH, "02:Hel 80:lo", "bin:Hello" },
	{ BOTH, "01:H 00:e 00:l 00:l 80:o", "text:Hello" },
	{ BOTH, "01: 00: 80:", "text:" },
	{ BOTH, "01: 00:mid 80:", "text:mid" },
	{ BOTH, "01:Hel 89:ping 80:lo", "ping:ping text:Hello" },
	{ BOTH, "01:H 89:p 00:e 8a:q 00:l 89: 80:lo 81:next",
		"ping:p pong:q ping: text:Hello text:next" },
	{ BOTH, "01*70000 89*125 80:", "ping*125 text*70000" },
	{ BOTH, "01: 89*125 80*70000 01:a 80:b",
		"ping*125 text*70000 text:ab" },
	{ BOTH, "80:stray", "err=1002" }, { BOTH, "00:stray", "err=1002" },
	{ BOTH, "81:a 80:stray", "text:a err=1002" },
	{ BOTH, "01:a 80:b 00:stray 80:c", "text:ab err=1002" },
	{ BOTH, "01:a 81:b", "err=1002" },
	{ BOTH, "01:a 01:b 80:c", "err=1002" },
	{ BOTH, "01:a 82:b", "err=1002" },
	{ BOTH, "02:a 02:b", "err=1002" },
	{ BOTH, "01:a 89*126 80:b", "err=1002" },

	/* 7 close */
	{ BOTH, "81:a 88:", "text:a close=1005" },
	{ BOTH, "88:%03", "err=1002" }, { BOTH, "88:%03%e8", "close=1000" },
	{ BOTH, "88:%03%e8bye", "close=1000:bye" },
	{ BOTH, "88:%03%e8%e2%82%ac", "close=1000:%e2%82%ac" },
	{ BOTH, "88:%03%e8%e2%82", "err=1007" },
	{ BOTH, "88:%03%e8%ce%ba%ed%a0%80", "err=1007" },
	{ BOTH, "88:%03%ee%ff", "err=1002" },
	{ BOTH, "88*126", "err=1002" },
	{ BOTH, "88:%03%e8 88:%03%e8", "close=1000" },
	{ BOTH, "88:%03%e8 81:late 89: #ffffffffffff", "close=1000" },
	{ BOTH, "01:part 88:%03%e8 80:rest", "close=1000" },
	{ BOTH, "01:part 89:p 88:", "ping:p close=1005" },

	/* own: roles, lengths */
	{ SERVER, "#810548656c6c6f", "err=1002" },
	{ SERVER, "#8900", "err=1002" },
	{ SERVER, "81:a #8800", "text:a err=1002" },
	{ CLIENT, "#818537fa213d7f9f4d5158", "err=1002" },
	{ CLIENT, "#888000000000", "err=1002" },
	{ SERVER, "#81fe007d00000000", "err=1002" },
	{ CLIENT, "#817e007d", "err=1002" },
	{ CLIENT, "#817e0000", "err=1002" },
	{ SERVER, "#81ff000000000000ffff00000000", "err=1002" },
	{ CLIENT, "#827f000000000000007d", "err=1002" },
	{ CLIENT, "#827f0000000000000000", "err=1002" },
	{ CLIENT, "#897f0000000000000001", "err=1002" },
	{ SERVER, "#82ff8000000000000000", "err=1002" },
	{ CLIENT, "#827fffffffffffffffff", "err=1002" },
	{ SERVER, "#82ff7fffffffffffffff", "err=1009" },
	{ CLIENT, "#827f7fffffffffffffff", "err=1009" },
	{ SERVER, "#81ff0000000100000000", "err=1009" },
	{ CLIENT, "#817f00000000ffffffff", "err=1009" },
	{ SERVER, "#81ff0000000004000001", "err=1009" },
	{ CLIENT, "#817f0000000001000001", "err=1009" },
	{ SERVER, "81:a 01:b #80ff7fffffffffffffff", "text:a err=1009" },
};

START_TEST(test_case)
{
	run_limited(&cases[_i], FRAME_MAX, MESSAGE_MAX);
}
END_TEST

/* 3: RSV 1 to 7 alone, followed, behind a message; on control frames too. */
START_TEST(test_rsv)
{
	static const unsigned	 firsts[] = { 0x81, 0x82, 0x88, 0x89, 0x8a, 1 };
	unsigned		 first;
	size_t			 i;
	char			 sent[64];

	for (i = 0; i < COUNT(firsts); i++) {
		first = firsts[i] | (unsigned)_i << 4;
		snprintf(sent, sizeof(sent), "%02x:", first);
		run_words(sent, "err=1002");
		snprintf(sent, sizeof(sent), "%02x:Hello 89:", first);
		run_words(sent, "err=1002");
		snprintf(sent, sizeof(sent), "81:ok %02x:Hello 81:Hello",
		    first);
		run_words(sent, "text:ok err=1002");
	}
}
END_TEST

/* 4: opcodes 3 to 7 and 11 to 15. */
START_TEST(test_opcode)
{
	char	 sent[64];

	if ((_i & 7) < 3)
		return;
	snprintf(sent, sizeof(sent), "8%x:", (unsigned)_i);
	run_words(sent, "err=1002");
	snprintf(sent, sizeof(sent), "81:ok 8%x:data 89:", (unsigned)_i);
	run_words(sent, "text:ok err=1002");
	snprintf(sent, sizeof(sent), "01:ok 0%x*200 80:", (unsigned)_i);
	run_words(sent, "err=1002");
}
END_TEST

static const struct {
	bool		 ok;
	const char	*text;
} texts[] = {
	{ true, "Hello-%c2%b5@%c3%9f%c3%b6%c3%a4%c3%bc%c3%a0%c3%a1-UTF-8!!" },
	{ true, "%ce%ba%e1%bd%b9%cf%83%ce%bc%ce%b5" }, { true, "%00" },
	{ true, "%7f" }, { true, "%c2%80" },
	{ true, "%df%bf" }, { true, "%e0%a0%80" },
	{ true, "%ed%9f%bf" }, { true, "%ee%80%80" },
	{ true, "%ef%bf%bd" }, { true, "%ef%bf%be" },
	{ true, "%ef%bf%bf" }, { true, "%ef%bb%bfbom" },
	{ true, "%f0%90%80%80" }, { true, "%f0%9f%98%80%f0%9f%98%81" },
	{ true, "%f4%8f%bf%bf" },
	/* cut inside, or a byte alone */
	{ false, "%ce" }, { false, "%ce%ba%e1" },
	{ false, "%ce%ba%e1%bd" }, { false, "%f0%90%80" },
	{ false, "%80" }, { false, "%bf" },
	{ false, "%80%bf%80%bf" }, { false, "%c3_" },
	{ false, "%e1%80x" }, { false, "%fe" },
	{ false, "%ff" }, { false, "%fe%fe%ff%ff" },
	/* overlong */
	{ false, "%c0%af" }, { false, "%c0%80" },
	{ false, "%c1%bf" }, { false, "%e0%80%af" },
	{ false, "%e0%9f%bf" }, { false, "%f0%80%80%af" },
	{ false, "%f0%8f%bf%bf" }, { false, "%f8%80%80%80%af" },
	{ false, "%fc%80%80%80%80%af" },
	/* surrogates */
	{ false, "%ed%a0%80" }, { false, "%ed%af%bf" },
	{ false, "%ed%be%80" }, { false, "%ed%bf%bf" },
	{ false, "%ed%a0%80%ed%b0%80" },
	{ false, "%ce%ba%e1%bd%b9%ed%a0%80edited" },
	/* above U+10FFFF, five and six bytes */
	{ false, "%f4%90%80%80" }, { false, "%f5%80%80%80" },
	{ false, "%f7%bf%bf%bf" }, { false, "%f8%88%80%80%80" },
	{ false, "%fb%bf%bf%bf%bf" }, { false, "%fc%84%80%80%80%80" },
	{ false, "%fd%bf%bf%bf%bf%bf" },
};

/* 6: whole, and in two fragments cut before every byte. */
START_TEST(test_utf8)
{
	const char	*text = texts[_i].text, *p;
	char		 sent[256], expected[256];
	bool		 ok = texts[_i].ok;

	snprintf(sent, sizeof(sent), "81:%s", text);
	snprintf(expected, sizeof(expected), "text:%s", text);
	run_words(sent, ok ? expected : "err=1007");

	snprintf(sent, sizeof(sent), "82:%s", text);
	snprintf(expected, sizeof(expected), "%s:%s", ok ? "bin" : "raw", text);
	run_words(sent, expected);

	for (p = text; *p != '\0'; p += *p == '%' ? 3 : 1) {
		snprintf(sent, sizeof(sent), "01:%.*s 89: 80:%s",
		    (int)(p - text), text, p);
		snprintf(expected, sizeof(expected), "ping: text:%s", text);
		run_words(sent, ok ? expected : "ping: err=1007");
	}
}
END_TEST

/* 7: every code there is. */
START_TEST(test_close_codes)
{
	char	 sent[32], expected[32];
	int	 code;
	bool	 ok;

	for (code = 0; code < 65536; code += code < 5100 ? 1 : 251) {
		ok = (code >= 1000 && code <= 1003) ||
		    (code >= 1007 && code <= 1014) ||
		    (code >= 3000 && code <= 4999);
		snprintf(sent, sizeof(sent), "88:%%%02x%%%02x!", code >> 8,
		    code & 255);
		snprintf(expected, sizeof(expected),
		    ok ? "close=%d:!" : "err=1002", code);
		run_words(sent, expected);
	}
	run_words("88:%ff%ff", "err=1002");
}
END_TEST

/* Limits of 1000 bytes for a frame, 2500 for a message. */
static const struct ws_case limited[] = {
	{ BOTH, "81*1000", "text*1000" },
	{ BOTH, "81*1001", "err=1009" },
	{ BOTH, "01*1001", "err=1009" },
	{ BOTH, "82:a 82*70000", "bin:a err=1009" },
	{ BOTH, "01*1000 00: 80:", "text*1000" },
	{ BOTH, "01: 00*1000 80*1001", "err=1009" },
};

START_TEST(test_limits)
{
	static const char	 big[] = "01*1000 89*125 00*1000 80*";
	char			 sent[64];
	struct ws_case		 c = { BOTH, sent, "ping*125 err=1009" };
	size_t			 i;

	for (i = 0; i < COUNT(limited); i++)
		run_limited(&limited[i], 1000, 2500);
	snprintf(sent, sizeof(sent), "%s501", big);
	run_limited(&c, 1000, 2500);
	/* A message may be smaller than a frame; control frames are exempt. */
	snprintf(sent, sizeof(sent), "89*125 81*11");
	run_limited(&c, 1000, 10);
	run_limited(&c, 10, 1000);
	run_limited(&c, 0, 0);
}
END_TEST

/* A length above the limit costs nothing, one below it what has arrived. */
START_TEST(test_promise)
{
	static const uint8_t	 over[] = {
		0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 1
	};
	static const uint8_t	 below[] = {
		0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4
	};
	uint8_t			 page[4096];
	struct ws_reader	 r;
	struct ws_event		 ev;
	size_t			 fed = 0, size;

	memset(page, 0xee, sizeof(page));
	ws_reader_init(&r, true, FRAME_MAX, MESSAGE_MAX);
	ck_assert_ptr_nonnull(ws_reader_room(&r, 1, &size));
	ck_assert_uint_le(r.cap, 4096);
	feed(&r, over, sizeof(over));
	ck_assert_uint_le(r.cap, 4096);
	ws_reader_next(&r, &ev);
	ck_assert_int_eq(ev.type, WS_EV_ERROR);
	ck_assert_int_eq(ev.code, 1009);
	ws_reader_fini(&r);

	ws_reader_init(&r, true, FRAME_MAX, MESSAGE_MAX);
	feed(&r, below, sizeof(below));
	for (; fed < FRAME_MAX; fed += sizeof(page)) {
		ws_reader_next(&r, &ev);
		ck_assert_int_eq(ev.type, WS_EV_NONE);
		ck_assert_uint_eq(ws_reader_need(&r), FRAME_MAX - fed);
		feed(&r, page, sizeof(page));
		ck_assert_uint_le(r.cap, 2 * fed + 5 * sizeof(page));
		ck_assert_uint_le(r.cap, FRAME_MAX + 4 * sizeof(page));
	}
	ws_reader_next(&r, &ev);
	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	ck_assert_uint_eq(ev.len, FRAME_MAX);
	ck_assert(ev.is_binary && !ev.is_utf8);
	ck_assert(ws_reader_is_empty(&r));
	ws_reader_trim(&r);
	ck_assert_uint_eq(r.cap, 0);
	ws_reader_fini(&r);
}
END_TEST

/* Half a header behind a large message does not keep its memory. */
START_TEST(test_trim)
{
	struct bytes		 b = { NULL, 0, 0 }, data;
	struct ws_reader	 r;
	struct ws_event		 ev;

	data = ws_payload("*1000000", NULL);
	ws_put_frame(&b, 0x81, &data, NULL);
	bytes_put_byte(&b, 0x89);
	ws_reader_init(&r, false, FRAME_MAX, MESSAGE_MAX);
	feed(&r, b.p, b.len);
	ws_reader_next(&r, &ev);
	ck_assert_uint_eq(ev.len, data.len);
	ws_reader_trim(&r);
	ck_assert_uint_le(r.cap, 4096);
	ck_assert(!ws_reader_is_empty(&r));
	ck_assert_uint_eq(ws_reader_need(&r), 1);
	feed(&r, "\x01!", 2);
	ws_reader_next(&r, &ev);
	ck_assert_int_eq(ev.type, WS_EV_PING);
	ck_assert_mem_eq(ev.data, "!", 1);
	ws_reader_fini(&r);
	free(b.p);
	free(data.p);
}
END_TEST

START_TEST(test_room)
{
	struct ws_reader	 r;
	size_t			 size;

	ws_reader_init(&r, true, FRAME_MAX, MESSAGE_MAX);
	ck_assert_ptr_null(ws_reader_room(&r, SIZE_MAX, &size));
	ck_assert_ptr_nonnull(ws_reader_room(&r, 0, &size));
	ck_assert_uint_eq(size, 4096);
	ck_assert_ptr_nonnull(ws_reader_room(&r, 5000, &size));
	ck_assert_uint_ge(size, 5000);
	ck_assert(ws_reader_is_empty(&r));
	ws_reader_fini(&r);
	ws_reader_fini(&r);
}
END_TEST

static double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Seconds for a message of n fragments of len bytes (0 or 1). */
static double
fragments(size_t n, size_t len)
{
	struct ws_reader	 r;
	struct ws_event		 ev;
	size_t			 i, k, size, step = 6 + len;
	uint8_t			*room, frame[] = { 0, 0x80, 1, 2, 3, 4, 'x' };
	double			 start = now();

	ws_reader_init(&r, true, 1, MESSAGE_MAX);
	frame[1] = (uint8_t)(0x80 | len);
	for (i = 0; i < n; i += k) {
		room = ws_reader_room(&r, step, &size);
		MUST(room != NULL);
		for (k = 0; k < size / step && i + k < n; k++) {
			memcpy(room + k * step, frame, step);
			if (i + k == 0)
				room[0] = WS_BINARY;
			if (i + k == n - 1)
				room[k * step] = 0x80;
		}
		ws_reader_fed(&r, k * step);
		ws_reader_next(&r, &ev);
		/* Allocated: an eighth ahead; touched: 64 KiB at most. */
		MUST(r.cap <= i * len * 9 / 8 + 65536);
	}
	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	ck_assert_uint_eq(ev.len, n * len);
	ck_assert(ev.is_utf8);
	ws_reader_fini(&r);
	return now() - start;
}

/* W3.  The best of a few runs, with room for a busy machine. */
START_TEST(test_many_fragments)
{
	double	 t, one = 1e9, two = 1e9;
	int	 i;

	for (i = 0; i < 5; i++) {
		if ((t = fragments(500000, (size_t)_i)) < one)
			one = t;
		if ((t = fragments(1000000, (size_t)_i)) < two)
			two = t;
	}
	ck_assert_msg(two < one * 3, "%g s, and %g s for twice as much", one,
	    two);
}
END_TEST

/* 9: 4 MiB in fragments of every size, 1 MiB in chops. */
START_TEST(test_large)
{
	struct bytes		 b = { NULL, 0, 0 }, data, part;
	struct ws_reader	 r;
	struct ws_event		 ev;
	size_t			 at, n = (size_t)64 << _i, size, all = 4 << 20;
	uint8_t			*room;

	data = ws_payload("*4194304", NULL);
	for (at = 0; at < all; at += n) {
		part.p = data.p + at;
		part.len = n;
		ws_put_frame(&b, (at == 0 ? 1u : 0u) | (at + n == all ?
		    0x80u : 0), &part, (const uint8_t *)"MASK");
	}
	ws_reader_init(&r, true, FRAME_MAX, MESSAGE_MAX);
	for (at = 0; at < b.len; at += size) {
		room = ws_reader_room(&r, 1, &size);
		MUST(room != NULL);
		if (size > b.len - at)
			size = b.len - at;
		memcpy(room, b.p + at, size);
		ws_reader_fed(&r, size);
		ws_reader_next(&r, &ev);
	}
	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	ck_assert_uint_eq(ev.len, all);
	ck_assert(memcmp(ev.data, data.p, all) == 0);
	ws_reader_fini(&r);
	free(b.p);
	free(data.p);
}
END_TEST

START_TEST(test_mask)
{
	static const uint8_t	 mask[4] = { 0x12, 0x00, 0xff, 0x81 };
	uint8_t			 a[256], b[256];
	size_t			 from, i, len;

	for (from = 0; from < 20; from++) {
		for (len = 0; len + from < 150; len++) {
			for (i = 0; i < sizeof(a); i++)
				a[i] = b[i] = (uint8_t)(i * 7);
			for (i = 0; i < len; i++)
				b[from + i] ^= mask[i % 4];
			ws_mask(a + from, len, mask);
			ck_assert_mem_eq(a, b, sizeof(a));
		}
	}
}
END_TEST

START_TEST(test_header)
{
	static const struct {
		uint64_t	 len;
		size_t		 n;
		const char	*bytes;
	} rows[] = {
		{ 0,		2, "\x81\x00" },
		{ 125,		2, "\x81\x7d" },
		{ 126,		4, "\x81\x7e\x00\x7e" },
		{ 65535,	4, "\x81\x7e\xff\xff" },
		{ 65536,	10, "\x81\x7f\0\0\0\0\x00\x01\x00\x00" },
		{ 1ULL << 40,	10, "\x81\x7f\0\0\x01\0\0\0\0\0" },
	};
	uint8_t	 out[WS_HEADER_MAX];
	size_t	 i, n;

	for (i = 0; i < COUNT(rows); i++) {
		n = ws_header(out, true, WS_TEXT, rows[i].len, NULL);
		ck_assert_uint_eq(n, rows[i].n);
		ck_assert_uint_eq(n, ws_header_len(rows[i].len));
		ck_assert_mem_eq(out, rows[i].bytes, n);
		n = ws_header(out, true, WS_TEXT, rows[i].len,
		    (const uint8_t *)"MASK");
		ck_assert_uint_eq(n, rows[i].n + 4);
		ck_assert_int_eq(out[1], rows[i].bytes[1] | 0x80);
		ck_assert_mem_eq(out + 2, rows[i].bytes + 2, n - 6);
		ck_assert_mem_eq(out + n - 4, "MASK", 4);
	}
	ws_header(out, false, WS_PONG, 0, NULL);
	ck_assert_int_eq(out[0], WS_PONG);
}
END_TEST

static Suite *
ws_suite(void)
{
	Suite	*s = suite_create("ws");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_case, 0, (int)COUNT(cases));
	tcase_add_loop_test(t, test_rsv, 1, 8);
	tcase_add_loop_test(t, test_opcode, 3, 16);
	tcase_add_loop_test(t, test_utf8, 0, (int)COUNT(texts));
	tcase_add_test(t, test_close_codes);
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_promise);
	tcase_add_test(t, test_trim);
	tcase_add_test(t, test_room);
	tcase_add_loop_test(t, test_many_fragments, 0, 2);
	tcase_add_loop_test(t, test_large, 0, 17);
	tcase_add_test(t, test_mask);
	tcase_add_test(t, test_header);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(ws_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
