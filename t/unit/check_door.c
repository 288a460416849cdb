/*
 * master/hub/relay/door.c: one HTTP request of each connection, however it
 * comes in pieces, and its answer, byte by byte.  Connections are ours.
 */
#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "master/hub/relay/door.h"
#include "master/hub/relay/proxyv2.h"
#include "t/unit/did_help.h"
#include "t/unit/timer_help.h"

struct hubconn {
	const struct hubconn_events	*events;
	void				*arg;
	int				 fd;
};

static struct hubconn_loop	 loop;
static struct doors		 doors;
static struct hubconn		*last;		/* that was made */
static struct door		*asked;		/* its request came */
static bool			 has_room;
static const char		*came;		/* NULL: broken */
static size_t			 came_len;

/* --- in the place of others --- */

struct hubconn *
hubconn_new(struct hubconn_loop *l, int fd, SSL_CTX *tls)
{
	struct hubconn	*c;

	ck_assert(l == &loop && tls == NULL);
	errno = ENFILE;
	if (!has_room)
		return NULL;
	ck_assert_ptr_nonnull(c = calloc(1, sizeof(*c)));
	c->fd = fd;
	return last = c;
}

void
hubconn_free(struct hubconn **cp)
{
	if (*cp != NULL)
		did("close %d", (*cp)->fd);
	if (*cp == last)
		last = NULL;
	free(*cp);
	*cp = NULL;
}

void
hubconn_finish(struct hubconn **cp)
{
	did("finish %d", (*cp)->fd);
	if (*cp == last)
		last = NULL;
	free(*cp);
	*cp = NULL;
}

void
hubconn_own(struct hubconn *c, const struct hubconn_events *e, void *arg)
{
	c->events = e;
	c->arg = arg;
}

ssize_t
hubconn_read(struct hubconn *c, void *out, size_t size)
{
	size_t	 n = came_len < size ? came_len : size;

	(void)c;
	if (came == NULL)
		return -1;
	memcpy(out, came, n);
	came += n;
	came_len -= n;
	return (ssize_t)n;
}

int
hubconn_write(struct hubconn *c, const struct iovec *iov, int n)
{
	char	 text[2000] = "";
	int	 i;

	(void)c;
	for (i = 0; i < n; i++)
		strncat(text, iov[i].iov_base, iov[i].iov_len);
	did("%s", text);
	return 0;
}

static void
on_request(void *arg, struct door *d)
{
	ck_assert_ptr_eq(arg, &doors);
	asked = d;
	did("%.*s %.*s %.*s", (int)d->request.method.len,
	    d->request.method.at, (int)d->request.target.len,
	    d->request.target.at, d->body.len < 9 ? (int)d->body.len : 0,
	    d->body.at);
}

static const struct door_events	 events = { .on_request = on_request };

/* --- connections --- */

static void
setup(void)
{
	memset(&loop, 0, sizeof(loop));
	ck_assert_ptr_nonnull(loop.base = event_base_new());
	doors_init(&doors, &loop, &events, &doors);
	doors.max = 3;
	has_room = true;
	last = NULL;
	asked = NULL;
	did_forget();
}

static void
teardown(void)
{
	doors_fini(&doors);
	event_base_free(loop.base);
}

static void
begin(int fd)
{
	ck_assert_int_eq(door_open(&doors, fd, NULL, false, false, "::1"), 0);
	asked = NULL;
}

static void
send_len(const char *text, size_t len)
{
	came = text;
	came_len = len;
	do
		last->events->on_readable(last->arg);
	while (last != NULL && asked == NULL && came_len > 0);
}

static void
send_it(const char *text)
{
	send_len(text, strlen(text));
}

#define HOST	"Host: h\r\n"
#define GET	"GET /a HTTP/1.1\r\n" HOST "\r\n"
#define POST(n)	"POST /a HTTP/1.1\r\n" HOST "Content-Length: " #n "\r\n"
#define ANSWER(status, lines, type, n)					\
	"HTTP/1.1 " status "\r\nContent-Type: " type "\r\n"		\
	"Content-Length: " n "\r\nCache-Control: no-store\r\n"		\
	lines "Connection: close\r\n\r\n"
#define BAD	"{\"error\":{\"code\":\"invalid_request\",\"message\":"	\
		"\"the request is malformed\"}}"

START_TEST(test_get)
{
	begin(5);
	ck_assert_uint_eq(doors.n, 1);
	send_it(GET);
	ck_did("GET /a ");
	ck_assert_str_eq(asked->address, "::1");
	ck_assert(!asked->is_metrics);
	door_answer(&asked, 200, "A: b\r\n", "text/plain", "ok\n", 3);
	ck_did(ANSWER("200 OK", "A: b\r\n", "text/plain", "3")
	    "ok\n; finish 5");
	ck_assert_ptr_null(asked);
	ck_assert_uint_eq(doors.n, 0);
	begin(6);
	send_it("HEAD /a HTTP/1.1\r\n" HOST "\r\n");
	did_forget();
	door_answer(&asked, 299, NULL, NULL, "ok\n", 3);
	ck_did(ANSWER("299 Error", "", "application/json", "3") "; finish 6");
	ck_assert_uint_eq(doors.counts.accepted, 2);
	ck_assert_uint_eq(doors.counts.requests, 2);
}
END_TEST

