/* common/client/recovery.c: when to try again, on a clock of the test's. */
#include <errno.h>
#include <stdlib.h>

#include <check.h>

#include "common/client/recovery.h"

#define NOW	1000000

static struct recovery	 r;

static const struct execsrv_error	 refused = {
	.reason = EXECSRV_WHY_CONNECT, .os_error = ECONNREFUSED,
	.text = "cannot connect: Connection refused"
};

static void
lose(uint64_t now, bool was_behind)
{
	static const struct execsrv_error	 gone = {
		.reason = EXECSRV_WHY_LOST, .text = "gone"
	};

	recovery_lost(&r, now, &gone, was_behind);
}

/* After progress at once, and for the whole time again. */
START_TEST(test_progress)
{
	uint64_t	 now = NOW;
	int		 i;

	recovery_init(&r);
	recovery_set_limit(&r, 5000);
	for (i = 0; i < 3; i++) {
		lose(now, false);
		ck_assert(recovery_is_due(&r, now));
		ck_assert(!recovery_is_over(&r, now + 4999));
		ck_assert(recovery_is_over(&r, now + 5000));
		ck_assert_str_eq(recovery_why(&r)->text, "gone");
		recovery_progress(&r);
		now += 3000;
	}
}
END_TEST

/* Without progress the deadline stays, however often it is lost. */
START_TEST(test_no_progress)
{
	uint64_t	 now = NOW;

	recovery_init(&r);
	recovery_set_limit(&r, 5000);
	lose(now, false);
	while (now < NOW + 4999) {
		ck_assert(!recovery_is_over(&r, now));
		now++;
		lose(now, false);
		ck_assert(!recovery_is_due(&r, now));
	}
	ck_assert(recovery_is_over(&r, NOW + 5000));
	ck_assert_int_eq(recovery_wait_ms(&r, NOW + 5000), 0);
}
END_TEST

/* From 100 ms to 1 s, each up to a quarter shorter at random. */
START_TEST(test_backoff)
{
	static const unsigned	 want[] = { 100, 200, 400, 800, 1000, 1000 };
	uint64_t		 now = NOW + (uint64_t)_i;
	size_t			 i;
	int			 ms;

	recovery_init(&r);
	lose(now, false);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		recovery_failed(&r, now, &refused);
		ms = recovery_wait_ms(&r, now);
		ck_assert_int_le(ms, (int)want[i]);
		ck_assert_int_gt(ms, (int)(want[i] * 3 / 4));
		now += (unsigned)ms;
		ck_assert(recovery_is_due(&r, now));
	}
	ck_assert_str_eq(recovery_why(&r)->text,
	    "cannot connect: Connection refused");
	ck_assert_int_eq(recovery_why(&r)->os_error, ECONNREFUSED);
	recovery_reset_backoff(&r);
	recovery_failed(&r, now, &refused);
	ck_assert_int_le(recovery_wait_ms(&r, now), 100);
	recovery_retry_in(&r, now, 10);
	ck_assert_int_eq(recovery_wait_ms(&r, now), 10);
}
END_TEST

/* Lost while catching up again and again: smaller answers, not below 16 KiB. */
START_TEST(test_read_max)
{
	static const unsigned	 down[] = { 256, 64, 16, 16 };
	static const unsigned	 up[] = { 64, 256, 1024, 1024 };
	size_t			 i;

	recovery_init(&r);
	ck_assert_uint_eq(recovery_read_max(&r), 1024 * 1024);
	lose(NOW, true);		/* there was progress before */
	ck_assert_uint_eq(recovery_read_max(&r), 1024 * 1024);
	for (i = 0; i < 4; i++) {
		lose(NOW, true);
		ck_assert_uint_eq(recovery_read_max(&r), down[i] * 1024);
	}
	lose(NOW, false);
	ck_assert_uint_eq(recovery_read_max(&r), 16 * 1024);
	for (i = 0; i < 4; i++) {
		recovery_progress(&r);
		lose(NOW, false);
		ck_assert_uint_eq(recovery_read_max(&r), up[i] * 1024);
	}
}
END_TEST

START_TEST(test_opening)
{
	recovery_init(&r);
	ck_assert(recovery_is_enabled(&r));
	recovery_open(&r, NOW, 3000);
	ck_assert(recovery_is_due(&r, NOW));
	recovery_allow(&r, NOW, 3000, false);
	ck_assert(!recovery_is_due(&r, NOW + 2999));
	ck_assert_int_eq(recovery_wait_ms(&r, NOW), 3000);
	/* The next step has its own time, and opening with it. */
	recovery_allow(&r, NOW + 2000, 90000, true);
	ck_assert(!recovery_is_over(&r, NOW + 91999));
	ck_assert(recovery_is_over(&r, NOW + 92000));
	ck_assert_int_eq(recovery_wait_ms(&r, NOW + 2000), 60000);
	recovery_set_limit(&r, 0);
	ck_assert(!recovery_is_enabled(&r));
}
END_TEST

static Suite *
recovery_suite(void)
{
	Suite	*s = suite_create("recovery");
	TCase	*t = tcase_create("all");

	tcase_add_test(t, test_progress);
	tcase_add_test(t, test_no_progress);
	tcase_add_loop_test(t, test_backoff, 0, 8);
	tcase_add_test(t, test_read_max);
	tcase_add_test(t, test_opening);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(recovery_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
