#include "common/ev.h"

#include <assert.h>

#include "common/clock.h"
#include "common/log.h"

/* Priorities of libevent. */
enum { EV_URGENT, EV_NORMAL, EV_PRIORITIES };

struct event_base *
ev_base_new(void)
{
	struct event_config	*c;
	struct event_base	*base = NULL;

	if ((c = event_config_new()) == NULL)
		return NULL;
	/* The default priority is EV_PRIORITIES / 2. */
	_Static_assert(EV_PRIORITIES / 2 == EV_NORMAL, "priorities");
	if (event_config_set_max_dispatch_interval(c, NULL, EV_AT_ONCE,
	    EV_NORMAL) == 0 &&
	    (base = event_base_new_with_config(c)) != NULL &&
	    event_base_priority_init(base, EV_PRIORITIES) == -1) {
		event_base_free(base);
		base = NULL;
	}
	event_config_free(c);
	return base;
}

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

/* Fails only for an event that is due. */
void
timer_urgent(struct timer *t)
{
	(void)event_priority_set(&t->ev, EV_URGENT);
}

void
io_urgent(struct io *io)
{
	(void)event_priority_set(&io->ev, EV_URGENT);
}
