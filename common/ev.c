#include "common/ev.h"

#include <assert.h>

#include "common/clock.h"
#include "common/log.h"

static void
timer_on_timeout(int fd, short what, void *arg)
{
	struct timer	*t = arg;

	assert(t->fn != NULL);
	(void)fd;
	(void)what;
	t->fn(t->arg);
}

void
timer_init(struct timer *t, struct event_base *base, ev_fn *fn, void *arg)
{
	assert(fn != NULL);
	t->fn = fn;
	t->arg = arg;
	/* Fails for invalid flags only. */
	(void)event_assign(&t->ev, base, -1, 0, timer_on_timeout, t);
}

void
timer_set(struct timer *t, uint64_t ms)
{
	struct timeval	 tv = clock_timeval(ms);

	assert(t->fn != NULL && event_initialized(&t->ev));
	if (event_add(&t->ev, &tv) == -1)
		log_warnx("no memory for a timer");
}

void
timer_ensure(struct timer *t, uint64_t ms)
{
	if (!timer_is_set(t))
		timer_set(t, ms);
}

void
timer_fire(struct timer *t)
{
	assert(t->fn != NULL && event_initialized(&t->ev));
	event_active(&t->ev, EV_TIMEOUT, 0);
}

void
timer_stop(struct timer *t)
{
	if (event_initialized(&t->ev))
		event_del(&t->ev);
}

bool
timer_is_set(const struct timer *t)
{
	return event_initialized(&t->ev) &&
	    event_pending(&t->ev, EV_TIMEOUT, NULL) != 0;
}

static void
io_on_ready(int fd, short what, void *arg)
{
	struct io	*io = arg;

	assert(io->fn != NULL);
	(void)fd;
	(void)what;
	io->fn(io->arg);
}

void
io_init(struct io *io, struct event_base *base, int fd, short what, ev_fn *fn,
    void *arg)
{
	assert(fn != NULL && (what & (EV_READ | EV_WRITE)) != 0);
	io->fn = fn;
	io->arg = arg;
	(void)event_assign(&io->ev, base, fd, what, io_on_ready, io);
}

int
io_start(struct io *io)
{
	assert(io->fn != NULL && event_get_fd(&io->ev) != -1);
	return event_add(&io->ev, NULL);
}

void
io_stop(struct io *io)
{
	if (event_initialized(&io->ev))
		event_del(&io->ev);
}

void
io_fire(struct io *io)
{
	assert(io->fn != NULL && event_initialized(&io->ev));
	event_active(&io->ev, event_get_events(&io->ev) &
	    (EV_READ | EV_WRITE), 0);
}
