/*
 * worker/session/budget.c: what memory a session asks its master for, and what
 * it uses meanwhile.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "worker/session/budget.h"

#define MIB	((uint64_t)1 << 20)
#define FREE	LIMIT_HELD_FREE

static struct event_base	*base;
static struct window		 w;
static struct budget		 b;
static unsigned			 requests;
static uint64_t			 output, message;	/* requested last */
static size_t			 allowed, incomplete;
static bool			 is_alone;

static int
ask(void *arg, uint64_t for_output, uint64_t for_message)
{
	ck_assert_ptr_eq(arg, &w);
	requests++;
	output = for_output;
	message = for_message;
	return is_alone ? -1 : 0;
}

static void
allow(void *arg, size_t bytes)
{
	ck_assert_ptr_eq(arg, &w);
	allowed = bytes;
}

static size_t
unfinished(const void *arg)
{
	ck_assert_ptr_eq(arg, &w);
	return incomplete;
}

static const struct budget_events	 events = { ask, allow, unfinished };

static void
setup(void)
{
	ck_assert_ptr_nonnull(base = event_base_new());
	budget_init(&b, base, &w, &events, &w);
	ck_assert_uint_eq(w.memory_max, FREE);
}

static void
teardown(void)
{
	budget_fini(&b);
	event_base_free(base);
}

/* The time of its timer has come. */
static void
look(void)
{
	ck_assert(timer_is_set(&b.look_ev));
	timer_stop(&b.look_ev);
	b.look_ev.fn(b.look_ev.arg);
}

static void
ck_requested(unsigned n, uint64_t for_output, uint64_t for_message)
{
	ck_assert_uint_eq(requests, n);
	ck_assert_uint_eq(output, for_output);
	ck_assert_uint_eq(message, for_message);
}

static void
ck_uses(uint64_t for_output, uint64_t for_message)
{
	ck_assert_uint_eq(w.memory_max, FREE + for_output);
	ck_assert_uint_eq(allowed, FREE + for_message);
}

/* Twice what is there, whole steps, used when it is granted, asked once. */
START_TEST(test_output)
{
	w.memory = FREE + 1;
	ck_assert(budget_output(&b));
	ck_requested(1, MIB, 0);
	ck_assert(budget_output(&b));
	ck_requested(1, MIB, 0);
	ck_uses(0, 0);
	budget_answered(&b, MIB, 0);
	ck_uses(MIB, 0);
	w.memory = 3 * MIB;
	ck_assert(budget_output(&b));
	ck_requested(2, 6 * MIB, 0);
	ck_uses(MIB, 0);
	budget_answered(&b, 6 * MIB, 0);
	ck_uses(6 * MIB, 0);
}
END_TEST

/* As much as a session may have, and what it retains besides; not more. */
START_TEST(test_most)
{
	uint64_t	 most = LIMIT_OUTPUT_MEMORY + 3 * MIB;

	w.retain = 3 * MIB;
	w.memory = LIMIT_OUTPUT_MEMORY;
	ck_assert(budget_output(&b));
	ck_requested(1, most, 0);
	budget_answered(&b, most, 0);
	ck_uses(most, 0);
	ck_assert(!budget_output(&b));
	ck_assert_uint_eq(requests, 1);
}
END_TEST

/* Refused, output goes elsewhere for a while. */
START_TEST(test_refused)
{
	bool	 is_refused;

	w.memory = MIB;
	ck_assert(budget_output(&b));
	budget_answered(&b, MIB, 0);
	ck_uses(MIB, 0);
	ck_assert_uint_ne(b.refused, 0);
	do {
		requests = 0;
		b.asking = 0;
		b.refused = clock_ms();
		is_refused = !budget_output(&b);
	} while (clock_ms() - b.refused >= LIMIT_HELD_REFUSED);
	ck_assert(is_refused);
	ck_requested(0, 2 * MIB, 0);
	b.refused = clock_ms() - LIMIT_HELD_REFUSED;
	ck_assert(budget_output(&b));
	ck_requested(1, 2 * MIB, 0);
}
END_TEST

