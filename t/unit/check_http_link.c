/*
 * worker/http/http_link.c: calls wait, are sent to execsrv-http, answered and
 * ended; what that may send when, and how much.  The process is ours.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "t/unit/fault.h"
#include "t/unit/helper_stand_in.h"
#include "t/unit/timer_help.h"
#include "worker/http/http_link.h"

#define EXE	98

static struct event_base	*base;
static struct http_link		*l;
static struct http_call		*one;
static bool			 stops;		/* on_done does */

/* --- calls --- */

struct call {
	struct http_call	 call;
	char			 name;
};

static char
name_of(const struct http_call *c)
{
	return ((const struct call *)(const void *)c)->name;
}

static void
on_field(struct http_call *c, const char *name, const char *value)
{
	did("%c: %.9s=%.9s", name_of(c), name, value);
}

static void
on_answer(struct http_call *c, unsigned status)
{
	did("%c: %u", name_of(c), status);
}

static void
on_piece(struct http_call *c, const void *data, size_t len)
{
	did("%c: %.*s (%zu)", name_of(c), len < 9 ? (int)len : 9,
	    (const char *)data, len);
}

static void
on_done(struct http_call *c, const char *error, bool refused)
{
	if (name_of(c) != 'x')
		did("%c done%s%s%s", name_of(c), error != NULL ? ": " : "",
		    error != NULL ? error : "", refused ? " (refused)" : "");
	if (stops)
		http_link_stop(l);
}

static void
on_free(struct http_call *c)
{
	if (name_of(c) != 'x')		/* those are many */
		did("%c freed", name_of(c));
	ck_assert_ptr_null(c->body);
	free(c);
}

static const struct http_events	 events = {
	on_field, on_answer, on_piece, on_done, on_free
};
static const struct http_header	 headers[] = {
	{ (char *)(uintptr_t)"n", (char *)(uintptr_t)"v", false },
	{ (char *)(uintptr_t)"k", (char *)(uintptr_t)"s", true },
};

static struct http_call *
make(char name, size_t body_len)
{
	struct call	*c = calloc(1, sizeof(*c));

	ck_assert_ptr_nonnull(c);
	c->name = name;
	c->call.events = &events;
	c->call.method = "GET";
	c->call.url = "u";
	c->call.cost = 10;
	c->call.body_len = body_len;
	if (body_len > 0) {
		ck_assert_ptr_nonnull(c->call.body = malloc(body_len));
		memset(c->call.body, 'b', body_len);
	}
	return &c->call;
}

static struct http_call *
start(char name, size_t body_len)
{
	one = make(name, body_len);
	http_call_start(l, one);
	return one;
}

/* --- what comes --- */

static int
ask(uint64_t id, uint32_t bytes)
{
	Ipc__HttpAsk	 m = IPC__HTTP_ASK__INIT;

	m.id = id;
	m.bytes = bytes;
	return helper_comes(IPC_http_ask, &m);
}

static int
field(uint64_t id, const char *name, const char *value)
{
	Ipc__HttpField	 m = IPC__HTTP_FIELD__INIT;

	m.id = id;
	m.name = (char *)(uintptr_t)name;
	m.value = (char *)(uintptr_t)value;
	return helper_comes(IPC_http_field, &m);
}

static int
answer(uint64_t id, uint32_t status)
{
	Ipc__HttpAnswer	 m = IPC__HTTP_ANSWER__INIT;

	m.id = id;
	m.status = status;
	return helper_comes(IPC_http_answer, &m);
}

static int
piece(uint64_t id, const void *data, size_t len)
{
	Ipc__HttpPiece	 m = IPC__HTTP_PIECE__INIT;

	m.id = id;
	m.data.data = (uint8_t *)(uintptr_t)data;
	m.data.len = len;
	return helper_comes(IPC_http_piece, &m);
}

static int
done(uint64_t id, const char *error, bool refused)
{
	Ipc__HttpDone	 m = IPC__HTTP_DONE__INIT;

	m.id = id;
	m.error = (char *)(uintptr_t)error;
	m.refused = refused;
	return helper_comes(IPC_http_done, &m);
}

