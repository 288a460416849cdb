/*
 * worker/session/notify.c: what a client hears without asking, live and after
 * a long answer.  The connection is ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/conn/conn.h"
#include "worker/proc/proc.h"
#include "worker/session/notify.h"

static struct notifier	 n;
static struct window	 window;
static struct procs	 procs;
static struct proc	 p[2];
static char		 sent[4096];		/* messages, a line each */
static char		 part[1024];
static size_t		 part_len;
static int		 room;			/* messages that may go */
static bool		 ends;			/* with the next message */

/* --- the connection --- */

#define CONN	((struct conn *)(void *)sent)

static void
put(const char *text, size_t len)
{
	size_t	 at = strlen(sent);

	ck_assert_uint_lt(at + len + 2, sizeof(sent));
	memcpy(sent + at, text, len);
	memcpy(sent + at + len, "\n", 2);
	room--;
	if (ends)
		notifier_set_conn(&n, NULL);
}

char *
conn_begin(struct conn *c, size_t len)
{
	ck_assert_ptr_eq(c, CONN);
	ck_assert_uint_lt(len, sizeof(part));
	part_len = len;
	return part;
}

void
conn_commit(struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	put(part, part_len);
}

void
conn_sent_bulk(struct conn *c, size_t len)
{
	(void)c;
	ck_assert_uint_gt(len, 0);
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	ck_assert_ptr_eq(c, CONN);
	put(text, len);
	return 0;
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	(void)c;
	ck_abort_msg("closed: %u %s", code, why);
}

uint64_t
conn_pos(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return strlen(sent);
}

static bool
has_room(const void *arg)
{
	ck_assert_ptr_eq(arg, &room);
	return room > 0;
}

/* --- processes --- */

static void
output(struct proc *q, const char *text)
{
	struct chunk	*c = chunk_new(strlen(text));
	struct output	 o = { STREAM_STDOUT, text, strlen(text), c };

	ck_assert_ptr_nonnull(c);
	memcpy(c->data, text, o.len);
	c->len = (uint32_t)o.len;
	retain_add(&q->retain, c, STREAM_STDOUT);
	sinks_output(&q->sinks, &o);
}

static void
exits(struct proc *q, int code)
{
	q->state = PROC_EXITED;
	q->exit_code = code;
	retain_exit(&q->retain);
	sinks_exit(&q->sinks);
}

static void
closes(struct proc *q)
{
	q->state = PROC_CLOSED;
	q->retain.next_seq++;
	sinks_close(&q->sinks);
}

static void
setup(void)
{
	static char	*ids[] = { (char *)(uintptr_t)"\"one\"",
			    (char *)(uintptr_t)"\"two\"" };
	int		 i;

	sent[0] = '\0';
	room = 1000;
	ends = false;
	memset(p, 0, sizeof(p));
	window_init(&window);
	procs.window = &window;
	notifier_init(&n, has_room, &room);
	for (i = 0; i < 2; i++) {
		p[i].procs = &procs;
		p[i].json_id = ids[i];
		p[i].json_id_len = strlen(ids[i]);
		retain_init(&p[i].retain, &window);
		sinks_init(&p[i].sinks);
		ck_assert_int_eq(notify_add(&n, &p[i]), 0);
	}
	notifier_set_conn(&n, CONN);
}

static void
teardown(void)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		sinks_fini(&p[i].sinks);
		retain_fini(&p[i].retain);
	}
	ck_assert(TAILQ_EMPTY(&n.replayed));
	window_fini(&window);
}

#define NOTE(method, id, seq, more)					\
	"{\"method\":\"process/" method "\","				\
	"\"params\":{\"processId\":\"" id "\",\"seq\":" seq more "}}\n"
#define OUTPUT(id, seq, b64)						\
	NOTE("output", id, seq,						\
	    ",\"stream\":\"stdout\",\"chunk\":\"" b64 "\"")
