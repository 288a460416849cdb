/*
 * Timers and descriptors of an event loop (libevent), as members of what they
 * serve.  No call allocates an object, so there is none to free: stop a member
 * before its memory or its loop goes.  One of zero bytes counts as stopped.
 *
 * A callback may stop, set and free everything, its own object included.
 */
#ifndef COMMON_EV_H
#define COMMON_EV_H

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

/* A descriptor; the owner keeps and closes it. */
struct io {
	struct event	 ev;
	ev_fn		*fn;
	void		*arg;
};

/* A timer that calls fn once, when it is set; it is not set yet. */
void	 timer_init(struct timer *, struct event_base *, ev_fn *fn, void *arg);

/*
 * Call fn in ms milliseconds, instead of what was set before; 0: in the next
 * turn of the loop.  Without memory for one more timer there is a line in the
 * log, and no call.
 */
void	 timer_set(struct timer *, uint64_t ms);

/* The same, unless it is set already. */
void	 timer_ensure(struct timer *, uint64_t ms);

/* Call fn in this turn of the loop, after what is due already. */
void	 timer_fire(struct timer *);

void	 timer_stop(struct timer *);
bool	 timer_is_set(const struct timer *);

/* Reading and writing calls fn whenever fd can be read or written. */
void	 io_init(struct io *, struct event_base *, int fd, short what,
	    ev_fn *fn, void *arg);

/* 0, or -1 with errno: EPERM for a descriptor that epoll(7) cannot watch. */
int	 io_start(struct io *);
void	 io_stop(struct io *);

/* Call fn in this turn of the loop, as if it could be read or written. */
void	 io_fire(struct io *);

#endif
