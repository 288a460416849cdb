/*
 * worker/rpc/httpjobs.c: answers and deltas of http/request, what is held of
 * them, and when they are read on.  Connection and execsrv-http are ours.
 */
#include "common/map.h"
#include "t/unit/rpc_stand_in.h"
#include "worker/conn/conn.h"
#include "worker/http/http_link.h"
#include "worker/os/helper.h"
#include "worker/rpc/httpjobs.h"

#define CONN	((struct conn *)(void *)&rpc)
#define LINK	((struct http_link *)(void *)&helper)
#define CALLS	8

static struct env	 env;
static struct helper	 helper;
static struct http_call	*calls[CALLS];	/* as they were started */
static size_t		 ncalls;
static bool		 has_link, has_room, conn_room;
static size_t		 queued, behind, took;
static bool		 is_quiet;	/* about what was taken */

/* --- in the place of the connection --- */

static void
conn_over(void)
{
	rpc.conn = NULL;
	rpc_cancel_all();
	httpjobs_on_conn_end(&rpc);
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	ck_assert_ptr_eq(c, CONN);
	tell("%.*s", (int)len, text);
	if (on_sent != NULL)
		on_sent();
	return 0;
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	ck_assert_ptr_eq(c, CONN);
	tell("close %u %s", code, why);
}

size_t
conn_queued(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return queued;
}

size_t
conn_behind(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return behind;
}

bool
conn_has_room(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return conn_room;
}

void
conn_sent_bulk(struct conn *c, size_t len)
{
	ck_assert_ptr_eq(c, CONN);
	tell("bulk %zu", len);
}

/* --- of the program --- */

struct http_link *
http_link_new(struct event_base *base, int exe, const struct scgroup *limited,
    unsigned session)
{
	ck_assert(base == NULL && exe == 44 && limited == NULL && session == 9);
	return has_link ? LINK : NULL;
}

void
http_link_free(struct http_link **lp)
{
	ck_assert_ptr_eq(*lp, LINK);
	*lp = NULL;
	tell("link freed");
}

bool
http_link_has_room(const struct http_link *l, size_t len)
{
	ck_assert_ptr_eq(l, LINK);
	tell("room for %zu?", len);
	return has_room;
}

struct helper *
http_link_helper(struct http_link *l)
{
	ck_assert_ptr_eq(l, LINK);
	return &helper;
}

bool
helper_reaped(struct helper *h, pid_t pid, int status, bool quiet)
{
	ck_assert(h == &helper && !quiet);
	tell("reaped %d %d", (int)pid, status);
	return true;
}

void
http_call_start(struct http_link *l, struct http_call *c)
{
	ck_assert(l == LINK && ncalls < CALLS);
	calls[ncalls++] = c;
	tell("start %s %s%s %zu headers %zu bytes, %zu; %d %llu", c->method,
	    c->url, c->follow ? " follow" : "", c->nheaders, c->body_len,
	    c->cost, c->has_timeout, (unsigned long long)c->timeout_ms);
	free(c->body);
}

void
http_call_took(struct http_call *c, size_t len)
{
	took += len;
	if (!is_quiet)
		tell("took %zu of %s", len, c->url);
}

void
http_call_fail(struct http_call *c, const char *error)
{
	tell("fail %s", error);
	c->events->on_done(c, error, false);
}

void
http_link_stop(struct http_link *l)
{
	size_t	 i;

	ck_assert_ptr_eq(l, LINK);
	for (i = 0; i < ncalls; i++)
		if (calls[i] != NULL)
			calls[i]->events->on_free(calls[i]);
	ncalls = 0;
	tell("stopped");
}

/* --- the tests --- */

static void
setup(void)
{
	rpc_begin_all(&env);
	rpc.conn = CONN;
	rpc.http_exe = 44;
	env.number = 9;
	memset(&helper, 0, sizeof(helper));
	ncalls = 0;
	has_link = has_room = conn_room = true;
	is_quiet = false;
	queued = behind = took = 0;
}

static void
teardown(void)
{
	rpc_cancel_all();
	httpjobs_free(&rpc);
	ck_assert_ptr_null(rpc.httpjobs);
	rpc_end_all();
}

static struct http_call *
ask(int id, const char *url, bool stream)
{
	struct rpc_req		 req = { .rpc = &rpc, .id = { .number = id } };
	struct http_order	 o = { .id = url, .id_len = strlen(url),
				    .method = strdup("GET"),
				    .url = strdup(url), .stream = stream };
	size_t			 n = ncalls;

	httpjobs_begin(&rpc, &req, &o);
	ck_assert(o.method == NULL && o.url == NULL && o.body == NULL);
	return ncalls > n ? calls[n] : NULL;
}

