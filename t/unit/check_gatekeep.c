/* master/gatekeep.c: sshd's random early drop. */
#include <check.h>

#include "common/limit.h"
#include "master/gatekeep.h"

static unsigned
percent(unsigned n)
{
	unsigned	 drawn, dropped = 0;

	for (drawn = 0; drawn < 100; drawn++)
		dropped += gate_drops(n, drawn);
	return dropped;
}

START_TEST(test_drops)
{
	unsigned	 n, p, last = 0;

	for (n = 0; n < LIMIT_STARTUPS_BEGIN; n++)
		ck_assert_uint_eq(percent(n), 0);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_BEGIN), LIMIT_STARTUPS_RATE);
	for (n = LIMIT_STARTUPS_BEGIN; n < LIMIT_STARTUPS_FULL; n++) {
		p = percent(n);
		ck_assert_uint_ge(p, last);
		ck_assert_uint_lt(p, 100);
		last = p;
	}
	ck_assert_uint_ge(last, 99);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_FULL), 100);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_FULL + 1), 100);
	ck_assert_uint_eq(percent(1000000), 100);
	ck_assert(gate_drops(55, 64) && !gate_drops(55, 65));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("gatekeep");
	TCase	*t = tcase_create("gatekeep");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 10);
	tcase_add_test(t, test_drops);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
