/* common/repeat.c: what is said once, and then each hour. */
#include <check.h>

#include "common/repeat.h"

START_TEST(test_repeat)
{
	struct repeat	 r = { 0 };

	ck_assert(repeat_is_due(&r, "down", 5));
	ck_assert(!repeat_is_due(&r, "down", 6));
	ck_assert(!repeat_is_due(&r, "down", 5 + REPEAT_MS - 1));
	ck_assert(repeat_is_due(&r, "down", 5 + REPEAT_MS));
	ck_assert(!repeat_is_due(&r, "down", 6 + REPEAT_MS));
	/* Another reason, and the first one after it. */
	ck_assert(repeat_is_due(&r, "refused", 7 + REPEAT_MS));
	ck_assert(repeat_is_due(&r, "down", 8 + REPEAT_MS));
	/* It was up meanwhile. */
	repeat_end(&r);
	ck_assert(repeat_is_due(&r, "down", 9 + REPEAT_MS));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("repeat");
	TCase	*t = tcase_create("repeat");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_repeat);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