static void
setup(void)
{
	stops = false;
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(l = http_link_new(base, EXE, NULL, 5));
	ck_did("init execsrv-http 98 5");
	ck_assert_uint_eq(helper.program->role, IPC_ROLE_HTTP);
	ck_assert_uint_eq(helper.program->idle_ms, LIMIT_HTTP_IDLE);
	ck_assert_uint_eq(helper.program->queue_max, 2 *
	    (size_t)LIMIT_HTTP_ACTIVE * (LIMIT_HTTP_WINDOW + LIMIT_HTTP_HEAD +
	    LIMIT_HTTP_LINE));
	ck_assert_ptr_eq(http_link_helper(l), helper.it);
}

static void
teardown(void)
{
	http_link_free(&l);
	ck_assert_ptr_null(l);
	http_link_free(&l);
	did_forget();
	event_base_free(base);
}

/* --- the tests --- */

START_TEST(test_call)
{
	one = make('a', 3);
	one->headers = headers;
	one->nheaders = 2;
	one->follow = true;
	http_call_start(l, one);
	ck_did("need; http_request id=1 method='GET' url='u' follow headers=2 "
	    "body=3; http_header id=1 name='n' value='v'; "
	    "http_header id=1 name='k' value='s' secret; "
	    "http_upload id=1 data='bbb'");
	ck_assert_ptr_null(one->body);
	ck_assert_int_eq(field(1, "x", "y"), 0);
	ck_assert_int_eq(answer(1, 200), 0);
	ck_assert_int_eq(piece(1, "hello", 5), 0);
	ck_did("a: x=y; a: 200; a: hello (5)");
	ck_assert_int_eq(done(1, "", false), 0);
	ck_did("idle; a done; a freed");
	/* Of one that has ended; of one that was not there yet. */
	ck_assert_int_eq(piece(1, "hello", 5), 0);
	ck_did("");
	ck_assert_int_eq(piece(2, "hello", 5), -1);
	ck_assert_int_eq(piece(0, "hello", 5), -1);
	start('b', 0);
	ck_did("need; http_request id=2 method='GET' url='u'");
}
END_TEST

/* What comes in which state. */
START_TEST(test_states)
{
	start('a', LIMIT_HTTP_WINDOW + 1);
	did_forget();
	ck_assert_int_eq(field(1, "x", "y"), -1);
	ck_assert_int_eq(answer(1, 200), -1);
	ck_assert_int_eq(piece(1, "x", 1), -1);
	ck_assert_int_eq(done(1, "", false), -1);
	ck_did("");
	ck_assert_int_eq(ask(1, 1), 0);
	ck_did("http_upload id=1 data='b'");
	/* All of it has gone: an answer is due. */
	ck_assert_int_eq(ask(1, 1), 0);
	ck_assert_int_eq(piece(1, "x", 1), -1);
	ck_assert_int_eq(done(1, "", false), -1);
	ck_assert_int_eq(answer(1, 99), -1);
	ck_assert_int_eq(answer(1, 1000), -1);
	ck_did("");
	ck_assert_int_eq(answer(1, _i == 0 ? 100 : 999), 0);
	ck_did(_i == 0 ? "a: 100" : "a: 999");
	ck_assert_int_eq(answer(1, 200), -1);
	ck_assert_int_eq(field(1, "x", "y"), -1);
	ck_assert_int_eq(ask(1, 1), -1);
	ck_assert_int_eq(done(1, "why", true), -1);
	ck_assert_int_eq(done(1, "", true), -1);
	ck_did("");
	ck_assert_int_eq(done(1, "why", false), 0);
	ck_did("idle; a done: why; a freed");
}
END_TEST

START_TEST(test_refused)
{
	start('a', _i == 0 ? LIMIT_HTTP_WINDOW + 1 : 0);
	did_forget();
	ck_assert_int_eq(done(1, "", true), -1);
	ck_assert_int_eq(done(1, "bad", _i != 2), 0);
	ck_did(_i == 2 ? "idle; a done: bad; a freed" :
	    "idle; a done: bad (refused); a freed");
}
END_TEST

/* --- how much --- */