/* A message is asked for until it has what it wants. */
START_TEST(test_message)
{
	incomplete = FREE;
	budget_message(&b, FREE + 3 * MIB + 1);
	ck_requested(1, 0, 4 * MIB);
	ck_uses(0, 0);
	budget_answered(&b, 0, MIB);
	ck_uses(0, MIB);
	look();
	ck_requested(2, 0, 4 * MIB);
	budget_answered(&b, 0, 4 * MIB);
	ck_uses(0, 4 * MIB);
	/* It is arriving: nothing to ask for. */
	look();
	ck_assert_uint_eq(requests, 2);
	/* It has come; less fits in what is free. */
	incomplete = FREE - 1;
	look();
	ck_requested(3, 0, 0);
	ck_uses(0, 0);
	budget_answered(&b, 0, 0);
	ck_assert(!timer_is_set(&b.look_ev));
}
END_TEST

START_TEST(test_message_sizes)
{
	budget_message(&b, FREE);
	ck_requested(1, 0, 0);
	budget_message(&b, FREE + MIB);
	ck_requested(2, 0, MIB);
	budget_message(&b, 2 * LIMIT_MESSAGE);
	ck_requested(3, 0, LIMIT_MESSAGE);
}
END_TEST

/* What output does not need any more is not used before it is given back. */
START_TEST(test_give_back)
{
	w.memory = 3 * MIB;
	ck_assert(budget_output(&b));
	budget_answered(&b, 6 * MIB, 0);
	w.memory = FREE + 2 * MIB;
	look();
	ck_requested(2, 2 * MIB, 0);
	ck_uses(2 * MIB, 0);
	budget_answered(&b, 2 * MIB, 0);
	look();
	ck_assert_uint_eq(requests, 2);
	/* More than was granted, because the disk is full: no gift. */
	w.memory = FREE + 5 * MIB;
	look();
	ck_assert_uint_eq(requests, 2);
	w.memory = FREE;
	look();
	ck_requested(3, 0, 0);
	ck_uses(0, 0);
}
END_TEST

/* The message ends with its connection; output stays. */
START_TEST(test_conn_end)
{
	w.memory = 2 * MIB;
	ck_assert(budget_output(&b));
	budget_answered(&b, 4 * MIB, 0);
	budget_on_conn_end(&b);
	ck_assert_uint_eq(requests, 1);
	budget_message(&b, FREE + 2 * MIB);
	ck_requested(2, 4 * MIB, 2 * MIB);
	budget_answered(&b, 4 * MIB, MIB);
	budget_on_conn_end(&b);
	ck_requested(3, 4 * MIB, 0);
	ck_uses(4 * MIB, 0);
	budget_answered(&b, 4 * MIB, 0);
	look();				/* nobody waits any more */
	ck_requested(4, 2 * MIB, 0);
}
END_TEST

/* Without a master, or one that does not answer, it has what it asked for. */
START_TEST(test_no_master)
{
	w.memory = MIB;
	ck_assert(budget_output(&b));
	look();
	ck_requested(1, 2 * MIB, 0);
	ck_uses(2 * MIB, 0);
	/* It does answer, late. */
	budget_answered(&b, MIB, 0);
	ck_uses(MIB, 0);
	is_alone = true;
	b.refused = 0;
	w.memory = 2 * MIB;
	ck_assert(!budget_output(&b));
	ck_requested(2, 4 * MIB, 0);
	ck_uses(4 * MIB, 0);
	/* It goes while nothing was asked. */
	budget_on_master_gone(&b);
	ck_uses(4 * MIB, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("budget");
	TCase	*t = tcase_create("budget");
	SRunner	*r = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_output);
	tcase_add_test(t, test_most);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_message);
	tcase_add_test(t, test_message_sizes);
	tcase_add_test(t, test_give_back);
	tcase_add_test(t, test_conn_end);
	tcase_add_test(t, test_no_master);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