static const struct {
	int		 status;
	const char	*text;
} reasons[] = {
	{ 400, "400 Bad Request" }, { 401, "401 Unauthorized" },
	{ 403, "403 Forbidden" }, { 404, "404 Not Found" },
	{ 405, "405 Method Not Allowed" }, { 408, "408 Request Timeout" },
	{ 409, "409 Conflict" }, { 411, "411 Length Required" },
	{ 413, "413 Content Too Large" }, { 429, "429 Too Many Requests" },
	{ 431, "431 Request Header Fields Too Large" },
	{ 503, "503 Service Unavailable" },
	{ 505, "505 HTTP Version Not Supported" },
};

START_TEST(test_errors)
{
	char	 want[500];
	size_t	 i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		begin(5);
		send_it(GET);
		did_forget();
		door_error(&asked, reasons[i].status, "B: c\r\n", "x", "y\"");
		snprintf(want, sizeof(want), ANSWER("%s", "B: c\r\n",
		    "application/json", "%d") "%s; finish 5", reasons[i].text,
		    38, "{\"error\":{\"code\":\"x\",\"message\":\"y\\\"\"}}");
		ck_did(want);
	}
}
END_TEST

/* In pieces of any length; the body moves the head. */
START_TEST(test_pieces)
{
	static char	 text[LIMIT_HUB_BODY + 200];
	size_t		 n, i, step = (size_t)_i;

	n = (size_t)snprintf(text, sizeof(text), POST(10000) "\r\n");
	memset(text + n, 'x', 10000);
	n += 10000;
	begin(5);
	for (i = 0; i < n; i += step)
		send_len(text + i, n - i < step ? n - i : step);
	ck_assert_ptr_nonnull(asked);
	ck_assert(span_is(asked->request.target, "/a"));
	ck_assert_uint_eq(asked->body.len, 10000);
	ck_assert_mem_eq(asked->body.at, text + n - 10000, 10000);
	did_forget();
	/* What it says behind that is nobody's business, but it may leave. */
	send_it("more");
	ck_did("");
	came = NULL;
	last->events->on_readable(last->arg);
	ck_did("close 5");
	ck_assert_uint_eq(doors.n, 0);
}
END_TEST

/* Why a request is none. */
START_TEST(test_malformed)
{
	char	 text[300];

	begin(5);
	send_it("GET / HTTP/1.1\r\n\n");
	ck_did(ANSWER("400 Bad Request", "", "application/json", "73") BAD
	    "; finish 5");
	begin(5);
	send_it("POST / HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\n");
	ck_did(ANSWER("411 Length Required", "", "application/json", "73") BAD
	    "; finish 5");
	ck_assert_uint_eq(doors.counts.malformed, 2);
	snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" HOST
	    "Content-Length: %d\r\n\r\n", LIMIT_HUB_BODY + 1);
	begin(5);
	send_it(text);
	ck_did(ANSWER("413 Content Too Large", "", "application/json", "73")
	    BAD "; finish 5");
	snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" HOST
	    "Content-Length: %d\r\n\r\n", LIMIT_HUB_BODY);
	begin(5);
	send_it(text);
	ck_did("");
	ck_assert_uint_eq(doors.counts.malformed, 3);
	ck_assert_uint_eq(doors.n, 1);
	came = NULL;
	last->events->on_readable(last->arg);
	ck_did("close 5");
	begin(5);
	last->events->on_drained(last->arg);
	ck_did("");
	last->events->on_broken(last->arg);
	ck_did("close 5");
}
END_TEST

START_TEST(test_continue)
{
	begin(5);
	send_it(POST(1) "Expect: 100-continue\r\n\r\n");
	ck_did("HTTP/1.1 100 Continue\r\n\r\n");
	send_it("x");
	ck_did("POST /a x");
	door_free(&asked);
	ck_did("close 5");
	begin(5);
	send_it(POST(0) "Expect: 100-continue\r\n\r\n");
	ck_did("POST /a ");
}
END_TEST

