/*
 * The event loop: libwebsockets' own, which cannot be driven from outside.
 * Our sockets are adopted into it as raw files.
 */
#ifndef COMMON_DIAL_WSLOOP_H
#define COMMON_DIAL_WSLOOP_H

#include <libwebsockets.h>

#include <stdbool.h>
#include <stdint.h>

struct wsloop {
	struct lws_context	*lws;
	struct lws_vhost	*vhost;		/* of raw files */
	bool			 is_over;
};

/*
 * Start libwebsockets; its notices become debug lines of ours.  0, or -1
 * after a line in the log.
 */
int	 wsloop_init(struct wsloop *l) __attribute__((warn_unused_result));
void	 wsloop_fini(struct wsloop *l);

/* Serve until wsloop_stop(). */
void	 wsloop_run(struct wsloop *l);
void	 wsloop_stop(struct wsloop *l);

/* --- timers ----------------------------------------------------------------*/

/* Embedded; all zero: not set.  Cleared before it is freed. */
struct wsloop_timer {
	lws_sorted_usec_list_t	 sul;		/* first: see wsloop.c */
	void			(*fn)(void *arg);
	void			*arg;
};

/* Call fn once in ms milliseconds, instead of when it was to be before. */
void	 wsloop_timer_set(struct wsloop *l, struct wsloop_timer *t, uint64_t ms,
	    void (*fn)(void *arg), void *arg);
void	 wsloop_timer_clear(struct wsloop *l, struct wsloop_timer *t);

/* --- descriptors -----------------------------------------------------------*/

struct wswatch;

/* Any of them may free the watch. */
struct wswatch_events {
	void	(*on_readable)(void *arg);
	void	(*on_writable)(void *arg);
	/*
	 * The other end is gone: no event will come any more, what it said
	 * before can still be read.
	 */
	void	(*on_hangup)(void *arg);
};

/* Watch fd, which stays the caller's, for reading.  NULL with errno. */
struct wswatch	*wswatch_new(struct wsloop *l, int fd,
		    const struct wswatch_events *events, void *arg);
void		 wswatch_free(struct wswatch **wp);

/* Whether to hear that it is readable (at first: yes). */
void		 wswatch_read(struct wswatch *w, bool wanted);

/* Hear once when it is writable. */
void		 wswatch_write(struct wswatch *w);

#endif
