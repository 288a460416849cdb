/*
 * common/client: files block by block, HTTP bodies, watches; what the server
 * says late, early, wrongly or not at all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/json/json_out.h"
#include "t/unit/peer_help.h"

#define BLOCK		(256 * 1024)

static struct execsrv_transfer	*transfer;
static struct execsrv_http	*http;
static struct execsrv_watch	*watch;

/* --- transfers --- */

static void
on_data(void *arg, const void *data, size_t len)
{
	ck_assert_ptr_eq(arg, trace);
	if (len < 10)
		peer_note("%.*s;", (int)len, (const char *)data);
	else
		peer_note("%zu %c;", len, *(const char *)data);
}

static const char	*source;	/* what is written, NULL: give up */
static bool		 pauses;

static ssize_t
on_room(void *arg, void *room, size_t size)
{
	size_t	 n;

	ck_assert_ptr_eq(arg, trace);
	if (source == NULL)
		return -1;
	if (pauses) {
		execsrv_transfer_pause(transfer, true);
		return 0;
	}
	n = strlen(source) < 3 ? strlen(source) : 3;
	ck_assert_uint_eq(size, BLOCK);
	memcpy(room, source, n);
	source += n;
	return (ssize_t)n;
}

static bool	 frees;		/* in the last hook, as callers like to */

static void
on_done(void *arg, uint64_t bytes, const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, trace);
	peer_note("done %llu%s%s;", (unsigned long long)bytes,
	    e != NULL ? " " : "", e != NULL ? e->text : "");
	if (frees)
		execsrv_transfer_free(&transfer);
}

static const struct execsrv_transfer_hooks	 moves = {
	.on_data = on_data, .on_room = on_room, .on_done = on_done
};

static void
begin_read(uint64_t offset, uint64_t len)
{
	struct execsrv_file	 f = { .path = "/f", .offset = offset,
				    .len = len };

	peer_start();
	frees = true;
	ck_assert_ptr_nonnull(transfer = execsrv_file_read(x, &f, &moves,
	    trace));
	peer_ck_heard("{\"id\":1,\"method\":\"fs/open\",\"params\":"
	    "{\"handleId\":\".1\",\"path\":\"file:///f\"}}");
	peer_say("{\"id\":1,\"result\":{\"handleId\":\".1\"}}");
	ck_assert_int_eq(peer_turn(), 0);
}

static void
ck_asked(unsigned id, unsigned long offset, unsigned len)
{
	char	 want[256];

	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"fs/readBlock\","
	    "\"params\":{\"handleId\":\".1\",\"offset\":%lu,\"len\":%u}}", id,
	    offset, len);
	peer_ck_heard(want);
}

static void
ck_closed(unsigned id)
{
	char	 want[256];

	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"fs/close\","
	    "\"params\":{\"handleId\":\".1\"}}", id);
	peer_ck_heard(want);
}

/* A block of n bytes, all the same. */
static void
say_block(unsigned id, char c, size_t n, bool eof)
{
	uint8_t		 head[WS_HEADER_MAX];
	struct json_out	 o;
	struct buf	 b;
	char		*data = malloc(n + 1);
	size_t		 h;

	ck_assert_ptr_nonnull(data);
	memset(data, c, n);
	buf_init(&b, 4 * BLOCK);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_key(&o, "id");
	json_out_u64(&o, id);
	json_out_key(&o, "result");
	json_out_open(&o, '{');
	json_out_key(&o, "chunk");
	json_out_b64(&o, data, n);
	json_out_key(&o, "eof");
	json_out_bool(&o, eof);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	ck_assert_int_eq(json_out_fini(&o), 0);
	h = ws_header(head, true, WS_TEXT, b.len, NULL);
	ck_assert_int_eq(transport_feed(&x->transport, head, h), 0);
	ck_assert_int_eq(transport_feed(&x->transport, buf_data(&b), b.len), 0);
	buf_fini(&b);
	free(data);
}

START_TEST(test_read)
{
	unsigned	 i;

	begin_read(0, 0);
	for (i = 0; i < 4; i++)
		ck_asked(2 + i, i * (unsigned long)BLOCK, BLOCK);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	say_block(2, 'a', BLOCK, false);
	peer_ck_trace("262144 a;");
	ck_asked(6, 4ul * BLOCK, BLOCK);
	say_block(5, 'z', 0, true);		/* beyond the end */
	say_block(4, 'z', 0, true);
	peer_ck_trace("");
	say_block(3, 'b', 3, true);
	peer_ck_trace("bbb;");
	say_block(6, 'z', 0, true);
	ck_closed(7);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_ck_trace("");
	peer_say("{\"id\":7,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 262147;");
	ck_assert_ptr_null(transfer);
	ck_assert(TAILQ_EMPTY(&x->transfers.live));
	peer_stop();
}
END_TEST

