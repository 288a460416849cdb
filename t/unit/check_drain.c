/* master/drain.c: when a server that drains ends, with sessions of ours. */
#include <check.h>
#include <stdlib.h>

#include "common/clock.h"
#include "master/drain.h"

static struct event_base	*base;
static struct drain		 d;
static size_t			 sessions, left;
static unsigned			 looks, ended;
static uint64_t			 began;

static size_t
count(const void *arg)
{
	ck_assert_ptr_eq(arg, &sessions);
	looks++;
	/* The last one ends while it is waited for. */
	if (looks == 4)
		sessions = 0;
	return sessions;
}

static size_t
count_for_ever(const void *arg)
{
	(void)arg;
	looks++;
	return sessions;
}

static void
on_over(void *arg, size_t n)
{
	ck_assert_ptr_eq(arg, &sessions);
	ended++;
	left = n;
	event_base_loopbreak(base);
}

static const struct drain_events	 ending = { count, on_over };
static const struct drain_events	 staying = { count_for_ever, on_over };

static void
setup(void)
{
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	d = (struct drain){ .is_on = false };
	looks = ended = 0;
	left = 99;
	began = clock_ms();
}

static void
teardown(void)
{
	drain_fini(&d);
	event_base_free(base);
}

/* It ends with the last session, without a limit. */
START_TEST(test_last)
{
	sessions = 2;
	drain_init(&d, base, &ending, &sessions);
	ck_assert(!d.is_on);
	drain_start(&d, 0);
	ck_assert(d.is_on);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(ended, 1);
	ck_assert_uint_eq(left, 0);
	ck_assert_uint_eq(looks, 4);
	ck_assert_uint_eq(d.left, 0);
}
END_TEST

/* Or when the time is over, and says how many are left. */
START_TEST(test_timeout)
{
	sessions = 3;
	drain_init(&d, base, &staying, &sessions);
	drain_start(&d, 250);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(ended, 1);
	ck_assert_uint_eq(left, 3);
	ck_assert_uint_eq(d.left, 3);
	ck_assert_uint_ge(clock_ms() - began, 250);
}
END_TEST

/* A second start does not put the end off. */
START_TEST(test_twice)
{
	uint64_t	 until;

	sessions = 1;
	drain_init(&d, base, &staying, &sessions);
	drain_start(&d, 60000);
	until = d.until;
	ck_assert_uint_ne(until, 0);
	drain_start(&d, 0);
	ck_assert_uint_eq(d.until, until);
	/* The server stops for another reason: nobody is told of an end. */
	drain_stop(&d);
	ck_assert_int_eq(event_base_dispatch(base), 1);
	ck_assert_uint_eq(ended, 0);
	ck_assert(d.is_on);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("drain");
	TCase	*t = tcase_create("drain");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_last);
	tcase_add_test(t, test_timeout);
	tcase_add_test(t, test_twice);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
