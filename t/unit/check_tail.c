/*
 * worker/proc/tail.c: what an operator who watches a process is sent, and when
 * that ends.
 */
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "t/unit/did_help.h"
#include "t/unit/fault.h"
#include "worker/proc/proc.h"
#include "worker/proc/tail.h"

static struct env	 env;
static struct procs	 procs;
static struct window	 window;
static struct proc	 p;
static unsigned		 total;
static int		 pair[2];

static void
setup(void)
{
	memset(&procs, 0, sizeof(procs));
	memset(&p, 0, sizeof(p));
	total = 0;
	ck_assert_ptr_nonnull(env.base = event_base_new());
	procs.env = &env;
	p.procs = &procs;
	p.state = PROC_RUNNING;
	window_init(&window);
	retain_init(&p.retain, &window);
	sinks_init(&p.sinks);
	ck_assert_int_eq(fd_packet_pair(pair), 0);
}

static void
teardown(void)
{
	sinks_fini(&p.sinks);
	ck_assert_uint_eq(total, 0);
	retain_fini(&p.retain);
	window_fini(&window);
	event_base_free(env.base);
	fd_close(&pair[0]);
}

static void
output(uint8_t stream, const char *text)
{
	struct chunk	*c = chunk_new(64);
	struct output	 o = { .stream = stream };

	ck_assert_ptr_nonnull(c);
	c->len = (uint32_t)strlen(text);
	memcpy(c->data, text, c->len);
	retain_add(&p.retain, c, stream);
	sinks_output(&p.sinks, &o);
}

/* What has come after some turns. */
static void
ck_came(const char *want)
{
	const Ipc__TailPiece	*in;
	struct ipc_msg		 m;
	int			 r;

	ck_assert_int_ne(event_base_loop(env.base, EVLOOP_NONBLOCK), -1);
	while ((r = ipc_recv(pair[0], IPC_ROLE_WORKER, IPC_ROLE_OPERATOR,
	    &m)) == 1) {
		in = (const Ipc__TailPiece *)m.body;
		did("%u %d %.*s", (unsigned)in->seq, in->stream,
		    (int)in->data.len, (const char *)in->data.data);
		ipc_msg_fini(&m);
	}
	if (r == 0)
		did("end");
	ck_did(want);
}

START_TEST(test_once)
{
	output(STREAM_STDOUT, "a");
	output(STREAM_STDERR, "b");
	ck_assert_int_eq(tail_add(&p, &total, pair[1], false), 0);
	ck_assert_uint_eq(total, 1);
	output(STREAM_STDOUT, "c");
	ck_came("1 0 a; 2 1 b; end");
	ck_assert_uint_eq(total, 0);
}
END_TEST

/* In several turns, up to what there was when it was closed. */
START_TEST(test_follow)
{
	int	 i;

	ck_assert_int_eq(tail_add(&p, &total, pair[1], true), 0);
	ck_came("");
	for (i = 0; i < 5; i++)
		output(STREAM_PTY, "x");
	ck_came("1 2 x; 2 2 x; 3 2 x; 4 2 x; 5 2 x");
	output(STREAM_PTY, "y");
	sinks_close(&p.sinks);
	output(STREAM_PTY, "z");
	ck_came("6 2 y; end");
}
END_TEST

/* Nothing more comes of one that is closed. */
START_TEST(test_closed)
{
	p.state = PROC_CLOSED;
	output(STREAM_STDOUT, "a");
	ck_assert_int_eq(tail_add(&p, &total, pair[1], true), 0);
	ck_came("1 0 a; end");
}
END_TEST

START_TEST(test_leaves)
{
	ck_assert_int_eq(tail_add(&p, &total, pair[1], true), 0);
	ck_came("");
	ck_assert_uint_eq(total, 1);
	ck_assert_int_eq(shutdown(pair[0], SHUT_WR), 0);
	ck_came("end");
	ck_assert_uint_eq(total, 0);
}
END_TEST

/* The descriptor stays the caller's. */
START_TEST(test_refused)
{
	static const char *const calls[] = { "calloc", "fcntl", "event_add" };

	total = LIMIT_TAILS;
	errno = 0;
	ck_assert_int_eq(tail_add(&p, &total, pair[1], true), -1);
	ck_assert_int_eq(errno, EMFILE);
	total = LIMIT_TAILS - 1;
	if (_i == 3) {
		ck_assert_int_eq(tail_add(&p, &total, pair[1], true), 0);
		ck_assert_uint_eq(total, LIMIT_TAILS);
		total = 1;
		return;
	}
	fault_call(calls[_i], 1);
	ck_assert_int_eq(tail_add(&p, &total, pair[1], true), -1);
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_uint_eq(total, LIMIT_TAILS - 1);
	ck_assert(TAILQ_EMPTY(&p.sinks.list));
	ck_assert_int_ne(fcntl(pair[1], F_GETFD), -1);
	total = 0;
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("tail");
	TCase	*t = tcase_create("tail");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_once);
	tcase_add_test(t, test_follow);
	tcase_add_test(t, test_closed);
	tcase_add_test(t, test_leaves);
	tcase_add_loop_test(t, test_refused, 0, 4);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
