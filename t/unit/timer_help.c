#include "t/unit/timer_help.h"

#include <sys/time.h>

#include <check.h>

#define SLACK	20	/* ms, between two clocks */

struct found {
	struct event	*ev;
	uint64_t	 at;
	unsigned	 n;
};

static int
look(const struct event_base *base, const struct event *ev, void *arg)
{
	struct found	*f = arg;
	struct timeval	 at;

	(void)base;
	if (event_pending(ev, EV_TIMEOUT, &at) != 0) {
		f->ev = (struct event *)(uintptr_t)ev;
		f->at = (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_usec /
		    1000;
		f->n++;
	}
	return 0;
}

static struct found
find(struct event_base *base)
{
	struct found	 f = { .n = 0 };

	ck_assert_int_eq(event_base_foreach_event(base, look, &f), 0);
	ck_assert_uint_le(f.n, 1);
	return f;
}

uint64_t
timer_help_now(void)
{
	struct timeval	 now;

	gettimeofday(&now, NULL);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_usec / 1000;
}

bool
timer_help_is_due(struct event_base *base, uint64_t before, uint64_t min,
    uint64_t max)
{
	struct found	 f = find(base);

	return f.n == 1 && f.at + SLACK >= before + min &&
	    f.at <= timer_help_now() + max + SLACK;
}

bool
timer_help_is_set(struct event_base *base)
{
	return find(base).n == 1;
}

void
timer_help_fire(struct event_base *base)
{
	struct found	 f = find(base);

	ck_assert_uint_eq(f.n, 1);
	event_active(f.ev, EV_TIMEOUT, 1);
	ck_assert_int_ne(event_base_loop(base, EVLOOP_ONCE |
	    EVLOOP_NONBLOCK), -1);
}