/* A part, whose blocks come in the wrong order. */
START_TEST(test_read_part)
{
	begin_read(5, BLOCK + 3);
	frees = false;
	ck_asked(2, 5, BLOCK);
	ck_asked(3, 5 + BLOCK, 3);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	say_block(3, 'b', 3, false);
	peer_ck_trace("");
	say_block(2, 'a', BLOCK, false);
	peer_ck_trace("262144 a;bbb;");
	ck_closed(4);
	peer_say("{\"id\":4,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 262147;");
	execsrv_transfer_free(&transfer);
	execsrv_transfer_free(&transfer);
	peer_stop();
}
END_TEST

/* A file that grows while it is read: the first end counts, nothing hangs. */
START_TEST(test_read_grown)
{
	begin_read(0, 0);
	say_block(2, 'a', 2, true);
	say_block(3, 'b', BLOCK, false);
	say_block(4, 'c', 1, true);
	say_block(5, 'd', 0, true);
	peer_ck_trace("aa;");
	peer_say("{\"id\":6,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 2;");
	peer_stop();
}
END_TEST

START_TEST(test_read_fails)
{
	begin_read(0, 0);
	say_block(2, 'a', BLOCK, false);
	say_block(4, 'c', BLOCK, false);
	peer_say("{\"id\":3,\"error\":{\"code\":-32603,\"message\":\"io\"}}");
	peer_say("{\"id\":5,\"error\":{\"code\":-32004,\"message\":\"gone\"}}");
	peer_say("{\"id\":6,\"result\":{\"chunk\":\"\",\"eof\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("262144 a;done 262144 io;");
	peer_stop();
	/* More than was asked for; what is no block. */
	begin_read(0, 3);
	say_block(2, 'a', 4, false);
	peer_ck_trace("done 0 the server sent a longer block than was "
	    "requested;");
	peer_stop();
	begin_read(0, 3);
	peer_say("{\"id\":2,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 0 the server's answer to fs/readBlock is "
	    "malformed;");
	peer_stop();
	/* The connection ends. */
	begin_read(0, 0);
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("done 0 the server closed the connection;");
	peer_stop();
}
END_TEST

START_TEST(test_not_opened)
{
	struct execsrv_file	 f = { .path = "/f" };

	peer_start();
	frees = true;
	ck_assert_ptr_nonnull(transfer = execsrv_file_read(x, &f, &moves,
	    trace));
	peer_say("{\"id\":1,\"error\":{\"code\":-32004,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 0 no;");
	(void)peer_heard();
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	f.path = "f";
	ck_assert_ptr_null(execsrv_file_read(x, &f, &moves, trace));
	ck_assert_int_eq(errno, EINVAL);
	peer_stop();
}
END_TEST

/* Paused: what is under way arrives, nothing else is asked for. */
START_TEST(test_read_paused)
{
	unsigned	 i;

	begin_read(0, 0);
	execsrv_transfer_pause(transfer, true);
	say_block(2, 'a', BLOCK, false);
	peer_ck_trace("262144 a;");
	say_block(3, 'b', BLOCK, false);
	say_block(4, 'c', BLOCK, false);
	say_block(5, 'd', BLOCK, false);
	trace[0] = '\0';
	while (peer_heard().type != WS_EV_NONE)
		continue;
	ck_assert_int_gt(execsrv_wait_ms(x), 10000);	/* idle */
	execsrv_transfer_pause(transfer, false);
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	ck_assert_int_eq(peer_turn(), 0);
	ck_asked(6, 4ul * BLOCK, BLOCK);
	/* Forgotten while blocks are under way; then it is closed. */
	execsrv_transfer_free(&transfer);
	for (i = 6; i < 10; i++)
		say_block(i, 'e', 0, true);
	for (i = 0; i < 3; i++)
		(void)peer_heard();
	ck_closed(10);
	peer_ck_trace("");
	ck_assert(TAILQ_EMPTY(&x->transfers.live));
	peer_stop();
}
END_TEST

/* Freed before the server answers: opened or not, nothing stays open there. */
START_TEST(test_freed_early)
{
	struct execsrv_file	 f = { .path = "/f" };

	peer_start();
	ck_assert_ptr_nonnull(transfer = execsrv_file_read(x, &f, &moves,
	    trace));
	execsrv_transfer_free(&transfer);
	ck_assert_int_eq(peer_heard().type, WS_EV_MESSAGE);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	if (_i == 0) {
		peer_say("{\"id\":1,\"result\":{\"handleId\":\".1\"}}");
		ck_assert_int_eq(peer_turn(), 0);
		ck_closed(2);
	} else {
		peer_say("{\"id\":1,\"error\":{\"code\":-32004,"
		    "\"message\":\"not there\"}}");
		ck_assert_int_eq(peer_turn(), 0);
		ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	}
	peer_ck_trace("");
	ck_assert(TAILQ_EMPTY(&x->transfers.live));
	peer_stop();
}
END_TEST

static void
begin_write(const char *text)
{
	struct execsrv_file	 f = { .path = "/f", .sandbox = "{}" };

	peer_start();
	frees = true;
	pauses = false;
	source = text;
	ck_assert_ptr_nonnull(transfer = execsrv_file_write(x, &f, &moves,
	    trace));
	peer_ck_heard("{\"id\":1,\"method\":\"fs/open\",\"params\":"
	    "{\"handleId\":\".1\",\"path\":\"file:///f\",\"mode\":"
	    "\"replace\",\"sandbox\":{}}}");
	peer_say("{\"id\":1,\"result\":{\"handleId\":\".1\"}}");
	ck_assert_int_eq(peer_turn(), 0);
}

static void
ck_written(unsigned id, unsigned offset, const char *b64)
{
	char	 want[256];

	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"fs/writeBlock\""
	    ",\"params\":{\"handleId\":\".1\",\"offset\":%u,\"chunk\":"
	    "\"%s\"}}", id, offset, b64);
	peer_ck_heard(want);
}