/* A load balancer says whose connection it is. */
START_TEST(test_proxy)
{
	uint8_t	 head[PROXYV2_WRITTEN];
	char	 all[PROXYV2_WRITTEN + 100];
	size_t	 n = proxyv2_write("192.0.2.7", head), i;

	memcpy(all, head, n);
	memcpy(all + n, GET, strlen(GET));
	ck_assert_int_eq(door_open(&doors, 5, NULL, true, true, "::1"), 0);
	for (i = 0; i < n; i++)
		send_len(all + i, 1);
	ck_did("");
	send_it(GET);
	ck_did("GET /a ");
	ck_assert_str_eq(asked->address, "192.0.2.7");
	ck_assert(asked->is_metrics);
	ck_assert_int_eq(door_open(&doors, 6, NULL, true, false, "::1"), 0);
	asked = NULL;
	send_len(all, n + strlen(GET));
	ck_did("GET /a ");
	ck_assert_str_eq(asked->address, "192.0.2.7");
	/* From the balancer itself. */
	n = proxyv2_write("", head);
	ck_assert_int_eq(door_open(&doors, 7, NULL, true, false, "::1"), 0);
	asked = NULL;
	send_len((const char *)head, n);
	send_it(GET);
	ck_assert_str_eq(asked->address, "::1");
	did_forget();
	ck_assert_uint_eq(doors.counts.malformed, 0);
	doors.max = 4;
	ck_assert_int_eq(door_open(&doors, 8, NULL, true, false, "::1"), 0);
	asked = NULL;
	send_it(GET);
	ck_did("close 8");
	ck_assert_uint_eq(doors.counts.malformed, 1);
}
END_TEST

/* The oldest one makes room; none is kept longer than its limit. */
START_TEST(test_many)
{
	uint64_t	 before;
	struct door	*d;

	begin(1);
	begin(2);
	begin(3);
	ck_did("");
	begin(4);
	ck_did("close 1");
	ck_assert_uint_eq(doors.counts.crowded, 1);
	ck_assert_uint_eq(doors.n, 3);
	doors.max = 0;
	begin(5);
	begin(6);
	ck_did("close 2; close 3");
	doors.max = 9;
	d = TAILQ_FIRST(&doors.open);
	d->since = clock_ms() - LIMIT_HUB_HEAD;
	before = timer_help_now();
	timer_help_fire(loop.base);
	ck_did("close 4");
	ck_assert_uint_eq(doors.counts.timeouts, 1);
	ck_assert(timer_help_is_due(loop.base, before, 500, 500));
	doors_fini(&doors);
	ck_did("close 5; close 6");
	ck_assert(!timer_help_is_set(loop.base));
}
END_TEST

/* Nothing is left of one that could not be made. */
START_TEST(test_no_room)
{
	size_t	 before, i;

	has_room = false;
	ck_assert_int_eq(door_open(&doors, 5, NULL, false, false, "::1"), -1);
	before = mallinfo2().uordblks;
	for (i = 0; i < 10; i++) {
		ck_assert_int_eq(door_open(&doors, 5, NULL, false, false,
		    "::1"), -1);
		ck_assert_int_eq(errno, ENFILE);
	}
	ck_assert_uint_lt(mallinfo2().uordblks - before,
	    i * sizeof(struct door));
	ck_assert_uint_eq(doors.n + doors.counts.accepted, 0);
	ck_did("");
}
END_TEST

/* --- what is answered later, or taken --- */

static void
on_cancel(void *arg)
{
	ck_assert_ptr_eq(arg, &loop);
	did("cancel");
}

START_TEST(test_later)
{
	begin(5);
	send_it(GET);
	door_wait(asked, on_cancel, &loop);
	door_answer(&asked, 200, NULL, NULL, "", 0);
	ck_did("GET /a ; " ANSWER("200 OK", "", "application/json", "0")
	    "; finish 5");
	begin(6);
	send_it(GET);
	door_wait(asked, on_cancel, &loop);
	last->events->on_broken(last->arg);
	ck_did("GET /a ; cancel; close 6");
}
END_TEST

START_TEST(test_upgrade)
{
	struct hubconn	*c;
	struct span	 rest;

	begin(5);
	send_it("GET /a HTTP/1.1\r\n" HOST "Connection: Upgrade\r\n"
	    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\nmore");
	ck_did("GET /a ");
	door_wait(asked, on_cancel, &loop);
	if (_i == 0) {
		c = door_upgrade(asked, &rest);
		ck_assert(span_is(rest, "more"));
		ck_did("HTTP/1.1 101 Switching Protocols\r\n"
		    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
		    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
		    "\r\n\r\n");
	} else {
		c = door_take(asked);
	}
	door_free(&asked);
	ck_did("");
	ck_assert_int_eq(c->fd, 5);
	hubconn_free(&c);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("door");
	TCase	*t = tcase_create("door");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_get);
	tcase_add_test(t, test_errors);
	tcase_add_test(t, test_malformed);
	tcase_add_test(t, test_continue);
	tcase_add_test(t, test_proxy);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_later);
	tcase_add_loop_test(t, test_pieces, 1, 3);
	tcase_add_loop_test(t, test_pieces, 5000, 5001);
	tcase_add_loop_test(t, test_upgrade, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
