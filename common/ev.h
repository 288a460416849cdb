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

struct io {
	struct event	 ev;
	ev_fn		*fn;
	void		*arg;
};

/* A loop where urgent events wait for EV_AT_ONCE others at most. */
#define EV_AT_ONCE	64
struct event_base	*ev_base_new(void);

void	 timer_init(struct timer *, struct event_base *, ev_fn *fn, void *arg);
/* Call fn in ms (0: the next turn of the loop); replaces an earlier time. */
void	 timer_set(struct timer *, uint64_t ms);
void	 timer_ensure(struct timer *, uint64_t ms);	/* unless set */

/* Call fn in this turn, after the events that are due already. */
void	 timer_fire(struct timer *);

void	 timer_stop(struct timer *);
bool	 timer_is_set(const struct timer *);

/* Call fn whenever fd, which is not owned, is ready for what (EV_READ, ...). */
void	 io_init(struct io *, struct event_base *, int fd, short what,
	    ev_fn *fn, void *arg);

/* Make urgent (see ev_base_new()); before the start. */
void	 timer_urgent(struct timer *);
void	 io_urgent(struct io *);

/* 0, or -1 with errno; EPERM: epoll(7) does not take it. */
int	 io_start(struct io *);
void	 io_stop(struct io *);

/* Call fn in this turn, as if fd were ready. */
void	 io_fire(struct io *);
