/* common/ev.c: timers and descriptors in a loop. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"

struct owner {
	struct event_base	*base;
	struct timer		 timer;
	struct io		 in;
	int			 pipe[2];
	unsigned		 timeouts, reads;
};

static void
on_timeout(void *arg)
{
	struct owner	*o = arg;

	o->timeouts++;
}

static void
on_read(void *arg)
{
	struct owner	*o = arg;
	char		 byte;

	ck_assert_int_eq(read(o->pipe[0], &byte, 1), 1);
	o->reads++;
}

static struct owner *
owner_new(void)
{
	struct owner	*o = calloc(1, sizeof(*o));

	ck_assert_ptr_nonnull(o);
	ck_assert_ptr_nonnull(o->base = event_base_new());
	ck_assert_int_eq(pipe(o->pipe), 0);
	timer_init(&o->timer, o->base, on_timeout, o);
	io_init(&o->in, o->base, o->pipe[0], EV_READ | EV_PERSIST, on_read, o);
	return o;
}

static void
owner_free(struct owner *o)
{
	timer_stop(&o->timer);
	io_stop(&o->in);
	event_base_free(o->base);
	close(o->pipe[0]);
	close(o->pipe[1]);
	free(o);
}

START_TEST(test_zero_bytes_are_stopped)
{
	struct timer	 t = { 0 };
	struct io	 io = { 0 };

	ck_assert(!timer_is_set(&t));
	timer_stop(&t);
	io_stop(&io);
}
END_TEST

START_TEST(test_timer)
{
	struct owner	*o = owner_new();
	uint64_t	 began = clock_us();

	ck_assert(!timer_is_set(&o->timer));
	timer_set(&o->timer, 3600000);
	timer_ensure(&o->timer, 7200000);
	ck_assert(timer_is_set(&o->timer));
	timer_set(&o->timer, 20);
	timer_ensure(&o->timer, 3600000);
	ck_assert_int_eq(event_base_dispatch(o->base), 1);
	ck_assert_uint_eq(o->timeouts, 1);
	/* libevent's clock may be a tick behind. */
	ck_assert_uint_ge(clock_us() - began, 15000);
	ck_assert(!timer_is_set(&o->timer));
	timer_ensure(&o->timer, 0);
	ck_assert_int_eq(event_base_dispatch(o->base), 1);
	ck_assert_uint_eq(o->timeouts, 2);
	owner_free(o);
}
END_TEST

START_TEST(test_timer_stopped)
{
	struct owner	*o = owner_new();

	timer_set(&o->timer, 0);
	timer_stop(&o->timer);
	timer_stop(&o->timer);
	ck_assert(!timer_is_set(&o->timer));
	timer_fire(&o->timer);
	timer_stop(&o->timer);
	ck_assert_int_eq(event_base_dispatch(o->base), 1);
	ck_assert_uint_eq(o->timeouts, 0);
	timer_fire(&o->timer);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_NONBLOCK), 1);
	ck_assert_uint_eq(o->timeouts, 1);
	owner_free(o);
}
END_TEST

START_TEST(test_io)
{
	struct owner	*o = owner_new();

	ck_assert_int_eq(io_start(&o->in), 0);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_NONBLOCK), 0);
	ck_assert_uint_eq(o->reads, 0);
	ck_assert_int_eq(write(o->pipe[1], "ab", 2), 2);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_ONCE), 0);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_ONCE), 0);
	ck_assert_uint_eq(o->reads, 2);
	io_stop(&o->in);
	ck_assert_int_eq(write(o->pipe[1], "cd", 2), 2);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_NONBLOCK), 1);
	ck_assert_uint_eq(o->reads, 2);
	/* Whether it is watched or not. */
	io_fire(&o->in);
	ck_assert_int_eq(event_base_loop(o->base, EVLOOP_NONBLOCK), 1);
	ck_assert_uint_eq(o->reads, 3);
	owner_free(o);
}
END_TEST

static void
on_end(void *arg)
{
	owner_free(arg);
}

START_TEST(test_freed_in_its_callback)
{
	struct owner		*o = owner_new();
	struct event_base	*base = o->base;

	/* The loop outlives its owner. */
	ck_assert_ptr_nonnull(o->base = event_base_new());
	timer_init(&o->timer, base, on_end, o);
	timer_set(&o->timer, 0);
	ck_assert_int_eq(event_base_dispatch(base), 1);
	event_base_free(base);
}
END_TEST

/* --- what is urgent --- */

#define MANY	(10 * EV_AT_ONCE)

static struct event_base	*shared;
static int			 door[2];
static unsigned			 nnormal, nbefore;

static void
on_normal(void *arg)
{
	(void)arg;
	/* The first one makes the urgent one ready. */
	if (nnormal++ == 0)
		ck_assert_int_eq(write(door[1], "x", 1), 1);
}

static void
on_urgent(void *arg)
{
	char	 byte;

	(void)arg;
	ck_assert_int_eq(read(door[0], &byte, 1), 1);
	nbefore = nnormal;
}

START_TEST(test_urgent)
{
	static struct timer	 normal[MANY];
	struct io		 io;
	unsigned		 i;

	nnormal = nbefore = 0;
	ck_assert_ptr_nonnull(shared = ev_base_new());
	ck_assert_int_eq(pipe(door), 0);
	io_init(&io, shared, door[0], EV_READ | EV_PERSIST, on_urgent, NULL);
	if (_i == 1)
		io_urgent(&io);
	ck_assert_int_eq(io_start(&io), 0);
	for (i = 0; i < MANY; i++) {
		timer_init(&normal[i], shared, on_normal, NULL);
		timer_fire(&normal[i]);
	}
	while (nnormal < MANY || nbefore == 0)
		ck_assert_int_eq(event_base_loop(shared, EVLOOP_ONCE), 0);
	if (_i == 1)
		ck_assert_uint_le(nbefore, EV_AT_ONCE);
	else
		ck_assert_uint_eq(nbefore, MANY);
	io_stop(&io);
	close(door[0]);
	close(door[1]);
	event_base_free(shared);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ev");
	TCase	*t = tcase_create("ev");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_zero_bytes_are_stopped);
	tcase_add_test(t, test_timer);
	tcase_add_test(t, test_timer_stopped);
	tcase_add_test(t, test_io);
	tcase_add_loop_test(t, test_urgent, 0, 2);
	tcase_add_test(t, test_freed_in_its_callback);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