START_TEST(test_upload)
{
	ck_assert_int_eq(LIMIT_HTTP_WINDOW, 2 * LIMIT_HTTP_PIECE);
	start('a', 5 * LIMIT_HTTP_PIECE);
	ck_did("need; http_request id=1 method='GET' url='u' body=327680; "
	    "http_upload id=1 data:65536; http_upload id=1 data:65536");
	ck_assert_ptr_nonnull(one->body);
	ck_assert_int_eq(ask(1, LIMIT_HTTP_WINDOW + 1), -1);
	ck_assert_int_eq(ask(1, 100), 0);
	ck_did("http_upload id=1 data:100");
	ck_assert_int_eq(ask(1, LIMIT_HTTP_WINDOW), 0);
	ck_did("http_upload id=1 data:65536; http_upload id=1 data:65536");
	ck_assert_ptr_nonnull(one->body);
	ck_assert_int_eq(ask(1, LIMIT_HTTP_WINDOW), 0);
	ck_did("http_upload id=1 data:65436");
	ck_assert_ptr_null(one->body);
	ck_assert_int_eq(ask(1, 65436), 0);
	ck_assert_int_eq(ask(1, 1), -1);
	ck_did("");
}
END_TEST

START_TEST(test_download)
{
	static char	 data[LIMIT_HTTP_PIECE + 1];

	memset(data, 'x', sizeof(data));
	start('a', 0);
	answer(1, 200);
	did_forget();
	ck_assert_int_eq(piece(1, data, 0), -1);
	ck_assert_int_eq(piece(1, data, LIMIT_HTTP_PIECE + 1), -1);
	ck_assert_int_eq(piece(1, data, LIMIT_HTTP_PIECE), 0);
	ck_assert_int_eq(piece(1, data, LIMIT_HTTP_PIECE - 1), 0);
	ck_did("a: xxxxxxxxx (65536); a: xxxxxxxxx (65535)");
	ck_assert_int_eq(piece(1, data, 2), -1);
	http_call_took(one, LIMIT_HTTP_WINDOW / 2 - 1);
	ck_did("");
	http_call_took(one, 1);
	ck_did("http_room id=1 bytes=65536");
	ck_assert_int_eq(piece(1, data, LIMIT_HTTP_PIECE), 0);
	ck_assert_int_eq(piece(1, data, 2), -1);
	ck_assert_int_eq(piece(1, data, 1), 0);
	did_forget();
	http_call_took(one, LIMIT_HTTP_WINDOW / 2 + 1);
	ck_did("http_room id=1 bytes=65537");
}
END_TEST

START_TEST(test_head)
{
	static char	 value[LIMIT_HTTP_HEAD];

	memset(value, 'v', LIMIT_HTTP_HEAD - 2 - 4 - 6);
	start('a', 0);
	did_forget();
	ck_assert_int_eq(field(1, "nn", value), 0);
	ck_assert_int_eq(field(1, "n", "v"), 0);
	ck_did("a: nn=vvvvvvvvv; a: n=v");
	ck_assert_int_eq(field(1, "", ""), -1);
	ck_did("");
}
END_TEST

/* What waits is counted, with its body until that has gone. */
START_TEST(test_parked)
{
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
	ck_assert(!http_link_has_room(l, LIMIT_HTTP_PARKED + (size_t)1));
	start('a', LIMIT_HTTP_WINDOW + 1);
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED - 11 -
	    LIMIT_HTTP_WINDOW));
	ck_assert(!http_link_has_room(l, LIMIT_HTTP_PARKED - 10 -
	    LIMIT_HTTP_WINDOW));
	ask(1, 1);
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED - 10));
	ck_assert(!http_link_has_room(l, LIMIT_HTTP_PARKED - 9));
	answer(1, 200);
	done(1, "", false);
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
	start('a', LIMIT_HTTP_WINDOW + 1);
	http_call_fail(one, "why");
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
}
END_TEST

/* So many at a time, in order. */
START_TEST(test_waiting)
{
	struct http_call	*b, *c;
	unsigned		 i;

	for (i = 0; i < LIMIT_HTTP_ACTIVE; i++) {
		start('a', 0);
		did_forget();
	}
	b = start('b', 0);
	c = start('c', 0);
	start('d', 0);
	ck_did("");
	http_call_fail(c, "why");
	ck_did("c done: why; c freed");
	done(7, "x", false);
	ck_did("a done: x; a freed; need; "
	    "http_request id=257 method='GET' url='u'");
	ck_assert_uint_eq(b->id, LIMIT_HTTP_ACTIVE + 1);
	http_call_fail(b, "why");
	ck_did("http_cancel id=257; b done: why; b freed; need; "
	    "http_request id=258 method='GET' url='u'");
}
END_TEST

