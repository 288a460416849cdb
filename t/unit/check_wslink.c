/*
 * master/hub/relay/wslink.c: pings, silence, and how a websocket ends.  Its
 * connection, timers and time are ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "master/hub/relay/wslink.h"
#include "t/unit/did_help.h"

#define INTERVAL	10000

static struct hubconn	*const conn = (struct hubconn *)8;
static struct wslinks	 all;
static struct wslink	 l;
static uint64_t		 now;
static struct timer	*timer;
static uint64_t		 wait;
static uint8_t		 in[LIMIT_RELAY_MESSAGE + 100];
static size_t		 n_in, at_in;
static bool		 is_broken;
static const struct hubconn_events *conn_events;

/* --- in the place of time and the connection --- */

uint64_t
clock_ms(void)
{
	return now;
}

void
timer_init(struct timer *t, struct event_base *base, ev_fn *fn, void *arg)
{
	(void)base;
	t->fn = fn;
	t->arg = arg;
}

void
timer_set(struct timer *t, uint64_t ms)
{
	timer = t;
	wait = ms;
}

void
timer_stop(struct timer *t)
{
	ck_assert_ptr_eq(t, timer);
	timer = NULL;
}

void
hubconn_own(struct hubconn *c, const struct hubconn_events *e, void *arg)
{
	ck_assert(c == conn && arg == &l);
	conn_events = e;
}

void
hubconn_look(struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	did("look");
}

int
hubconn_write(struct hubconn *c, const struct iovec *iov, int n)
{
	const uint8_t	*head = iov[0].iov_base, *data = iov[1].iov_base;

	ck_assert(c == conn && n == 2 && iov[0].iov_len == 2);
	ck_assert_uint_eq(head[1], iov[1].iov_len);
	if (head[0] == 0x88)
		did("close %u %.*s",
		    data[0] << 8 | data[1], (int)iov[1].iov_len - 2,
		    (const char *)data + 2);
	else
		did("%x:%.*s", head[0],
		    (int)iov[1].iov_len, (const char *)data);
	return 0;
}

ssize_t
hubconn_read(struct hubconn *c, void *out, size_t size)
{
	size_t	 n = n_in - at_in < size ? n_in - at_in : size;

	ck_assert_ptr_eq(c, conn);
	if (is_broken)
		return -1;
	memcpy(out, in + at_in, n);
	at_in += n;
	return (ssize_t)n;
}

void
hubconn_free(struct hubconn **cp)
{
	*cp = NULL;
	did("freed");
}

void
hubconn_finish(struct hubconn **cp)
{
	*cp = NULL;
	did("finished");
}

size_t
hubconn_queued(const struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	return 5;
}

void
hubconn_hold(struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	did("hold");
}

size_t
hubconn_release(struct hubconn *c, size_t n)
{
	ck_assert_ptr_eq(c, conn);
	return n / 2;
}

void
hubconn_unhold(struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	did("unhold");
}

void
hubconn_pause(struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	did("pause");
}

void
hubconn_resume(struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	did("resume");
}

bool
hubconn_is_paused(const struct hubconn *c)
{
	ck_assert_ptr_eq(c, conn);
	return true;
}

/* --- its owner --- */

static void
on_message(void *arg, const uint8_t *data, size_t len)
{
	ck_assert_ptr_eq(arg, &now);
	if (len > 20)
		did("message of %zu", len);
	else
		did("message %.*s", (int)len, (const char *)data);
}

static void
on_text(void *arg, const uint8_t *data, size_t len)
{
	ck_assert_ptr_eq(arg, &now);
	did("text %.*s", (int)len, (const char *)data);
}

static void
on_drained(void *arg)
{
	ck_assert_ptr_eq(arg, &now);
	did("drained");
}

static void
on_end(void *arg, const char *why)
{
	ck_assert_ptr_eq(arg, &now);
	did("end:");
	did("%s", why);
	wslink_fini(&l, 0, "x");
}

static const struct wslink_events	 events = {
	on_message, on_text, on_drained, on_end
};

static void
begin(const char *rest, size_t len)
{
	struct hubconn	*c = conn;

	ck_assert_int_eq(wslink_init(&l, &all, &c, (struct span){ rest, len },
	    &events, &now), 0);
	ck_assert_ptr_null(c);
}

static void
setup(void)
{
	now = 50000;
	n_in = at_in = 0;
	is_broken = false;
	did_forget();
	memset(&l, 0, sizeof(l));
	wslinks_init(&all, NULL, INTERVAL);
	ck_assert_uint_eq(wait, 500);
}

static void
teardown(void)
{
	wslink_fini(&l, 0, "");
	wslinks_fini(&all);
}

/* A frame of a client; the mask is zero. */
static void
frame(enum ws_opcode opcode, const void *data, size_t len)
{
	static const uint8_t	 mask[4] = { 0 };
	uint8_t			 head[WS_HEADER_MAX];
	size_t			 n = ws_header(head, true, opcode, len, mask);

	ck_assert_uint_lt(n_in + n + len, sizeof(in));
	memcpy(in + n_in, head, n);
	memcpy(in + n_in + n, data, len);
	n_in += n + len;
}

static void
readable(void)
{
	conn_events->on_readable(&l);
}

static void
turn(uint64_t at)
{
	now = at;
	timer->fn(timer->arg);
	ck_assert_uint_eq(wait, 500);
}

/* --- tests --- */