START_TEST(test_write)
{
	begin_write("onetwosixtenby");
	ck_written(2, 0, "b25l");
	ck_written(3, 3, "dHdv");
	ck_written(4, 6, "c2l4");
	ck_written(5, 9, "dGVu");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_say("{\"id\":4,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_written(6, 12, "Ynk=");
	peer_say("{\"id\":2,\"result\":{}}");
	peer_say("{\"id\":3,\"result\":{}}");
	peer_say("{\"id\":6,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_say("{\"id\":5,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_closed(7);
	peer_say("{\"id\":7,\"error\":{\"code\":-32603,\"message\":\"full\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 14 full;");
	peer_stop();
}
END_TEST

/* What is told to be written has no gap; another transfer goes on behind it. */
START_TEST(test_write_goes_on)
{
	struct execsrv_file	 f = { .path = "/f", .offset = 3 };

	begin_write("onetwosix");
	peer_say("{\"id\":2,\"result\":{}}");
	peer_say("{\"id\":4,\"result\":{}}");
	peer_say("{\"id\":3,\"error\":{\"code\":-32603,"
	    "\"message\":\"full\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 3 full;");
	peer_stop();

	peer_start();
	frees = true;
	source = "two";
	ck_assert_ptr_nonnull(transfer = execsrv_file_write(x, &f, &moves,
	    trace));
	peer_ck_heard("{\"id\":1,\"method\":\"fs/open\",\"params\":"
	    "{\"handleId\":\".1\",\"path\":\"file:///f\",\"mode\":"
	    "\"update\"}}");
	peer_say("{\"id\":1,\"result\":{\"handleId\":\".1\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_written(2, 3, "dHdv");
	peer_say("{\"id\":2,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_closed(3);
	peer_say("{\"id\":3,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 3;");
	peer_stop();
}
END_TEST

START_TEST(test_write_ends)
{
	/* Nothing at all is a file too. */
	begin_write("");
	ck_closed(2);
	peer_say("{\"id\":2,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 0;");
	peer_stop();
	/* Given up; closed all the same. */
	begin_write(NULL);
	peer_ck_trace("done 0 cancelled by the caller;");
	ck_closed(2);
	peer_stop();
	/* Refused. */
	begin_write("one");
	peer_say("{\"id\":2,\"error\":{\"code\":-32603,\"message\":\"full\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("done 0 full;");
	peer_stop();
	/* Never answered: freed with the connection. */
	begin_write("one");
	peer_stop();
	peer_ck_trace("");
}
END_TEST

START_TEST(test_write_paused)
{
	struct execsrv_file	 f = { .path = "/f" };

	peer_start();
	frees = pauses = true;
	source = "one";
	transfer = execsrv_file_write(x, &f, &moves, trace);
	(void)peer_heard();
	peer_say("{\"id\":1,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	pauses = false;
	execsrv_transfer_pause(transfer, false);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	ck_assert_int_eq(peer_turn(), 0);
	ck_written(2, 0, "b25l");
	peer_stop();
}
END_TEST

/* --- HTTP --- */

static void
on_head(void *arg, const struct execsrv_http_head *h)
{
	size_t	 i;

	ck_assert_ptr_eq(arg, trace);
	peer_note("%llu", (unsigned long long)h->status);
	for (i = 0; i < h->nheaders; i++)
		peer_note(" %s: %s", h->headers[i].name, h->headers[i].value);
	peer_note(";");
}

static void
on_end(void *arg, const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, trace);
	peer_note("end%s%s;", e != NULL ? " " : "", e != NULL ? e->text : "");
	if (frees)
		execsrv_http_free(&http);
}

static const struct execsrv_http_hooks	 answers = {
	.on_head = on_head, .on_body = on_data, .on_done = on_end
};

static void
begin_http(void)
{
	struct execsrv_header		 h = { .name = "A", .value = "b" };
	struct execsrv_http_request	 in = {
		.method = "GET", .url = "http://x/", .headers = &h,
		.nheaders = 1, .timeout_ms = 7, .redirects = "stop"
	};

	peer_start();
	frees = true;
	ck_assert_ptr_nonnull(http = execsrv_http_request(x, &in, &answers,
	    trace));
	peer_ck_heard("{\"id\":1,\"method\":\"http/request\",\"params\":"
	    "{\"requestId\":\"h1\",\"streamResponse\":true,\"method\":\"GET\","
	    "\"url\":\"http://x/\",\"headers\":[{\"name\":\"A\",\"value\":"
	    "\"b\"}],\"timeoutMs\":7,\"redirectPolicy\":\"stop\"}}");
}

#define HEAD	"{\"id\":1,\"result\":{\"status\":200,\"headers\":"	\
		"[{\"name\":\"N\",\"value\":\"v\"},{\"name\":\"N\","	\
		"\"value\":\"w\"}],\"bodyBase64\":\"\"}}"

static void
say_delta(unsigned seq, const char *b64, bool is_last, const char *error)
{
	peer_say("{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"h1\",\"seq\":%u,\"deltaBase64\":\"%s\","
	    "\"done\":%s,\"error\":%s}}", seq, b64,
	    is_last ? "true" : "false", error);
}

START_TEST(test_http)
{
	begin_http();
	peer_say(HEAD);
	say_delta(1, "b25l", false, "null");
	say_delta(3, "c2l4", false, "null");
	say_delta(3, "c2l4", false, "null");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("200 N: v N: w;one;");
	say_delta(2, "dHdv", false, "null");
	say_delta(2, "dHdv", false, "null");
	say_delta(4, "", true, "null");
	say_delta(5, "", true, "null");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("two;six;end;");
	ck_assert_ptr_null(http);
	peer_stop();
}
END_TEST

/* Pieces before the answer wait for it; others' are nobody's. */
START_TEST(test_http_early)
{
	begin_http();
	frees = false;
	say_delta(2, "", true, "\"broke\"");
	say_delta(1, "b25l", false, "null");
	peer_say("{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"h2\",\"seq\":1,\"deltaBase64\":\"\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	peer_say(HEAD);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("200 N: v N: w;one;end broke;");
	execsrv_http_free(&http);
	execsrv_http_free(&http);
	peer_stop();
}
END_TEST

START_TEST(test_http_fails)
{
	static const char *const	 bad[] = {
		"{\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}",
		"{\"id\":1,\"result\":{\"status\":\"200\",\"headers\":[]}}",
		"{\"id\":1,\"result\":{\"status\":200,\"headers\":[{}]}}",
	};
	size_t				 i;

	for (i = 0; i < 3; i++) {
		begin_http();
		peer_say("%s", bad[i]);
		ck_assert_int_eq(peer_turn(), 0);
		peer_ck_trace(i == 0 ? "end no;" : "end the server's answer "
		    "to http/request is malformed;");
		peer_stop();
	}
	/* The connection ends, before and behind the head. */
	for (i = 0; i < 2; i++) {
		begin_http();
		if (i == 1)
			peer_say(HEAD);
		shutdown(peer, SHUT_WR);
		ck_assert_int_eq(peer_turn(), -1);
		peer_ck_trace(i == 0 ? "end the server closed the connection;" :
		    "200 N: v N: w;end the connection was lost before the end "
		    "of the body;");
		peer_stop();
	}
	/* Forgotten: its answer and pieces are nobody's. */
	begin_http();
	execsrv_http_free(&http);
	peer_say(HEAD);
	say_delta(1, "b25l", false, "null");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	peer_stop();
	begin_http();
	say_delta(2, "b25l", false, "null");
	ck_assert_int_eq(peer_turn(), 0);
	peer_stop();			/* frees what came early */
	begin_http();
	peer_say("{\"method\":\"http/request/bodyDelta\",\"params\":{}}");
	ck_assert_int_eq(peer_turn(), -1);
	ck_assert_ptr_nonnull(strstr(execsrv_why(x)->text, "malformed"));
	peer_stop();
}
END_TEST

static void
free_on_head(void *arg, const struct execsrv_http_head *h)
{
	(void)arg;
	(void)h;
	peer_note("freed;");
	execsrv_http_free(&http);
}

static void
free_on_body(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	peer_note("freed;");
	execsrv_http_free(&http);
}

/* Freed where it hears something, with more to come that waits already. */
START_TEST(test_http_free_inside)
{
	static const struct execsrv_http_hooks	 freeing[] = {
		{ .on_head = free_on_head, .on_body = on_data,
		    .on_done = on_end },
		{ .on_body = free_on_body, .on_done = on_end }
	};
	struct execsrv_http_request		 in = {
		.method = "GET", .url = "http://x/"
	};

	peer_start();
	ck_assert_ptr_nonnull(http = execsrv_http_request(x, &in,
	    &freeing[_i], trace));
	say_delta(1, "b25l", false, "null");
	say_delta(2, "dHdv", true, "null");
	peer_say(HEAD);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("freed;");
	ck_assert(TAILQ_EMPTY(&x->https.freed));
	peer_stop();
}
END_TEST

/* --- watches --- */

static void
on_watched(void *arg, bool is_watched, const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, trace);
	peer_note("%d%s%s;", is_watched, e != NULL ? " " : "",
	    e != NULL ? e->text : "");
}

static void
on_changed(void *arg)
{
	ck_assert_ptr_eq(arg, trace);
	peer_note("changed;");
	if (frees)
		execsrv_watch_free(&watch);
}

static void
begin_watch(void)
{
	static const struct execsrv_watch_hooks	 hooks = {
		.on_answer = on_watched, .on_changed = on_changed
	};
	static const char *const		 missing[] = { "/a", "/b c",
						    NULL };

	peer_start();
	frees = true;
	ck_assert_ptr_nonnull(watch = execsrv_watch_missing(x, missing, "/p",
	    &hooks, trace));
	peer_ck_heard("{\"id\":1,\"method\":\"fs/watchMissing\",\"params\":"
	    "{\"watchId\":1,\"missing\":[\"file:///a\",\"file:///b%20c\"],"
	    "\"present\":\"file:///p\"}}");
}

#define CHANGED	"{\"method\":\"fs/missingChanged\",\"params\":{\"watchId\":%d}}"

START_TEST(test_watch)
{
	begin_watch();
	peer_say("{\"id\":1,\"result\":{\"watching\":true}}");
	peer_say(CHANGED, 2);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("1;");
	peer_say(CHANGED, 1);
	peer_say(CHANGED, 1);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("changed;");
	ck_assert_ptr_null(watch);
	peer_stop();
	/* Not watched, refused, nonsense, and a connection that is lost. */
	begin_watch();
	peer_say("{\"id\":1,\"result\":{\"watching\":false}}");
	peer_say(CHANGED, 1);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0;");
	peer_stop();
	begin_watch();
	peer_say("{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0 no;");
	execsrv_watch_free(&watch);
	peer_stop();
	begin_watch();
	peer_say("{\"id\":1,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0 the server's answer to fs/watchMissing is "
	    "malformed;");
	peer_stop();
	begin_watch();
	peer_say("{\"id\":1,\"result\":{\"watching\":true}}");
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("1;changed;");
	peer_stop();
	begin_watch();
	peer_say("{\"method\":\"fs/missingChanged\"}");
	ck_assert_int_eq(peer_turn(), -1);
	peer_stop();
}
END_TEST

static Suite *
streams_suite(void)
{
	Suite	*s = suite_create("streams");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_read);
	tcase_add_test(t, test_read_part);
	tcase_add_test(t, test_read_grown);
	tcase_add_test(t, test_read_fails);
	tcase_add_test(t, test_read_paused);
	tcase_add_loop_test(t, test_freed_early, 0, 2);
	tcase_add_test(t, test_not_opened);
	tcase_add_test(t, test_write);
	tcase_add_test(t, test_write_goes_on);
	tcase_add_test(t, test_write_ends);
	tcase_add_test(t, test_write_paused);
	tcase_add_test(t, test_http);
	tcase_add_test(t, test_http_early);
	tcase_add_test(t, test_http_fails);
	tcase_add_loop_test(t, test_http_free_inside, 0, 2);
	tcase_add_test(t, test_watch);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(streams_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