/* --- ends --- */

START_TEST(test_timeout)
{
	uint64_t	 before = timer_help_now();

	start('a', 0);
	ck_assert(!timer_help_is_set(base));
	one = make('b', 0);
	one->has_timeout = true;
	one->timeout_ms = 5000;
	http_call_start(l, one);
	ck_assert(timer_help_is_due(base, before, 5000, 5000));
	did_forget();
	timer_help_fire(base);
	ck_did("http_cancel id=2; b done: timed out; b freed");
	one = make('c', 0);
	one->has_timeout = true;
	one->timeout_ms = 5000;
	http_call_start(l, one);
	done(3, "x", false);
	ck_assert(!timer_help_is_set(base));
}
END_TEST

/* It is started again for those that wait. */
START_TEST(test_death)
{
	unsigned	 i;

	start('a', LIMIT_HTTP_WINDOW + 1);
	start('b', 0);
	did_forget();
	helper_dies();
	ck_did("a done: it died; a freed; idle; b done: it died; b freed");
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
	for (i = 0; i < LIMIT_HTTP_ACTIVE; i++)
		start('x', 0);
	start('w', 0);
	did_forget();
	helper_dies();
	ck_did("idle; need; http_request id=259 method='GET' url='u'");
}
END_TEST

START_TEST(test_not_started)
{
	helper.need_error = ENOENT;
	start('a', 3);
	ck_did("need; log_warnx: execsrv-http cannot be started: No such file "
	    "or directory; a done: execsrv-http cannot be started: No such "
	    "file or directory; a freed");
	helper.it->exe = -1;
	start('b', 0);
	ck_did("need; log_warnx: execsrv-http is not installed beside the "
	    "worker: No such file or directory; b done: execsrv-http is not "
	    "installed beside the worker: No such file or directory; b freed");
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
}
END_TEST

/* Nobody is told but that it is freed. */
START_TEST(test_stop)
{
	unsigned	 i;

	for (i = 0; i < LIMIT_HTTP_ACTIVE; i++)
		start('a', 0);
	start('b', 1);
	for (i = 1; i < LIMIT_HTTP_ACTIVE; i++)
		done(i, "x", false);
	/* Before on_free of the one that has ended. */
	stops = true;
	did_forget();
	done(LIMIT_HTTP_ACTIVE, "x", false);
	ck_did("a done: x; stop; idle; b freed; a freed");
	ck_assert(http_link_has_room(l, LIMIT_HTTP_PARKED));
}
END_TEST

START_TEST(test_new)
{
	fault_call("calloc", 1);
	ck_assert_ptr_null(http_link_new(base, EXE, NULL, 5));
	ck_did("");
	ck_assert_int_eq(http_link_program(), -1);
	ck_did("program execsrv-http");
}
END_TEST

/* What of our environment it gets. */
START_TEST(test_kept)
{
	static const char	 kept[] = "ALL_PROXY ASAN_OPTIONS "
	    "CODEX_CA_CERTIFICATE GCOV_PREFIX GCOV_PREFIX_STRIP HTTPS_PROXY "
	    "HTTP_PROXY LD_LIBRARY_PATH LOCALDOMAIN LSAN_OPTIONS NO_PROXY "
	    "REQUEST_METHOD RES_OPTIONS SSL_CERT_DIR SSL_CERT_FILE "
	    "UBSAN_OPTIONS all_proxy http_proxy https_proxy no_proxy";

	helper_ck_kept(kept);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http_link");
	TCase	*t = tcase_create("http_link");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_call);
	tcase_add_loop_test(t, test_states, 0, 2);
	tcase_add_loop_test(t, test_refused, 0, 3);
	tcase_add_test(t, test_upload);
	tcase_add_test(t, test_download);
	tcase_add_test(t, test_head);
	tcase_add_test(t, test_parked);
	tcase_add_test(t, test_waiting);
	tcase_add_test(t, test_timeout);
	tcase_add_test(t, test_death);
	tcase_add_test(t, test_not_started);
	tcase_add_test(t, test_stop);
	tcase_add_test(t, test_new);
	tcase_add_test(t, test_kept);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
