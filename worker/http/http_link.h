/*
 * The worker's channel to execsrv-http, which is not trusted: it parses foreign
 * data.  Ends LIMIT_HTTP_IDLE after the last call, or with the client.
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

/* In this order.  on_answer and on_piece may end the call. */
struct http_events {
	/* Valid until the return. */
	void	(*on_field)(struct http_call *c, const char *name,
		    const char *value);
	/* After all fields. */
	void	(*on_answer)(struct http_call *c, unsigned status);
	/* At most LIMIT_HTTP_WINDOW more than http_call_took() reported. */
	void	(*on_piece)(struct http_call *c, const void *data, size_t len);
	/* error: NULL, or why; refused: the client's fault.  Once, or never. */
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

/* Embedded. */
struct http_call {
	/* The owner's, until on_free. */
	const struct http_events *events;
	const char		*method, *url;
	bool			 follow;	/* redirects */
	const struct http_header *headers;
	size_t			 nheaders;
	char			*body;		/* malloc'd; freed when sent */
	size_t			 body_len;
	size_t			 cost;		/* bytes without the body */
	bool			 has_timeout;
	uint64_t		 timeout_ms;	/* in all */

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

/* O_PATH.  -1: not installed. */
int	 http_link_program(void) MUST_CHECK;

/* exe, or -1, and limited (scgroup.h), or NULL, stay the caller's. */
struct http_link *http_link_new(struct event_base *base, int exe,
		    const struct scgroup *limited, unsigned session);
void		 http_link_free(struct http_link **lp);

/* May a call of len bytes wait? */
bool		 http_link_has_room(const struct http_link *l, size_t len);

/* It may have ended on return. */
void		 http_call_start(struct http_link *l, struct http_call *c);

/* Len bytes of the body: that many more may come. */
void		 http_call_took(struct http_call *c, size_t len);

/* on_done gets the error. */
void		 http_call_fail(struct http_call *c, const char *error);

/* All calls without on_done, and the process. */
void		 http_link_stop(struct http_link *l);

/* For those who reap it. */
struct helper	*http_link_helper(struct http_link *l);