static struct http_call *
ask_quietly(int id, const char *url, bool stream)
{
	struct http_call	*c = ask(id, url, stream);

	did[0] = '\0';
	ck_assert_ptr_nonnull(c);
	return c;
}

static void
done(struct http_call *c, const char *error, bool refused)
{
	size_t	 i;

	c->events->on_done(c, error, refused);
	for (i = 0; i < ncalls; i++)
		if (calls[i] == c)
			calls[i] = NULL;
	c->events->on_free(c);
}

static void
piece(struct http_call *c, const char *text)
{
	c->events->on_piece(c, text, strlen(text));
}

static void
answer_head(struct http_call *c, unsigned status)
{
	c->events->on_field(c, "A", "1\t2");
	c->events->on_field(c, "B", "1\n2");
	c->events->on_field(c, "C", "\x7f");
	c->events->on_field(c, "D", "\x1f");
	c->events->on_field(c, "E", "");
	c->events->on_answer(c, status);
}

#define HEADERS								\
	"\"headers\":[{\"name\":\"A\",\"value\":\"1\\t2\"},"		\
	"{\"name\":\"E\",\"value\":\"\"}],\"bodyBase64\":\"*\"}; "
#define DELTA(id, seq, data, done, error)				\
	"{\"method\":\"http/request/bodyDelta\",\"params\":{\"requestId\":" \
	"\"" id "\",\"seq\":" #seq ",\"deltaBase64\":\"" data		\
	"\",\"done\":" #done ",\"error\":" error "}}; "

START_TEST(test_whole)
{
	struct rpc_req		 req = { .rpc = &rpc, .id = { .number = 1 } };
	struct http_order	 o = { .id = "i", .id_len = 1,
				    .method = strdup("PUT"),
				    .url = strdup("u"), .body = strdup("abc"),
				    .body_len = 3, .cost = 70, .follow = true,
				    .has_timeout = true, .timeout_ms = 8 };
	struct http_call	*c;

	ck_assert(!httpjobs_has(&rpc, 0));
	httpjobs_reaped(&rpc, 5, 6);
	httpjobs_unhold(&rpc);
	httpjobs_on_conn_end(&rpc);
	ck_assert_ptr_nonnull(o.headers = calloc(1, sizeof(*o.headers)));
	o.headers[0].name = strdup("n");
	o.headers[0].value = strdup("v");
	o.nheaders = 1;
	httpjobs_begin(&rpc, &req, &o);
	DID("room for 73?; start PUT u follow 1 headers 3 bytes, 70; 1 8; ");
	ck_assert(!httpjobs_is_streaming(&rpc, "i", 1));
	c = calls[0];
	answer_head(c, 200);
	DID("");
	piece(c, "he");
	piece(c, "llo");
	DID("took 2 of u; took 3 of u; ");
	done(c, NULL, false);
	DID("body 5 hello; 1 {\"status\":200," HEADERS);
	helper.pid = 5;
	ck_assert(httpjobs_has(&rpc, 5));
	ck_assert(!httpjobs_has(&rpc, 6));
	httpjobs_reaped(&rpc, 5, 6);
	DID("reaped 5 6; ");
}
END_TEST

START_TEST(test_stream)
{
	struct http_call	*c = ask_quietly(1, "s", true);

	ck_assert(httpjobs_is_streaming(&rpc, "s", 1));
	ck_assert(!httpjobs_is_streaming(&rpc, "t", 1));
	answer_head(c, 404);
	DID("body 0 ; 1 {\"status\":404," HEADERS);
	piece(c, "hi");
	DID(DELTA("s", 1, "aGk=", false, "null") "bulk 2; took 2 of s; ");
	/* Read on when the client has read. */
	conn_room = false;
	piece(c, "a");
	piece(c, "bc");
	DID(DELTA("s", 2, "YQ==", false, "null") "bulk 1; "
	    DELTA("s", 3, "YmM=", false, "null") "bulk 2; ");
	httpjobs_unhold(&rpc);
	DID("");
	conn_room = true;
	behind = LIMIT_OUT_CHILDREN;
	httpjobs_unhold(&rpc);
	DID("");
	behind--;
	httpjobs_unhold(&rpc);
	DID("took 3 of s; ");
	httpjobs_unhold(&rpc);
	DID("");
	done(c, NULL, false);
	DID(DELTA("s", 4, "", true, "null"));
	ck_assert(!httpjobs_is_streaming(&rpc, "s", 1));
	/* It breaks. */
	c = ask_quietly(2, "s", true);
	answer_head(c, 200);
	did[0] = '\0';
	done(c, "reset", false);
	DID(DELTA("s", 1, "", true, "\"reset\""));
}
END_TEST

