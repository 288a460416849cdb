/*
 * The worker's end of its channel to execsrv-http, the process that does HTTP
 * for it: one for a session, started when a call needs it and ended when
 * none did for LIMIT_HTTP_IDLE, or when the client is gone.  What it says is
 * not believed: it reads foreign bytes.
 */
#ifndef WORKER_HTTP_HTTP_LINK_H
#define WORKER_HTTP_HTTP_LINK_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct http_link;
struct http_call;

/*
 * What becomes of a call, in this order.  on_answer and on_piece may end it
 * (http_call_fail(), http_link_stop()); nobody looks at it afterwards.
 */
struct http_events {
	/* A header of the answer; valid until the return. */
	void	(*on_field)(struct http_call *c, const char *name,
		    const char *value);
	/* All headers are there. */
	void	(*on_answer)(struct http_call *c, unsigned status);
	/*
	 * len bytes of the body; no more come than were taken
	 * (http_call_took()) and LIMIT_HTTP_WINDOW beyond.
	 */
	void	(*on_piece)(struct http_call *c, const void *data, size_t len);
	/*
	 * It is over: error is NULL, or why; refused: because of what the
	 * client gave.  Once, unless the link is stopped first.
	 */
	void	(*on_done)(struct http_call *c, const char *error,
		    bool refused);
	/* The link lets go of it: free it.  Once, last. */
	void	(*on_free)(struct http_call *c);
};

struct http_header {
	char	*name, *value;
	bool	 is_secret;	/* not for another host */
};

enum http_state { HTTP_WAITING, HTTP_UPLOADING, HTTP_AWAITING, HTTP_BODY };

/* One request.  Embedded in what its owner knows of it. */
struct http_call {
	/* What is asked: the owner's, until on_free. */
	const struct http_events *events;
	const char		*method, *url;
	bool			 follow;	/* redirects */
	const struct http_header *headers;
	size_t			 nheaders;
	char			*body;		/* malloc'd; freed when sent */
	size_t			 body_len;
	size_t			 cost;		/* bytes besides the body */
	bool			 has_timeout;
	uint64_t		 timeout_ms;	/* until its end */

	/* The link's. */
	TAILQ_ENTRY(http_call)	 entry;
	struct http_link	*link;
	enum http_state		 state;
	uint64_t		 id;
	size_t			 body_sent;
	size_t			 body_room;	/* the other end's, for it */
	size_t			 head_len;	/* of the answer */
	size_t			 room;		/* for its body */
	size_t			 owed;		/* taken and not yet said */
	struct timer		 timer_ev;
};

/*
 * Open execsrv-http, which lies beside our own program, to be executed.  -1
 * when it is not there.
 */
int	 http_link_program(void) __attribute__((warn_unused_result));

/*
 * A link that starts the program that exe (-1: there is none) is open on.
 * exe stays the caller's.  NULL with errno.
 */
struct http_link *http_link_new(struct event_base *base, int exe,
		    unsigned session);
void		 http_link_free(struct http_link **lp);

/* Whether a call of len bytes, body and all, may be added to what waits. */
bool		 http_link_has_room(const struct http_link *l, size_t len);

/* Begin a call; it may be over when this returns. */
void		 http_call_start(struct http_link *l, struct http_call *c);

/* len bytes were taken, that much more may come. */
void		 http_call_took(struct http_call *c, size_t len);

/* End a call: on_done hears the error. */
void		 http_call_fail(struct http_call *c, const char *error);

/* Drop all calls, without on_done, and let the process go. */
void		 http_link_stop(struct http_link *l);

/* The process, or 0. */
pid_t		 http_link_pid(const struct http_link *l);

/* A child ended: whether it was ours. */
bool		 http_link_reaped(struct http_link *l, pid_t pid, int status);

#endif