#define EXITED(id, seq, code)						\
	NOTE("exited", id, seq, ",\"exitCode\":" code			\
	    ",\"sandboxDenied\":false")
#define CLOSED(id, seq)		NOTE("closed", id, seq, "")

START_TEST(test_live)
{
	output(&p[0], "a");
	output(&p[1], "bc");
	exits(&p[0], 3);
	output(&p[0], "def");
	closes(&p[0]);
	ck_assert_str_eq(sent, OUTPUT("one", "1", "YQ==")
	    OUTPUT("two", "1", "YmM=") EXITED("one", "2", "3")
	    OUTPUT("one", "3", "ZGVm") CLOSED("one", "4"));
	ck_assert_uint_gt(window.sent_cost, 0);
	ck_assert_uint_eq(window.spooled_cost, 0);
}
END_TEST

START_TEST(test_nobody)
{
	notifier_set_conn(&n, NULL);
	output(&p[0], "a");
	exits(&p[0], 0);
	closes(&p[0]);
	ck_assert_str_eq(sent, "");
	ck_assert_uint_eq(window.sent_cost, 0);
	ck_assert(!notifier_continue(&n));
}
END_TEST

/* What ended its connection was not sent on it. */
START_TEST(test_end)
{
	ends = true;
	output(&p[0], "a");
	output(&p[0], "b");
	ck_assert_str_eq(sent, OUTPUT("one", "1", "YQ=="));
	ck_assert_uint_eq(window.sent_cost, 0);
	ck_assert_uint_gt(window.spooled_cost, 0);
}
END_TEST

/* The rest of an answer, in order, before anything newer. */
START_TEST(test_replay)
{
	notifier_set_conn(&n, NULL);
	output(&p[0], "a");
	output(&p[0], "b");
	exits(&p[0], 1);
	output(&p[0], "c");
	notifier_set_conn(&n, CONN);
	notify_replay(&p[0], 1);
	closes(&p[0]);
	ck_assert_str_eq(sent, "");
	room = 1;
	ck_assert(notifier_continue(&n));
	ck_assert_str_eq(sent, OUTPUT("one", "2", "Yg=="));
	ck_assert(!notifier_continue(&n));
	room = 1000;
	while (notifier_continue(&n))
		continue;
	ck_assert_str_eq(sent, OUTPUT("one", "2", "Yg==")
	    EXITED("one", "3", "1") OUTPUT("one", "4", "Yw==")
	    CLOSED("one", "5"));
}
END_TEST

/* When that is done it is live again; so it is when it was read otherwise. */
START_TEST(test_live_again)
{
	notify_replay(&p[0], 0);
	output(&p[0], "a");
	if (_i == 0)
		while (notifier_continue(&n))
			continue;
	else
		notify_live(&p[0]);
	output(&p[0], "b");
	ck_assert_str_eq(sent, _i == 0 ? OUTPUT("one", "1", "YQ==")
	    OUTPUT("one", "2", "Yg==") : OUTPUT("one", "2", "Yg=="));
}
END_TEST

/* A connection that ends meanwhile ends that of all processes. */
START_TEST(test_replay_end)
{
	notify_replay(&p[0], 0);
	notify_replay(&p[1], 0);
	output(&p[0], "a");
	output(&p[1], "b");
	ends = true;
	ck_assert(notifier_continue(&n));
	ck_assert_str_eq(sent, OUTPUT("one", "1", "YQ=="));
	ck_assert(!notifier_continue(&n));
	ends = false;
	notifier_set_conn(&n, CONN);
	output(&p[1], "c");
	ck_assert_str_eq(sent, OUTPUT("one", "1", "YQ==")
	    OUTPUT("two", "2", "Yw=="));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("notify");
	TCase	*t = tcase_create("notify");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_live);
	tcase_add_test(t, test_nobody);
	tcase_add_test(t, test_end);
	tcase_add_test(t, test_replay);
	tcase_add_loop_test(t, test_live_again, 0, 2);
	tcase_add_test(t, test_replay_end);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
