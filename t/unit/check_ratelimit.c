/*
 * worker/conn/ratelimit.c: how many come in a while, how long the next one
 * waits.
 */
#include <check.h>
#include <stdlib.h>

#include "worker/conn/ratelimit.h"

static struct ratelimit	 b;

START_TEST(test_any)
{
	int	 i;

	ratelimit_init(&b, 0, 5);
	for (i = 0; i < 100000; i++)
		ck_assert_uint_eq(ratelimit_take(&b, 5), 0);
}
END_TEST

/* Those of one second at once, then one after the other. */
START_TEST(test_burst)
{
	uint64_t	 now = 1000;
	unsigned	 i, ms;

	ratelimit_init(&b, 10, now);
	for (i = 0; i < 9; i++)
		ck_assert_uint_eq(ratelimit_take(&b, now), 0);
	ck_assert_uint_eq(ratelimit_take(&b, now), 100);
	for (i = 0; i < 50; i++) {
		now += 100;
		ck_assert_uint_eq(ratelimit_take(&b, now), 100);
	}
	/* A pause fills it, and no further. */
	now += 1000000;
	for (i = 0; i < 9; i++)
		ck_assert_uint_eq(ratelimit_take(&b, now), 0);
	ms = ratelimit_take(&b, now);
	ck_assert_uint_eq(ms, 100);
}
END_TEST

/* Whoever waits as told never gets ahead of the rate, nor far behind. */
START_TEST(test_rate)
{
	static const uint32_t	 rates[] = { 1, 3, 7, 100, 999, 1000, 5000,
				    100000 };
	uint32_t		 rate = rates[_i];
	uint64_t		 now = 0, n;

	ratelimit_init(&b, rate, 0);
	for (n = 0; now < 20000 && n < 10000000; n++)
		now += ratelimit_take(&b, now);
	ck_assert_uint_ge(now, 20000);
	ck_assert_uint_le(n, (uint64_t)rate * (now / 1000 + 2) + 1);
	ck_assert_uint_ge(n, (uint64_t)rate * 20 / 2);
}
END_TEST

/* A clock that stands, or goes back, gives nothing. */
START_TEST(test_clock)
{
	ratelimit_init(&b, 1, 100);
	ck_assert_uint_eq(ratelimit_take(&b, 50), 1000);
	ck_assert_uint_ge(ratelimit_take(&b, 50), 1000);
	ck_assert_uint_gt(ratelimit_take(&b, 60), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ratelimit");
	TCase	*t = tcase_create("ratelimit");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_any);
	tcase_add_test(t, test_burst);
	tcase_add_loop_test(t, test_rate, 0, 8);
	tcase_add_test(t, test_clock);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
