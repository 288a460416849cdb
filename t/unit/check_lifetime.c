/* worker/session/lifetime.c: how long a session may be, and be idle. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "worker/session/lifetime.h"

static struct event_base	*base;
static struct lifetime		 life;
static uint64_t			 activity;
static const char		*over;
static uint64_t			 over_at;

static uint64_t
on_activity(const void *arg)
{
	ck_assert_ptr_eq(arg, &life);
	return activity;
}

static void
on_over(void *arg, const char *why)
{
	ck_assert_ptr_eq(arg, &life);
	ck_assert_ptr_null(over);
	over = why;
	over_at = clock_ms();
}

static const struct lifetime_events	 events = { on_activity, on_over };

static void
start(uint64_t max_ms, uint64_t idle_ms)
{
	over = NULL;
	activity = 1;
	ck_assert_ptr_nonnull(base = event_base_new());
	lifetime_init(&life, base, &events, &life);
	lifetime_start(&life, max_ms, idle_ms);
}

static void
end(void)
{
	lifetime_stop(&life);
	event_base_free(base);
}

/* Without limits nothing wakes. */
START_TEST(test_none)
{
	start(0, 0);
	ck_assert(!timer_is_set(&life.look_ev));
	ck_assert_int_eq(event_base_loop(base, 0), 1);
	ck_assert_ptr_null(over);
	end();
}
END_TEST

/* Whatever happens; not too early. */
START_TEST(test_max)
{
	uint64_t	 began = clock_ms();

	start(60, 0);
	while (over == NULL) {
		activity++;
		event_base_loop(base, EVLOOP_ONCE);
	}
	ck_assert_uint_ge(over_at, began + 60);
	ck_assert_str_eq(over, "it has reached MaxSessionTime");
	ck_assert(!timer_is_set(&life.look_ev));
	end();
}
END_TEST

START_TEST(test_idle)
{
	uint64_t	 began = clock_ms(), last;

	start(0, 80);
	while (over == NULL)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_uint_ge(over_at, began + 80);
	ck_assert_str_eq(over, "idle for IdleTimeout");
	end();
	/* Something happens in each look for some time: it counts from then. */
	start(0, 80);
	last = clock_ms();
	while (over == NULL) {
		if (clock_ms() < began + 400) {
			activity++;
			last = clock_ms();
		}
		event_base_loop(base, EVLOOP_ONCE);
	}
	ck_assert_uint_ge(over_at, last + 80);
	end();
}
END_TEST

/* The one that comes first. */
START_TEST(test_both)
{
	start(50, 100000);
	while (over == NULL)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_ptr_nonnull(strstr(over, "MaxSessionTime"));
	end();
	start(100000, 50);
	while (over == NULL)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_ptr_nonnull(strstr(over, "IdleTimeout"));
	end();
}
END_TEST

START_TEST(test_stop)
{
	start(1, 1);
	lifetime_stop(&life);
	ck_assert_int_eq(event_base_loop(base, 0), 1);
	ck_assert_ptr_null(over);
	end();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("lifetime");
	TCase	*t = tcase_create("lifetime");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_none);
	tcase_add_test(t, test_max);
	tcase_add_test(t, test_idle);
	tcase_add_test(t, test_both);
	tcase_add_test(t, test_stop);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
