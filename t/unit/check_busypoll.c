/* worker/os/busypoll.c: who may wait awake, and for how long. */
#include <check.h>
#include <sched.h>
#include <stdlib.h>

#include "worker/os/busypoll.h"

#define BEGIN	1000000			/* us; any time but 0 */

static struct busypoll	 a;
static uint64_t		 now;
static bool		 is_useful;
static unsigned		 asked;

static bool
useful(void)
{
	asked++;
	return is_useful;
}

/* Requests whose turns end so far apart; whether it stays after the last. */
static bool
ask(unsigned n, uint64_t gap)
{
	bool	 stays = false;

	while (n-- > 0) {
		now += gap;
		busypoll_request(&a, now);
		stays = busypoll_should_poll(&a, now);
	}
	return stays;
}

static void
setup(void)
{
	now = BEGIN;
	is_useful = true;
	asked = 0;
	busypoll_init(&a, true, useful);
}

START_TEST(test_quick)
{
	/* The first has none before it. */
	ck_assert(!ask(BUSYPOLL_STREAK, BUSYPOLL_GAP));
	ck_assert(ask(1, BUSYPOLL_GAP));
	ck_assert(ask(1000, 1));
}
END_TEST

/* One that comes late begins anew. */
START_TEST(test_slow)
{
	ck_assert(!ask(1000, BUSYPOLL_GAP + 1));
	ck_assert(ask(BUSYPOLL_STREAK, BUSYPOLL_GAP));
	ck_assert(!ask(1, BUSYPOLL_GAP + 1));
	ck_assert(!ask(BUSYPOLL_STREAK - 1, 1));
	ck_assert(ask(1, 1));
}
END_TEST

/* What a turn takes is no pause, and each counts once. */
START_TEST(test_turns)
{
	unsigned	 i;

	for (i = 0; i < BUSYPOLL_STREAK; i++) {
		now += BUSYPOLL_GAP;
		busypoll_request(&a, now);
		busypoll_request(&a, now);
		now += 10 * BUSYPOLL_GAP;
		ck_assert(!busypoll_should_poll(&a, now));
	}
	ck_assert(ask(1, BUSYPOLL_GAP));
	now += BUSYPOLL_GAP + 1;
	busypoll_request(&a, now);
	/* It was too late, whatever else came with it. */
	busypoll_request(&a, now);
	ck_assert(!busypoll_should_poll(&a, now));
}
END_TEST

/* Turns without a request neither count nor prolong it. */
START_TEST(test_end)
{
	uint64_t	 t;

	for (t = now; t < now + 100 * BUSYPOLL_STREAK; t++)
		ck_assert(!busypoll_should_poll(&a, t));
	ck_assert(ask(BUSYPOLL_STREAK + 1, 10));
	for (t = now; t <= now + BUSYPOLL_POLL; t++)
		ck_assert(busypoll_should_poll(&a, t));
	ck_assert(!busypoll_should_poll(&a, t));
	/* Nor is it begun again. */
	ck_assert(!busypoll_should_poll(&a, now));
	ck_assert(ask(1, BUSYPOLL_GAP));
}
END_TEST

/* Nothing until so long after now, however often it is asked; then again. */
static void
sleeps_for(uint64_t pause)
{
	uint64_t	 until = now + pause;

	ck_assert(!busypoll_should_poll(&a, now));
	while (now < until - 100)
		ck_assert(!ask(1, 100));
	ck_assert(ask(1, 100));
}

/* Somebody else computes: for a while it is as if it might not. */
START_TEST(test_others)
{
	now += 2 * BUSYPOLL_SOON;
	ck_assert(ask(BUSYPOLL_STREAK + 1, 10));
	busypoll_yielded(&a, now, now + BUSYPOLL_YIELD, false);
	ck_assert(ask(1, BUSYPOLL_GAP));
	busypoll_yielded(&a, now, now + BUSYPOLL_YIELD_TO, true);
	ck_assert(ask(1, BUSYPOLL_GAP));
	busypoll_yielded(&a, now - BUSYPOLL_YIELD - 1, now, false);
	sleeps_for(BUSYPOLL_PAUSE);
	ck_assert(ask(10, 100));
	busypoll_yielded(&a, now - BUSYPOLL_YIELD_TO - 1, now, true);
	sleeps_for(4 * BUSYPOLL_PAUSE);
}
END_TEST

/* For longer when it happens again, until it has not for a while. */
START_TEST(test_others_stay)
{
	uint64_t	 pause = BUSYPOLL_PAUSE;
	int		 i;

	now += 2 * BUSYPOLL_SOON;
	ck_assert(ask(BUSYPOLL_STREAK + 1, 10));
	for (i = 0; i < 6; i++) {
		busypoll_yielded(&a, now - BUSYPOLL_YIELD - 1, now, false);
		sleeps_for(pause);
		pause = pause * 4 < BUSYPOLL_PAUSE_MAX ? pause * 4 :
		    BUSYPOLL_PAUSE_MAX;
		ck_assert(ask(BUSYPOLL_SOON / 100 - 10, 100));
	}
	ck_assert_uint_eq(pause, BUSYPOLL_PAUSE_MAX);
	ck_assert(ask(BUSYPOLL_SOON / 100 + 10, 100));
	busypoll_yielded(&a, now - BUSYPOLL_YIELD - 1, now, false);
	sleeps_for(BUSYPOLL_PAUSE);
}
END_TEST

START_TEST(test_never)
{
	busypoll_init(&a, false, useful);
	ck_assert(!ask(1000, 1));
	ck_assert_uint_eq(asked, 0);
}
END_TEST

/* Where it is of no use it is not done, and that is found out only once. */
START_TEST(test_useless)
{
	is_useful = false;
	ck_assert(!ask(BUSYPOLL_STREAK, BUSYPOLL_GAP));
	ck_assert_uint_eq(asked, 0);
	ck_assert(!ask(1000, 1));
	ck_assert_uint_eq(asked, 1);
	setup();
	ck_assert(ask(1000, 1));
	ck_assert_uint_eq(asked, 1);
}
END_TEST

START_TEST(test_quota)
{
	static const char *const	 none[] = { "max 100000\n", "max\n",
					     "-1\n", "", "\n" };
	static const char *const	 some[] = { "50000 100000\n", "1000\n",
					     "200000 100000\n" };
	size_t				 i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		ck_assert(!busypoll_is_quota(none[i]));
	for (i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		ck_assert(busypoll_is_quota(some[i]));
}
END_TEST

/* One processor is none to spare. */
START_TEST(test_one_processor)
{
	cpu_set_t	 all, one;
	int		 i = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(i, &all))
		i++;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert(!busypoll_has_processors());
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}
END_TEST

int
main(void)
{
	SRunner	*r;
	Suite	*s = suite_create("busypoll");
	TCase	*t = tcase_create("all");
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_quick);
	tcase_add_test(t, test_slow);
	tcase_add_test(t, test_turns);
	tcase_add_test(t, test_end);
	tcase_add_test(t, test_others);
	tcase_add_test(t, test_others_stay);
	tcase_add_test(t, test_never);
	tcase_add_test(t, test_useless);
	tcase_add_test(t, test_quota);
	tcase_add_test(t, test_one_processor);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
