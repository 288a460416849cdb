/*
 * The event loop: libwebsockets' own, which cannot be driven from outside.
 * Our sockets are adopted into it as raw files.
 */
#ifndef MASTER_UPLINK_LOOP_H
#define MASTER_UPLINK_LOOP_H

#include <libwebsockets.h>

#include <stdbool.h>
#include <stdint.h>

struct loop {
	struct lws_context	*lws;
	struct lws_vhost	*vhost;		/* of raw files */
	bool			 is_over;
};

/*
 * Start libwebsockets; its notices become debug lines of ours.  0, or -1
 * after a line in the log.
 */
int	 loop_init(struct loop *l) __attribute__((warn_unused_result));
void	 loop_fini(struct loop *l);

/* Serve until loop_stop(). */
void	 loop_run(struct loop *l);
void	 loop_stop(struct loop *l);

/* --- timers ----------------------------------------------------------------*/

/* Embedded; all zero: not set.  Cleared before it is freed. */
struct loop_timer {
	lws_sorted_usec_list_t	 sul;		/* first: see loop.c */
	void			(*fn)(void *arg);
	void			*arg;
};

/* Call fn once in ms milliseconds, instead of when it was to be before. */
void	 loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t ms,
	    void (*fn)(void *arg), void *arg);
void	 loop_timer_clear(struct loop *l, struct loop_timer *t);

/* --- descriptors -----------------------------------------------------------*/

struct watch;

/* Any of them may free the watch. */
struct watch_events {
	void	(*on_readable)(void *arg);
	void	(*on_writable)(void *arg);
	/*
	 * The other end is gone: no event will come any more, what it said
	 * before can still be read.
	 */
	void	(*on_hangup)(void *arg);
};

/*
 * Watch fd, which stays the caller's, for reading; NULL with errno.
 */
struct watch	*watch_new(struct loop *l, int fd,
		    const struct watch_events *events, void *arg);
void		 watch_free(struct watch **wp);

/* Whether to hear that it is readable (at first: yes). */
void		 watch_read(struct watch *w, bool wanted);

/* Hear once when it is writable. */
void		 watch_write(struct watch *w);

#endif
