/*
 * The worker's end of the channel to execsrv-http, which does HTTP for a
 * session.  Started for a call, ended after LIMIT_HTTP_IDLE without one, or
 * when the client has gone.  Its messages are not trusted, since it parses
 * foreign data.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ev.h"

struct http_link;
struct helper;
struct scgroup;
struct http_call;

/*
 * Events of a call, in this order.  on_answer and on_piece may end the call
 * (http_call_fail(), http_link_stop()).
 */
struct http_events {
	/* A response header; valid until the return. */
	void	(*on_field)(struct http_call *c, const char *name,
		    const char *value);
	/* All headers have come. */
	void	(*on_answer)(struct http_call *c, unsigned status);
	/* A part of the body; in all at most LIMIT_HTTP_WINDOW more than
	   http_call_took() has reported. */
	void	(*on_piece)(struct http_call *c, const void *data, size_t len);
	/*
	 * The end: error is NULL, or why; refused: by the client's fault.
	 * Once, unless the link is stopped before.
	 */
	void	(*on_done)(struct http_call *c, const char *error,
		    bool refused);
	/* Free the call.  Once, last. */
	void	(*on_free)(struct http_call *c);
};

struct http_header {
	char	*name, *value;
	bool	 is_secret;	/* not to be sent to another host */
};

enum http_state { HTTP_WAITING, HTTP_UPLOADING, HTTP_AWAITING, HTTP_BODY };

/* A request.  Embedded. */
struct http_call {
	/* The request: the owner's, until on_free. */
	const struct http_events *events;
	const char		*method, *url;
	bool			 follow;	/* redirects */
	const struct http_header *headers;
	size_t			 nheaders;
	char			*body;		/* malloc'd; freed when sent */
	size_t			 body_len;
	size_t			 cost;		/* bytes without the body */
	bool			 has_timeout;
	uint64_t		 timeout_ms;	/* for all of it */

	/* Private. */
	TAILQ_ENTRY(http_call)	 entry;
	struct http_link	*link;
	enum http_state		 state;
	uint64_t		 id;
	size_t			 body_sent;
	size_t			 body_room;	/* granted for the body */
	size_t			 head_len;	/* of the response */
	size_t			 room;		/* granted by us */
	size_t			 owed;		/* taken, not granted again */
	struct timer		 timer_ev;
};

/* Open execsrv-http for execution (O_PATH).  -1: not installed. */
int	 http_link_program(void) MUST_CHECK;

/*
 * exe: of http_link_program(), or -1; stays the caller's.  limited: by TasksMax
 * (worker/os/scgroup.h), or NULL; likewise.  NULL with errno.
 */
struct http_link *http_link_new(struct event_base *base, int exe,
		    const struct scgroup *limited, unsigned session);
void		 http_link_free(struct http_link **lp);

/* Whether a call of len bytes in all may wait. */
bool		 http_link_has_room(const struct http_link *l, size_t len);

/* Start a call; it may have ended on return. */
void		 http_call_start(struct http_link *l, struct http_call *c);

/* Report len bytes of the body as taken: that many more may come. */
void		 http_call_took(struct http_call *c, size_t len);

/* End a call: on_done gets the error. */
void		 http_call_fail(struct http_call *c, const char *error);

/* Drop all calls without on_done, and end the process. */
void		 http_link_stop(struct http_link *l);

/* The process, for those who reap it. */
struct helper	*http_link_helper(struct http_link *l);
