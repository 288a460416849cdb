/*
 * worker/rpc/rpc.c: from a message to a handler and back.  The connection and
 * all handlers are ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/params.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/fs/pathwatch.h"
#include "worker/proc/snapshot.h"
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/sandbox/sockmark.h"

#define CONN	((struct conn *)(void *)&rpc)

enum way { WAY_OK, WAY_KEEP, WAY_LEAVE };

static struct session	 s;
static struct rpc	 rpc;
static enum way		 way;		/* what handlers do */
static char		 did[1024];	/* each in a line */
static bool		 has_long_frame;
static bool		 send_ends;	/* the connection */
static int		 received;	/* what session_received() says */
static bool		 operates;	/* the session, and no more */
static struct rpc_req	*kept;		/* the last one */
static unsigned		 ncancelled, ncleared, nsent;
static char		*raw;		/* as the handler got it, or NULL */
static size_t		 raw_len;
static struct conn_source *source;	/* a long answer */
static size_t		 source_len;
static size_t		 step = 1;	/* bytes of a source at once */
static struct buf	 sent;		/* the last answer */

static void
note(const char *text, size_t len)
{
	size_t	 at = strlen(did);

	/* Those that are too long are looked at in another way. */
	if (at + len + 2 > sizeof(did))
		return;
	memcpy(did + at, text, len);
	memcpy(did + at + len, "\n", 2);
}

#define DID(want)							\
	do {								\
		ck_assert_str_eq(did, want);				\
		did[0] = '\0';						\
	} while (0)

/* --- in the place of the connection --- */

static void
conn_over(void)
{
	s.conn = NULL;
	rpc_on_conn(&rpc, NULL);
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	char	 text[128];
	int	 n = snprintf(text, sizeof(text), "close %u %s", code, why);

	ck_assert(c == CONN && s.conn == CONN);
	note(text, (size_t)n);
	conn_over();
}

bool
conn_has_long_frame(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return has_long_frame;
}

static void
on_sent(void)
{
	nsent++;
	note((char *)buf_data(&sent), sent.len);
	if (send_ends)
		conn_over();
}

int
conn_send_buf(struct conn *c, struct buf *b)
{
	ck_assert(c == CONN && s.conn == CONN);
	buf_fini(&sent);
	buf_move(&sent, b);
	on_sent();
	return 0;
}

/* Let it be written, in steps. */
static void
write_source(struct conn_source *src, size_t len)
{
	size_t	 n;
	char	*at;

	buf_fini(&sent);
	buf_init(&sent, len);
	for (; len > 0; len -= n) {
		n = len < step ? len : step;
		ck_assert_ptr_nonnull(at = buf_reserve(&sent, n));
		src->write(src, at, n);
		buf_commit(&sent, n);
	}
	if (src->free != NULL)
		src->free(src);
}

int
conn_send_source(struct conn *c, struct conn_source *src, size_t len)
{
	ck_assert(c == CONN && s.conn == CONN);
	ck_assert_uint_le(len, LIMIT_MESSAGE);
	if (len > LIMIT_OUT_READING) {
		ck_assert_ptr_nonnull(src->free);
		source = src;
		source_len = len;
		return 0;
	}
	write_source(src, len);
	on_sent();
	return 0;
}

/* --- of the session, watches and marks --- */

int
session_received(struct session *of, uint64_t bytes)
{
	char	 text[64];

	ck_assert_ptr_eq(of, &s);
	note(text, (size_t)snprintf(text, sizeof(text), "received %llu",
	    (unsigned long long)bytes));
	return received;
}

/* In the place of a session for session/operate alone. */
bool
session_operates(const struct session *of)
{
	ck_assert_ptr_eq(of, &s);
	return operates;
}

void
pathwatcher_clear(struct watcher *r)
{
	ck_assert_ptr_null(r);
	ncleared++;
}

void
pathwatcher_free(struct watcher **rp)
{
	ck_assert_ptr_null(*rp);
}