/* Before the head it is an error, streamed or not. */
START_TEST(test_fails)
{
	done(ask_quietly(1, "u", false), "no route", false);
	DID("1 FAILED: http/request failed: no route; ");
	done(ask_quietly(2, "u", true), "no route", false);
	DID("2 FAILED: http/request failed: no route; ");
	done(ask_quietly(3, "u", true), "has a bad URL", true);
	DID("3 PARAMS: invalid params: http/request has a bad URL; ");
}
END_TEST

START_TEST(test_refused)
{
	has_link = false;
	ck_assert_ptr_null(ask(1, "u", false));
	DID("1 FAILED: http/request failed: out of memory; ");
	has_link = true;
	has_room = false;
	ck_assert_ptr_null(ask(2, "u", false));
	DID("room for 0?; 2 FAILED: http/request failed: "
	    "too many requests are waiting; ");
	has_room = true;
	may_keep = false;
	ck_assert_ptr_null(ask(3, "u", true));
	DID("room for 0?; 3 TOO_MANY: too many wait; ");
	ck_assert(!httpjobs_is_streaming(&rpc, "u", 1));
}
END_TEST

/* One after another, as the client reads. */
START_TEST(test_in_turn)
{
	struct http_call	*a = ask_quietly(1, "a", false),
				*b = ask_quietly(2, "b", false),
				*c = ask_quietly(3, "c", false);

	c->events->on_answer(c, 1);
	b->events->on_answer(b, 2);
	a->events->on_answer(a, 3);
	queued = LIMIT_OUT_CHILDREN;
	done(c, NULL, false);
	done(b, NULL, false);
	DID("");
	behind = LIMIT_OUT_CHILDREN;
	queued--;
	httpjobs_unhold(&rpc);
	DID("");
	behind = 0;
	conn_room = false;
	httpjobs_unhold(&rpc);
	DID("body 0 ; 3 {\"status\":1,\"headers\":[],\"bodyBase64\":\"*\"}; "
	    "body 0 ; 2 {\"status\":2,\"headers\":[],\"bodyBase64\":\"*\"}; ");
	/* An answer ends the connection, and all of them. */
	queued = LIMIT_OUT_CHILDREN;
	done(a, NULL, false);
	done(ask_quietly(4, "d", false), NULL, false);
	ask_quietly(5, "e", true);
	queued = 0;
	on_sent = conn_over;
	httpjobs_unhold(&rpc);
	DID("body 0 ; 1 {\"status\":3,\"headers\":[],\"bodyBase64\":\"*\"}; "
	    "stopped; ");
	ck_assert(!httpjobs_is_streaming(&rpc, "e", 1));
}
END_TEST

/* The client goes, in a delta: what comes then is not for it. */
START_TEST(test_ends)
{
	struct http_call	*c = ask_quietly(1, "s", true);

	answer_head(c, 200);
	did[0] = '\0';
	on_sent = conn_over;
	piece(c, "x");
	DID(DELTA("s", 1, "eA==", false, "null") "stopped; ");
	httpjobs_unhold(&rpc);
	DID("");
}
END_TEST

static void
much(struct http_call *c, size_t n)
{
	static char	 data[1 << 20];

	is_quiet = true;
	for (took = 0; n > 0 && did[0] == '\0'; n -= n < sizeof(data) ? n :
	    sizeof(data))
		c->events->on_piece(c, data, n < sizeof(data) ? n :
		    sizeof(data));
	is_quiet = false;
}

#define TOO_LONG							\
	"the body is longer than a message may be: ask for it with "	\
	"streamResponse; "

/* To the byte.  What was held is not sent. */
START_TEST(test_longest)
{
	struct http_call	*c = ask_quietly(1, "u", false);

	c->events->on_answer(c, 200);
	much(c, LIMIT_HTTP_BODY);
	DID("");
	ck_assert_uint_eq(took, LIMIT_HTTP_BODY);
	piece(c, "x");
	DID("fail " TOO_LONG "1 FAILED: http/request failed: " TOO_LONG);
	calls[0] = NULL;
	c->events->on_free(c);
	DID("");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("httpjobs");
	TCase	*t = tcase_create("httpjobs");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_whole);
	tcase_add_test(t, test_stream);
	tcase_add_test(t, test_fails);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_in_turn);
	tcase_add_test(t, test_ends);
	tcase_add_test(t, test_longest);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