START_TEST(test_messages)
{
	begin(NULL, 0);
	frame(WS_BINARY, "a", 1);
	frame(WS_TEXT, "b", 1);
	frame(WS_PING, "c", 1);
	frame(WS_PONG, "", 0);
	readable();
	ck_did("message a; text b; 8a:c");
	ck_assert_uint_eq(wslink_pongs(&l), 1);
	/* Without a part of one there is nothing to keep. */
	ck_assert_ptr_null(l.reader);
	frame(WS_BINARY, "abc", 3);
	n_in -= 2;
	readable();
	ck_assert_ptr_nonnull(l.reader);
	n_in += 2;
	readable();
	ck_did("message abc");
	wslink_send(&l, "d", 1);
	wslink_send_text(&l, "e", 1);
	ck_did("82:d; 81:e");
	ck_assert_uint_eq(wslink_queued(&l), 5);
	conn_events->on_drained(&l);
	ck_did("drained");
	wslink_fini(&l, WSLINK_GOING, "over");
	ck_did("close 1001 over; finished");
	/* It has no connection any more. */
	wslink_send(&l, "d", 1);
	wslink_send_text(&l, "e", 1);
	wslink_fini(&l, WSLINK_GOING, "over");
	ck_assert_uint_eq(wslink_queued(&l), 0);
	ck_did("");
}
END_TEST

/* All of this is for the connection, while there is one. */
START_TEST(test_passed_on)
{
	begin(NULL, 0);
	if (_i == 1) {
		wslink_fini(&l, 0, "");
		ck_did("freed");
	}
	wslink_hold(&l);
	wslink_unhold(&l);
	wslink_pause(&l);
	wslink_resume(&l);
	ck_did(_i == 0 ? "hold; unhold; pause; resume" : "");
	ck_assert_uint_eq(wslink_release(&l, 8), _i == 0 ? 4 : 0);
	ck_assert(wslink_is_paused(&l) == (_i == 0));
}
END_TEST

/* What came behind the head of its request is the first to be read. */
START_TEST(test_rest)
{
	frame(WS_BINARY, "a", 1);
	begin((char *)in, n_in);
	ck_did("look");
	at_in = n_in;
	readable();
	ck_did("message a");
}
END_TEST

/* The longest message of the relay, and one that is longer. */
START_TEST(test_long)
{
	static char	 data[LIMIT_RELAY_MESSAGE + 1];
	char		 text[60];
	size_t		 len = LIMIT_RELAY_MESSAGE + (size_t)_i;

	begin(NULL, 0);
	frame(WS_BINARY, data, len);
	while (at_in < n_in && l.conn != NULL)
		readable();
	snprintf(text, sizeof(text), "message of %zu", len);
	ck_did(_i == 0 ? text :
	    "end:; protocol error; close 1009 x; finished");
	ck_assert_uint_eq(all.violations, (uint64_t)_i);
}
END_TEST

/* The peer's end demands an answer; other errors have their code. */
START_TEST(test_closed)
{
	begin(NULL, 0);
	if (_i == 0) {
		frame(WS_CLOSE, "\3\350", 2);
		frame(WS_BINARY, "late", 4);
	} else {
		frame(WS_BINARY, "a", 1);
		in[1] &= 0x7f;		/* not masked */
	}
	readable();
	ck_did(_i == 0 ? "end:; closed; close 1000 x; finished" :
	    "end:; protocol error; close 1002 x; finished");
	ck_assert_uint_eq(all.violations, (uint64_t)_i);
}
END_TEST

START_TEST(test_broken)
{
	begin(NULL, 0);
	if (_i == 0) {
		is_broken = true;
		readable();
	} else {
		conn_events->on_broken(&l);
	}
	ck_did("end:; connection lost; freed");
}
END_TEST

START_TEST(test_long_reason)
{
	char	 reason[200], want[200];

	begin(NULL, 0);
	memset(reason, 'r', sizeof(reason));
	reason[199] = '\0';
	wslink_fini(&l, WSLINK_POLICY, reason);
	snprintf(want, sizeof(want), "close 1008 %.*s; finished",
	    WS_CONTROL_MAX - 2, reason);
	ck_did(want);
}
END_TEST

/* Who was not heard of for half an interval is asked when it is due. */
START_TEST(test_ping)
{
	begin(NULL, 0);
	turn(50000 + INTERVAL - 1);
	ck_did("");
	turn(50000 + INTERVAL);
	ck_did("89:");
	turn(50000 + 2 * INTERVAL - 1);
	ck_did("");
	now = 50000 + 2 * INTERVAL - INTERVAL / 2 + _i;
	frame(WS_PONG, "", 0);
	readable();
	ck_assert_uint_eq(wslink_heard(&l), now);
	turn(50000 + 2 * INTERVAL);
	ck_did(_i == 0 ? "89:" : "");
}
END_TEST

/* After three of them it is gone; nothing that is read counts for nothing. */
START_TEST(test_silent)
{
	begin(NULL, 0);
	now += 1;
	readable();
	frame(WS_PONG, "", 0);
	if (_i == 1)
		readable();
	turn(50000 + INTERVAL);
	turn(50000 + 2 * INTERVAL);
	ck_did("89:; 89:");
	turn(50000 + 3 * INTERVAL);
	ck_did(_i == 0 ? "end:; silent; freed" : "89:");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("wslink");
	TCase	*t = tcase_create("wslink");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_messages);
	tcase_add_loop_test(t, test_passed_on, 0, 2);
	tcase_add_test(t, test_rest);
	tcase_add_loop_test(t, test_long, 0, 2);
	tcase_add_loop_test(t, test_closed, 0, 2);
	tcase_add_loop_test(t, test_broken, 0, 2);
	tcase_add_test(t, test_long_reason);
	tcase_add_loop_test(t, test_ping, 0, 2);
	tcase_add_loop_test(t, test_silent, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