void
sockmark_free(struct sockmark **bp)
{
	ck_assert_ptr_null(*bp);
}

void
snapshots_free(struct snapshots **ssp)
{
	ck_assert_ptr_null(*ssp);
}

/* --- of handlers --- */

static void
on_cancel(struct rpc_req *req)
{
	char	 text[64];

	ck_assert(!req->kept);
	ck_assert_ptr_eq(req->waiter, &way);
	note(text, (size_t)snprintf(text, sizeof(text), "cancel %lld",
	    (long long)req->id.number));
	ncancelled++;
}

static void
handle(const char *method, struct rpc *of, struct rpc_req *req,
    const struct rpc_message *msg)
{
	ck_assert(of == &rpc && req->rpc == &rpc && !req->kept);
	note(method, strlen(method));
	free(raw);
	raw = NULL;
	raw_len = msg->len;
	if (msg->raw != NULL) {
		ck_assert_ptr_nonnull(raw = malloc(msg->len + 1));
		memcpy(raw, msg->raw, msg->len);
		raw[msg->len] = '\0';
	}
	if (way == WAY_OK)
		rpc_ok(req);
	else if (way == WAY_KEEP)
		kept = rpc_keep(req, on_cancel, &way);
	else
		kept = req;
}

#define RPC(method, fn, params, state)					\
void									\
rpc_##fn(struct rpc *of, struct rpc_req *req, void *p,			\
    const struct rpc_message *msg)					\
{									\
	ck_assert_ptr_nonnull(p);					\
	handle(method, of, req, msg);					\
}
#include "proto/rpc.def"
#undef RPC

static const struct {
	const char	*name;
	enum rpc_phase	 phase;
} methods[] = {
#define RPC(method, fn, params, state)	{ method, PHASE_##state },
#include "proto/rpc.def"
#undef RPC
};
#define METHODS	(sizeof(methods) / sizeof(methods[0]))

/* --- */

static void
setup(void)
{
	static const struct rpc_programs	 programs = { -1, -1 };

	s.conn = CONN;
	rpc_init(&rpc, &s, false, &programs);
	ck_assert_int_eq(rpc.phase, PHASE_NEW);
	rpc.phase = PHASE_READY;
	buf_init(&sent, LIMIT_MESSAGE);
}

static void
teardown(void)
{
	if (s.conn != NULL)
		conn_over();
	ck_assert_uint_eq(rpc.nwaiting, 0);
	ck_assert(TAILQ_EMPTY(&rpc.waiting));
	rpc_fini(&rpc);
	buf_fini(&sent);
	free(raw);
}

