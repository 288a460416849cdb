/* libwebsockets' event loop, with others' descriptors adopted as raw files. */
#pragma once

#include <libwebsockets.h>

#include <stdbool.h>
#include <stdint.h>

struct wsloop {
	struct lws_context	*lws;
	struct lws_vhost	*vhost;		/* of raw files */
	bool			 is_over;
};

/* 0, or -1 after a line in the log. */
int	 wsloop_init(struct wsloop *l) MUST_CHECK;
void	 wsloop_fini(struct wsloop *l);

/* Until wsloop_stop(). */
void	 wsloop_run(struct wsloop *l);
void	 wsloop_stop(struct wsloop *l);

/* --- timers ----------------------------------------------------------------*/

/* Embedded; zeroed: not set.  Clear before freeing. */
struct wsloop_timer {
	lws_sorted_usec_list_t	 sul;		/* first: see wsloop.c */
	void			(*fn)(void *arg);
	void			*arg;
};

/* Call fn once; replaces an earlier time. */
void	 wsloop_timer_set(struct wsloop *l, struct wsloop_timer *t, uint64_t ms,
	    void (*fn)(void *arg), void *arg);
void	 wsloop_timer_clear(struct wsloop *l, struct wsloop_timer *t);

/* --- descriptors -----------------------------------------------------------*/

struct wswatch;

/* Each may free the watch. */
struct wswatch_events {
	void	(*on_readable)(void *arg);
	void	(*on_writable)(void *arg);
	/* The last event; data may still be unread. */
	void	(*on_hangup)(void *arg);
};

/* fd stays the caller's.  NULL with errno. */
struct wswatch	*wswatch_new(struct wsloop *l, int fd,
		    const struct wswatch_events *events, void *arg);
void		 wswatch_free(struct wswatch **wp);

/* Whether on_readable is called; at first: yes. */
void		 wswatch_read(struct wswatch *w, bool wanted);

/* Call on_writable once. */
void		 wswatch_write(struct wswatch *w);
