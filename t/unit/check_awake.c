/* worker/os/awake.c: who may wait awake, and for how long. */
#include <check.h>
#include <stdlib.h>

#include "worker/os/awake.h"

#define BEGIN	1000000			/* us; any time but 0 */

static struct awake	 a;
static uint64_t		 now;

/* Requests whose turns end so far apart; whether it stays after the last. */
static bool
ask(unsigned n, uint64_t gap)
{
	bool	 stays = false;

	while (n-- > 0) {
		now += gap;
		awake_asked(&a, now);
		stays = awake_stays(&a, now);
	}
	return stays;
}

static void
setup(void)
{
	now = BEGIN;
	awake_init(&a, true);
}

START_TEST(test_quick)
{
	/* The first has none before it. */
	ck_assert(!ask(AWAKE_STREAK, AWAKE_GAP));
	ck_assert(ask(1, AWAKE_GAP));
	ck_assert(ask(1000, 1));
}
END_TEST

/* One that comes late begins anew. */
START_TEST(test_slow)
{
	ck_assert(!ask(1000, AWAKE_GAP + 1));
	ck_assert(ask(AWAKE_STREAK, AWAKE_GAP));
	ck_assert(!ask(1, AWAKE_GAP + 1));
	ck_assert(!ask(AWAKE_STREAK - 1, 1));
	ck_assert(ask(1, 1));
}
END_TEST

/* What a turn takes is no pause, and each counts once. */
START_TEST(test_turns)
{
	unsigned	 i;

	for (i = 0; i < AWAKE_STREAK; i++) {
		now += AWAKE_GAP;
		awake_asked(&a, now);
		awake_asked(&a, now);
		now += 10 * AWAKE_GAP;
		ck_assert(!awake_stays(&a, now));
	}
	ck_assert(ask(1, AWAKE_GAP));
	now += AWAKE_GAP + 1;
	awake_asked(&a, now);
	/* It was too late, whatever else came with it. */
	awake_asked(&a, now);
	ck_assert(!awake_stays(&a, now));
}
END_TEST

/* Turns without a request neither count nor prolong it. */
START_TEST(test_end)
{
	uint64_t	 t;

	for (t = now; t < now + 100 * AWAKE_STREAK; t++)
		ck_assert(!awake_stays(&a, t));
	ck_assert(ask(AWAKE_STREAK + 1, 10));
	for (t = now; t <= now + AWAKE_POLL; t++)
		ck_assert(awake_stays(&a, t));
	ck_assert(!awake_stays(&a, t));
	/* Nor is it begun again. */
	ck_assert(!awake_stays(&a, now));
	ck_assert(ask(1, AWAKE_GAP));
}
END_TEST

/* Nothing until so long after now, however often it is asked; then again. */
static void
sleeps_for(uint64_t pause)
{
	uint64_t	 until = now + pause;

	ck_assert(!awake_stays(&a, now));
	while (now < until - 100)
		ck_assert(!ask(1, 100));
	ck_assert(ask(1, 100));
}

/* Somebody else computes: for a while it is as if it might not. */
START_TEST(test_others)
{
	now += 2 * AWAKE_SOON;
	ck_assert(ask(AWAKE_STREAK + 1, 10));
	awake_yielded(&a, now, now + AWAKE_YIELD, false);
	ck_assert(ask(1, AWAKE_GAP));
	awake_yielded(&a, now, now + AWAKE_YIELD_TO, true);
	ck_assert(ask(1, AWAKE_GAP));
	awake_yielded(&a, now - AWAKE_YIELD - 1, now, false);
	sleeps_for(AWAKE_PAUSE);
	ck_assert(ask(10, 100));
	awake_yielded(&a, now - AWAKE_YIELD_TO - 1, now, true);
	sleeps_for(AWAKE_PAUSE_2);
}
END_TEST

/* For longer when it happens again, until it has not for a while. */
START_TEST(test_others_stay)
{
	int	 i;

	now += 2 * AWAKE_SOON;
	ck_assert(ask(AWAKE_STREAK + 1, 10));
	awake_yielded(&a, now - AWAKE_YIELD - 1, now, false);
	sleeps_for(AWAKE_PAUSE);
	for (i = 0; i < 3; i++) {
		ck_assert(ask(AWAKE_SOON / 100 - 10, 100));
		awake_yielded(&a, now - AWAKE_YIELD - 1, now, false);
		sleeps_for(AWAKE_PAUSE_2);
	}
	ck_assert(ask(AWAKE_SOON / 100 + 10, 100));
	awake_yielded(&a, now - AWAKE_YIELD - 1, now, false);
	sleeps_for(AWAKE_PAUSE);
}
END_TEST

START_TEST(test_never)
{
	awake_init(&a, false);
	ck_assert(!ask(1000, 1));
}
END_TEST

int
main(void)
{
	SRunner	*r;
	Suite	*s = suite_create("awake");
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
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