static void
message_of(const char *text, size_t len, bool is_utf8)
{
	char	*copy = malloc(len + 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	copy[len] = '\0';
	rpc_on_message(&rpc, copy, len, is_utf8);
	free(copy);
}

static void
message(const char *text)
{
	message_of(text, strlen(text), true);
}

#define ERROR(code, text, id)						\
	"{\"error\":{\"code\":" code ",\"message\":\"" text "\"},"	\
	"\"id\":" id "}\n"
#define MALFORMED							\
	ERROR("-32600", "the message is not a JSON-RPC message", "-1")
#define OK(id)	"{\"id\":" id ",\"result\":{}}\n"
#define INFO(id)							\
	"{\"id\":" id ",\"method\":\"environment/info\"}"

/* --- the envelope --- */

static const char	*const malformed[] = {
	"", "x", "{", "[]", "1", "\"a\"", "null", "{}", "{\"id\":1}",
	"{\"result\":1}", "{\"error\":1}", "{\"id\":{},\"result\":1}",
	"{\"id\":null,\"error\":1}", "{\"method\":1}",
	"{\"id\":1,\"method\":null}", "{\"id\":1,\"method\":[\"a\"]}",
	"{\"id\":null,\"method\":\"environment/info\"}",
	"{\"id\":1.5,\"method\":\"environment/info\"}",
	"{\"id\":true,\"method\":\"environment/info\"}",
	"{\"id\":[1],\"method\":\"environment/info\"}",
	"{\"id\":9223372036854775808,\"method\":\"environment/info\"}",
	"{\"id\":1,\"method\":\"environment/info\",\"trace\":5}",
	"[" INFO("1") "]", INFO("1") INFO("2")
};
#define MALFORMEDS	((int)(sizeof(malformed) / sizeof(malformed[0])))

/* An error that belongs to no request; or, if strict, the end. */
START_TEST(test_malformed)
{
	message(malformed[_i]);
	DID(MALFORMED);
	message(INFO("1"));
	DID("environment/info\n" OK("1"));
	rpc.is_strict = true;
	message(malformed[_i]);
	DID("close 1007 not JSON-RPC\n");
}
END_TEST

/* A silent client's worker keeps no memory for messages. */
START_TEST(test_idle)
{
	message(INFO("1"));
	ck_assert_uint_gt(rpc.json.cap, 0);
	rpc_on_idle(&rpc);
	ck_assert_uint_eq(rpc.json.cap, 0);
	ck_assert_ptr_null(rpc.scratch.base);
	DID("environment/info\n" OK("1"));
	message(INFO("2"));
	DID("environment/info\n" OK("2"));
}
END_TEST

START_TEST(test_not_utf8)
{
	message_of(INFO("1"), strlen(INFO("1")), false);
	DID(MALFORMED);
}
END_TEST

static bool
test_answers_on_answer(struct rpc *r, int64_t id, uint32_t result)
{
	(void)r;
	(void)result;
	return id == 77;
}

/* Nobody asked the client for anything. */
START_TEST(test_answers)
{
	static const char	*const rows[] = {
		"{\"id\":1,\"result\":{}}", "{\"id\":\"a\",\"error\":{}}",
		"{\"id\":1,\"result\":null}", "{\"id\":\"77\",\"result\":{}}"
	};

	if (_i > 0) {
		rpc.on_answer = test_answers_on_answer;
		/* A question that was asked, whatever is answered. */
		message("{\"id\":77,\"result\":{}}");
		message("{\"id\":77,\"error\":{}}");
		DID("");
	}
	message(rows[_i]);
	DID("close 1002 an answer to no request\n");
}
END_TEST

START_TEST(test_ids)
{
	static const char	*const rows[] = {
		"0", "1", "-1", "9223372036854775807",
		"-9223372036854775808", "\"\"", "\"a\"", "\"1\"",
		"\"a\\\"b\\\\c\"", "\"\\u0000\""
	};
	char	 text[256], want[256];

	snprintf(text, sizeof(text), INFO("%s"), rows[_i]);
	snprintf(want, sizeof(want), "environment/info\n" OK("%s"), rows[_i]);
	message(text);
	DID(want);
	/* The same later, when the message is gone. */
	way = WAY_KEEP;
	message(text);
	DID("environment/info\n");
	rpc_ok(kept);
	ck_assert_str_eq(did, strchr(want, '\n') + 1);
}
END_TEST

/* No name that only begins like one, or goes on. */
START_TEST(test_unknown_method)
{
	static const char	*const rows[] = {
		"", "a", "zzz", "initializ", "initialize\\u0000", "initializeX",
		"Initialize", "fs/read", "initialized", "session/received"
	};
	char	 text[128];

	snprintf(text, sizeof(text), "{\"id\":4,\"method\":\"%s\"}", rows[_i]);
	message(text);
	DID(ERROR("-32601", "exec-server does not implement this method",
	    "4"));
}
END_TEST

/* Each is found, and gets there or has its parameters refused. */
START_TEST(test_methods)
{
	char	 text[128], want[128];

	rpc.phase = methods[_i].phase;
	snprintf(text, sizeof(text), "{\"id\":4,\"method\":\"%s\"}",
	    methods[_i].name);
	snprintf(want, sizeof(want), "%s\n" OK("4"), methods[_i].name);
	message(text);
	if (strstr(did, "\"code\":-32602") == NULL)
		DID(want);
	else
		ck_assert_ptr_nonnull(strstr(did, "invalid params: "));
}
END_TEST

START_TEST(test_params)
{
	message("{\"id\":1,\"method\":\"process/signal\","
	    "\"params\":{\"processId\":\"a\",\"signal\":\"TERM\"}}");
	DID("process/signal\n" OK("1"));
	message("{\"id\":1,\"method\":\"process/signal\","
	    "\"params\":{\"processId\":\"a\"}}");
	ck_assert_ptr_nonnull(strstr(did, "\"code\":-32602,\"message\":"
	    "\"invalid params: "));
	ck_assert_ptr_nonnull(strstr(did, "signal"));
	ck_assert_ptr_null(strstr(did, "process/signal"));
}
END_TEST

/* --- phases --- */

#define INITIALIZE							\
	"{\"id\":1,\"method\":\"initialize\","				\
	"\"params\":{\"clientName\":\"a\\u0062\"}}"

START_TEST(test_phases)
{
	rpc.phase = PHASE_NEW;
	message(INFO("1"));
	DID(ERROR("-32600", "client must call initialize first", "1"));
	message(INITIALIZE);
	DID("initialize\n" OK("1"));
	/* As it came: another worker may have to read it. */
	ck_assert_str_eq(raw, INITIALIZE);
	rpc.phase = PHASE_ATTACHED;
	message(INFO("1"));
	DID(ERROR("-32600", "client must send initialized first", "1"));
	message("{\"method\":\"initialized\"}");
	DID("");
	ck_assert_int_eq(rpc.phase, PHASE_READY);
	message(INFO("1"));
	DID("environment/info\n" OK("1"));
	ck_assert_ptr_null(raw);
	/* Another connection begins anew. */
	conn_over();
	s.conn = CONN;
	rpc_on_conn(&rpc, CONN);
	ck_assert_int_eq(rpc.phase, PHASE_NEW);
}
END_TEST

/* A session for session/operate alone has that, its output, and its end. */
START_TEST(test_operates)
{
	operates = true;
	message(INFO("1"));
	DID(ERROR("-32600", "this session is for session/operate alone", "1"));
	message("{\"id\":2,\"method\":\"session/operate\",\"params\":"
	    "{\"command\":\"ps\"}}");
	DID("session/operate\n" OK("2"));
	message("{\"id\":4,\"method\":\"session/close\"}");
	DID("session/close\n" OK("4"));
}
END_TEST

START_TEST(test_initialize_twice)
{
	rpc.phase = _i == 0 ? PHASE_ATTACHED : PHASE_READY;
	message(INITIALIZE);
	DID(ERROR("-32600", "initialize may only be sent once per connection",
	    "1"));
}
END_TEST

/* One that could not be passed on is not kept as a whole. */
START_TEST(test_long_initialize)
{
	size_t	 len = (size_t)LIMIT_FIRST_MESSAGE + (size_t)_i;
	char	*text = malloc(len + 1);

	ck_assert_ptr_nonnull(text);
	memset(text, ' ', len);
	text[len] = '\0';
	memcpy(text, INITIALIZE, strlen(INITIALIZE));
	rpc.phase = PHASE_NEW;
	message(text);
	DID("initialize\n" OK("1"));
	ck_assert_uint_eq(raw_len, len);
	if (_i == 0)
		ck_assert_str_eq(raw, text);
	else
		ck_assert_ptr_null(raw);
	free(text);
}
END_TEST

/* --- notifications --- */

#define UNKNOWN_NOTE							\
	ERROR("-32600", "unknown notification", "-1")			\
	"close 1002 unknown notification\n"

START_TEST(test_unknown_note)
{
	static const struct {
		enum rpc_phase	 phase;
		const char	*text;
	} rows[] = {
		{ PHASE_READY, "{\"method\":\"x\"}" },
		{ PHASE_READY, "{\"method\":\"environment/info\"}" },
		{ PHASE_READY, "{\"method\":\"initializedX\"}" },
		{ PHASE_NEW, "{\"method\":\"initialized\"}" },
		{ PHASE_NEW, "{\"method\":\"session/received\","
		    "\"params\":{\"bytes\":1}}" }
	};

	rpc.phase = rows[_i].phase;
	message(rows[_i].text);
	DID(UNKNOWN_NOTE);
}
END_TEST

#define RECEIVED(n)							\
	"{\"method\":\"session/received\",\"params\":{\"bytes\":" n "}}"

START_TEST(test_received)
{
	rpc.phase = _i == 0 ? PHASE_ATTACHED : PHASE_READY;
	message(RECEIVED("12345678901"));
	DID("received 12345678901\n");
	received = -1;
	message(RECEIVED("2"));
	DID("received 2\nclose 1002 a receipt for what was not sent\n");
}
END_TEST

START_TEST(test_received_wrong)
{
	static const char	*const rows[] = {
		RECEIVED("-1"), RECEIVED("\"1\""), RECEIVED("null"),
		"{\"method\":\"session/received\"}"
	};

	message(rows[_i]);
	DID("close 1002 a receipt for what was not sent\n");
}
END_TEST

/* --- long frames --- */

/* Only what may have data in it may come so. */
START_TEST(test_long_frame)
{
	static const char	*const data[] = { "fs/writeBlock",
		"fs/writeFile", "http/request", "process/write", NULL };
	const char	*name = methods[_i].name;
	char		 text[128];
	int		 i;

	for (i = 0; data[i] != NULL && strcmp(data[i], name) != 0; i++)
		continue;
	has_long_frame = true;
	rpc.phase = methods[_i].phase;
	snprintf(text, sizeof(text), "{\"id\":4,\"method\":\"%s\"}", name);
	message(text);
	if (data[i] == NULL)
		DID("close 1009 message too big\n");
	else
		ck_assert_ptr_nonnull(strstr(did, "\"code\":-32602"));
}
END_TEST

START_TEST(test_long_frame_unknown)
{
	has_long_frame = true;
	message("{\"id\":4,\"method\":\"fs/nothing\"}");
	DID("close 1009 message too big\n");
}
END_TEST

/* --- requests that wait --- */

/* They are cancelled in their order, and are not there any more. */
START_TEST(test_cancel)
{
	way = WAY_KEEP;
	message(INFO("1"));
	message(INFO("2"));
	message(INFO("3"));
	ck_assert_uint_eq(rpc.nwaiting, 3);
	did[0] = '\0';
	conn_over();
	DID("cancel 1\ncancel 2\ncancel 3\n");
	ck_assert_uint_eq(rpc.nwaiting, 0);
	ck_assert_uint_eq(ncleared, 1);
}
END_TEST

/* Those that are answered are not; the others may be so by that answer. */
START_TEST(test_answer_ends)
{
	struct rpc_req	*first;

	way = WAY_KEEP;
	message(INFO("1"));
	first = kept;
	message(INFO("2"));
	did[0] = '\0';
	send_ends = true;
	if (_i == 0)
		rpc_status(first, "done");
	else
		rpc_errorf(first, ERR_FAILED, "no %d", 7);
	DID(_i == 0 ? "{\"id\":1,\"result\":{\"status\":\"done\"}}\n"
	    "cancel 2\n" : ERROR("-32603", "no 7", "1") "cancel 2\n");
}
END_TEST

static void
on_other_cancel(struct rpc_req *req)
{
	ck_assert_ptr_eq(req->waiter, &rpc);
	note("other", 5);
}

/* One that is kept waits for something else now. */
START_TEST(test_keep_twice)
{
	way = WAY_KEEP;
	message(INFO("1"));
	ck_assert_ptr_eq(rpc_keep(kept, on_other_cancel, &rpc), kept);
	ck_assert_uint_eq(rpc.nwaiting, 1);
	did[0] = '\0';
	conn_over();
	DID("other\n");
}
END_TEST

START_TEST(test_too_many)
{
	int	 i;

	way = WAY_KEEP;
	for (i = 0; i < LIMIT_REQUESTS; i++)
		message(INFO("1"));
	ck_assert_uint_eq(rpc.nwaiting, LIMIT_REQUESTS);
	ck_assert_ptr_nonnull(kept);
	did[0] = '\0';
	message(INFO("2"));
	ck_assert_ptr_null(kept);
	DID("environment/info\n" ERROR("-32600",
	    "too many requests are waiting", "2"));
	/* With one less there is room. */
	rpc_ok(TAILQ_FIRST(&rpc.waiting));
	did[0] = '\0';
	message(INFO("3"));
	DID("environment/info\n");
	conn_over();
	ck_assert_uint_eq(ncancelled, LIMIT_REQUESTS);
}
END_TEST

/* --- answers --- */

static struct rpc_req
request(void)
{
	struct rpc_req	 req;

	memset(&req, 0, sizeof(req));
	req.rpc = &rpc;
	req.id.number = 5;
	return req;
}

START_TEST(test_errors)
{
	struct rpc_req	 req = request();
	char		 text[400];
	const char	*at;

	rpc_error(&req, ERR_UNKNOWN_PROCESS, NULL);
	DID(ERROR("-32600", "unknown process id", "5"));
	rpc_error(&req, ERR_ATTACHED, "own \"words\"");
	DID(ERROR("-32010", "own \\\"words\\\"", "5"));
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rpc_errorf(&req, ERR_NOT_FOUND, "%s", text);
	ck_assert_ptr_nonnull(at = strstr(did, "xxx"));
	ck_assert_uint_eq(strspn(at, "x"), 255);
}
END_TEST

/* Nothing of one that could not be written is sent, or left for the next. */
START_TEST(test_too_long)
{
	struct rpc_req	 req = request();
	struct json_out	 o;
	char		*text = malloc(LIMIT_MESSAGE);

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', LIMIT_MESSAGE);
	rpc_begin(&req, &o);
	json_out_key(&o, "a");
	json_out_text(&o, text, LIMIT_MESSAGE);
	rpc_end(&req, &o);
	free(text);
	DID("close 1011 an answer was too long\n");
	ck_assert_uint_eq(nsent, 0);
	s.conn = CONN;
	rpc_on_conn(&rpc, CONN);
	rpc_ok(&req);
	DID(OK("5"));
}
END_TEST

/* Nobody is there. */
START_TEST(test_no_client)
{
	struct rpc_req	 req = request();

	conn_over();
	rpc_ok(&req);
	rpc_error(&req, ERR_FAILED, NULL);
	DID("");
	s.conn = CONN;
	rpc_on_conn(&rpc, CONN);
	rpc_ok(&req);
	DID(OK("5"));
}
END_TEST

/* Two parts and what stands around them, however it is cut. */
START_TEST(test_b64)
{
	static const char	 data[] = "\x00\xff" "abcdefghi";
	struct rpc_req		 req = request();
	struct rpc_b64		 parts[2];
	struct json_out		 o;
	char			 want[256], one[32] = "", two[32] = "";
	size_t			 len = (size_t)_i % 12, rest = 11 - len;

	step = (size_t)_i / 12 + 1;
	b64_encode(one, data, len);
	b64_encode(two, data + len, rest);
	snprintf(want, sizeof(want), "{\"id\":5,\"result\":{\"a\":\"%s\","
	    "\"b\":\"%s\",\"c\":1}}\n", one, two);
	rpc_begin(&req, &o);
	json_out_key(&o, "a");
	rpc_put_b64(&o, data, len, &parts[0]);
	json_out_key(&o, "b");
	rpc_put_b64(&o, data + len, rest, &parts[1]);
	json_out_key(&o, "c");
	json_out_u64(&o, 1);
	rpc_end_b64(&req, &o, parts, 2, NULL);
	DID(want);
	ck_assert_uint_eq(rpc.scratch.len, 0);
}
END_TEST

/* An answer with n bytes of 'a', whose data are taken or stay. */
static void
answer_b64(size_t n, bool is_taken)
{
	struct rpc_req	 req = request();
	struct rpc_b64	 part;
	struct json_out	 o;
	struct buf	 data;
	char		*at;

	buf_init(&data, n);
	ck_assert_ptr_nonnull(at = buf_reserve(&data, n));
	memset(at, 'a', n);
	buf_commit(&data, n);
	rpc_begin(&req, &o);
	json_out_key(&o, "d");
	rpc_put_b64(&o, buf_data(&data), n, &part);
	rpc_end_b64(&req, &o, &part, 1, is_taken ? &data : NULL);
	if (is_taken)
		ck_assert_uint_eq(data.len, 0);
	buf_fini(&data);
}

/* A multiple of three. */
static void
check_sent(size_t n)
{
	static const char	 head[] = "{\"id\":5,\"result\":{\"d\":\"";
	const char		*at = (const char *)buf_data(&sent);
	size_t			 i;

	ck_assert_uint_eq(sent.len, strlen(head) + n / 3 * 4 + 3);
	ck_assert_int_eq(memcmp(at, head, strlen(head)), 0);
	at += strlen(head);
	for (i = 0; i < n / 3; i++, at += 4)
		if (memcmp(at, "YWFh", 4) != 0)
			ck_abort_msg("not the data");
	ck_assert_int_eq(memcmp(at, "\"}}", 3), 0);
}

/* A long one is written while the client reads, when all else is gone. */
START_TEST(test_b64_long)
{
	size_t	 n = (size_t)LIMIT_OUT_READING / 4 * 3 + 3;

	step = 65521;
	answer_b64(n, _i == 0);
	if (_i == 0) {
		ck_assert_uint_eq(nsent, 0);
		message(INFO("1"));
		ck_assert_ptr_nonnull(source);
		write_source(source, source_len);
	} else {
		ck_assert_ptr_null(source);
		ck_assert_uint_eq(nsent, 1);
	}
	check_sent(n);
}
END_TEST

START_TEST(test_b64_too_long)
{
	answer_b64((size_t)LIMIT_MESSAGE / 4 * 3, _i == 0);
	DID("close 1011 an answer was too long\n");
	ck_assert_uint_eq(nsent, 0);
	ck_assert_ptr_null(source);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("rpc");
	TCase	*t = tcase_create("rpc");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_malformed, 0, MALFORMEDS);
	tcase_add_test(t, test_not_utf8);
	tcase_add_test(t, test_idle);
	tcase_add_loop_test(t, test_answers, 0, 4);
	tcase_add_loop_test(t, test_ids, 0, 10);
	tcase_add_loop_test(t, test_unknown_method, 0, 10);
	tcase_add_loop_test(t, test_methods, 0, (int)METHODS);
	tcase_add_test(t, test_params);
	tcase_add_test(t, test_phases);
	tcase_add_test(t, test_operates);
	tcase_add_loop_test(t, test_initialize_twice, 0, 2);
	tcase_add_loop_test(t, test_long_initialize, 0, 2);
	tcase_add_loop_test(t, test_unknown_note, 0, 5);
	tcase_add_loop_test(t, test_received, 0, 2);
	tcase_add_loop_test(t, test_received_wrong, 0, 4);
	tcase_add_loop_test(t, test_long_frame, 0, (int)METHODS);
	tcase_add_test(t, test_long_frame_unknown);
	tcase_add_test(t, test_cancel);
	tcase_add_loop_test(t, test_answer_ends, 0, 2);
	tcase_add_test(t, test_keep_twice);
	tcase_add_test(t, test_too_many);
	tcase_add_test(t, test_errors);
	tcase_add_test(t, test_too_long);
	tcase_add_test(t, test_no_client);
	tcase_add_loop_test(t, test_b64, 0, 12 * 8);
	tcase_add_loop_test(t, test_b64_long, 0, 2);
	tcase_add_loop_test(t, test_b64_too_long, 0, 2);
	suite_add_tcase(suite, t);
	r = srunner_create(suite);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
