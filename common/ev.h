/*
 * Timers and descriptors of a libevent loop, embedded in the objects they
 * serve.  Stop a timer or io before its object or the loop is freed; a zeroed
 * one counts as stopped.  A callback may free its own object.
 */
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include <stdbool.h>
#include <stdint.h>

typedef void	 ev_fn(void *arg);

struct timer {
	struct event	 ev;
	ev_fn		*fn;
	void		*arg;
};

/* The descriptor stays its owner's. */
struct io {
	struct event	 ev;
	ev_fn		*fn;
	void		*arg;
};

/*
 * A loop where urgent events do not wait for all others that are due, but for
 * EV_AT_ONCE of them.  NULL: out of memory.
 */
#define EV_AT_ONCE	64
struct event_base	*ev_base_new(void);

/* Prepare a one-shot timer; it does not run yet. */
void	 timer_init(struct timer *, struct event_base *, ev_fn *fn, void *arg);
/*
 * Call fn after ms milliseconds (0: in the next turn of the loop), whatever was
 * set before.  Without memory there is a log line and no call.
 */
void	 timer_set(struct timer *, uint64_t ms);
void	 timer_ensure(struct timer *, uint64_t ms);	/* unless set */

/* Call fn in this turn of the loop, after the events that are due already. */
void	 timer_fire(struct timer *);

void	 timer_stop(struct timer *);
bool	 timer_is_set(const struct timer *);

/* Call fn whenever fd is ready for what (EV_READ, EV_WRITE, EV_PERSIST). */
void	 io_init(struct io *, struct event_base *, int fd, short what,
	    ev_fn *fn, void *arg);

/* Before it is started: make it urgent, see ev_base_new(). */
void	 timer_urgent(struct timer *);
void	 io_urgent(struct io *);

/* 0, or -1 with errno: EPERM for a descriptor that epoll(7) does not take. */
int	 io_start(struct io *);
void	 io_stop(struct io *);

/* Call fn in this turn of the loop, as if fd were ready. */
void	 io_fire(struct io *);
