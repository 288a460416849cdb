/* common/noise/quota.c: a reserve for each, and the rest for who comes. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "common/limit.h"
#include "common/noise/quota.h"

#define OWN	((size_t)LIMIT_STREAM_RESERVE)
#define ALL	(LIMIT_RELAY_HELD - LIMIT_STREAMS * OWN)

static struct quota		 q;
static struct quota_share	 s[LIMIT_STREAMS];

static void
setup(void)
{
	size_t	 i;

	quota_init(&q);
	memset(s, 0, sizeof(s));
	for (i = 0; i < LIMIT_STREAMS; i++)
		s[i].quota = &q;
}

static void
ck_refused(struct quota_share *share, size_t bytes)
{
	size_t	 left = q.left, held = share->held;

	errno = 0;
	ck_assert_int_eq(quota_set(share, bytes), -1);
	ck_assert_int_eq(errno, EDQUOT);
	ck_assert_uint_eq(q.left, left);
	ck_assert_uint_eq(share->held, held);
}

START_TEST(test_reserve)
{
	size_t	 i;

	ck_assert_int_eq(quota_set(&s[0], OWN + ALL), 0);
	ck_refused(&s[0], OWN + ALL + 1);
	ck_refused(&s[0], SIZE_MAX);
	for (i = 1; i < LIMIT_STREAMS; i++) {
		ck_assert_int_eq(quota_set(&s[i], OWN), 0);
		ck_refused(&s[i], OWN + 1);
	}
	quota_lower(&s[0], OWN + ALL - 7);
	ck_refused(&s[9], OWN + 8);
	ck_assert_int_eq(quota_set(&s[9], OWN + 7), 0);
	ck_refused(&s[8], OWN + 1);
	for (i = 0; i < LIMIT_STREAMS; i++)
		quota_lower(&s[i], 0);
	ck_assert_uint_eq(q.left, ALL);
}
END_TEST

/* All of them together never hold more than the limit. */
START_TEST(test_sum)
{
	size_t		 i, sum = 0;
	unsigned	 n, seed = 1, refused = 0;

	for (n = 0; n < 200000; n++) {
		seed = seed * 1103515245u + 12345u;
		i = seed >> 16 & (LIMIT_STREAMS - 1);
		sum -= s[i].held;
		if (quota_set(&s[i], seed % (8u << 20)) == -1)
			refused++;
		sum += s[i].held;
		if (sum > LIMIT_RELAY_HELD)
			ck_abort_msg("%zu", sum);
	}
	ck_assert_uint_gt(sum, LIMIT_RELAY_HELD / 2);
	ck_assert_uint_gt(refused, 1000);
}
END_TEST

START_TEST(test_unbounded)
{
	struct quota_share	 free_one;

	memset(&free_one, 0, sizeof(free_one));
	ck_assert_int_eq(quota_set(&free_one, SIZE_MAX), 0);
	quota_lower(&free_one, 5);
	ck_assert_int_eq(quota_set(&free_one, 6), 0);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("quota");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_reserve);
	tcase_add_test(tc, test_sum);
	tcase_add_test(tc, test_unbounded);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
