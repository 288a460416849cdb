/* master/auth/penalty.c: who waits for how long, and what the log is told. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/limit.h"
#include "master/auth/penalty.h"

#define BEGIN	(uint64_t)5000000	/* ms: some time after the boot */

static struct penalties	*p;

static void
setup(void)
{
	ck_assert_ptr_nonnull(p = penalties_new());
}

static void
teardown(void)
{
	penalties_free(&p);
	ck_assert_ptr_null(p);
	penalties_free(&p);
}

static void
guess(const char *source, unsigned n, uint64_t now)
{
	while (n-- > 0)
		penalties_add(p, source, true, now);
}

START_TEST(test_doubles)
{
	uint64_t	 now = BEGIN, want;
	int		 i;

	guess("a", LIMIT_FAILURES - 1, now);
	ck_assert_uint_eq(penalties_left(p, "a", now), 0);
	guess("a", 1, now);
	for (want = LIMIT_FAILURE_PAUSE, i = 0; i < 100; i++) {
		ck_assert_uint_eq(penalties_left(p, "a", now), want);
		ck_assert_uint_eq(penalties_left(p, "a", now + want - 1), 1);
		now += want;
		ck_assert_uint_eq(penalties_left(p, "a", now), 0);
		guess("a", 1, now);
		want = want * 2 < LIMIT_FAILURE_PAUSE_MAX ? want * 2 :
		    LIMIT_FAILURE_PAUSE_MAX;
	}
	ck_assert_uint_eq(want, LIMIT_FAILURE_PAUSE_MAX);
	ck_assert_uint_eq(penalties_left(p, "b", now), 0);
}
END_TEST

START_TEST(test_only_guesses)
{
	int	 i;

	for (i = 0; i < 1000; i++)
		penalties_add(p, "a", false, BEGIN + 1000);
	ck_assert_uint_eq(penalties_left(p, "a", BEGIN + 1000), 0);
}
END_TEST

START_TEST(test_forgets)
{
	uint64_t	 now = BEGIN;

	guess("a", LIMIT_FAILURES - 1, now);
	now += LIMIT_FAILURE_MEMORY;
	guess("a", 1, now);
	ck_assert_uint_gt(penalties_left(p, "a", now), 0);
	/* From the end of its pause on. */
	guess("a", 1000, now);
	ck_assert_uint_eq(penalties_left(p, "a", now),
	    LIMIT_FAILURE_PAUSE_MAX);
	now += LIMIT_FAILURE_PAUSE_MAX + LIMIT_FAILURE_MEMORY;
	guess("a", 1, now);
	ck_assert_uint_gt(penalties_left(p, "a", now), 0);
	now += LIMIT_FAILURE_PAUSE_MAX + LIMIT_FAILURE_MEMORY + 1;
	guess("a", LIMIT_FAILURES - 1, now);
	ck_assert_uint_eq(penalties_left(p, "a", now), 0);
}
END_TEST

START_TEST(test_bounded)
{
	char	 name[32];
	int	 i;

	guess("first", LIMIT_FAILURES, BEGIN);
	guess("second", LIMIT_FAILURES, BEGIN);
	for (i = 0; i < LIMIT_FAILURE_SOURCES - 2; i++) {
		snprintf(name, sizeof(name), "source %d", i);
		guess(name, 1, BEGIN);
	}
	ck_assert_uint_gt(penalties_left(p, "first", BEGIN), 0);
	/* Not the oldest goes but who was quiet longest. */
	penalties_add(p, "first", false, BEGIN);
	guess("one more", 1, BEGIN);
	ck_assert_uint_gt(penalties_left(p, "first", BEGIN), 0);
	ck_assert_uint_eq(penalties_left(p, "second", BEGIN), 0);
}
END_TEST

START_TEST(test_told)
{
	uint64_t	 now = BEGIN;
	char		 name[32];
	unsigned	 told = 0;
	int		 i;

	ck_assert_uint_eq(penalties_add(p, "a", true, now), 1);
	for (i = 0; i < 9; i++)
		ck_assert_uint_eq(penalties_add(p, "a", i % 2 == 0, now +
		    LIMIT_FAILURE_TOLD - 1), 0);
	now += LIMIT_FAILURE_TOLD;
	ck_assert_uint_eq(penalties_add(p, "a", true, now), 10);
	ck_assert_uint_eq(penalties_add(p, "a", true, now), 0);
	/* Many sources: so many lines in a second. */
	now += 10000;
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "source %d", i);
		told += penalties_add(p, name, true, now) > 0;
	}
	ck_assert_uint_eq(told, LIMIT_FAILURE_LINES);
	ck_assert_uint_gt(penalties_add(p, "source 999", true, now + 1000),
	    1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("penalty");
	TCase	*t = tcase_create("penalty");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_doubles);
	tcase_add_test(t, test_only_guesses);
	tcase_add_test(t, test_forgets);
	tcase_add_test(t, test_bounded);
	tcase_add_test(t, test_told);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
