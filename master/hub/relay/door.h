/* Where connections come in: TLS, the PROXY protocol, one HTTP request each. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/net/httphead.h"
#include "master/hub/relay/hubconn.h"

#define DOOR_ADDRESS_MAX	48

struct door;

struct door_events {
	/* A request is complete: answer it, or upgrade, now or later. */
	void	(*on_request)(void *arg, struct door *d);
};

struct door_counts {
	uint64_t	 accepted, requests, timeouts, crowded, full, strangers;
	uint64_t	 malformed;	/* no request of HTTP, or too large */
};

struct doors {
	struct hubconn_loop		*loop;
	TAILQ_HEAD(, door)		 open;	/* the oldest first */
	size_t				 n;
	size_t				 max;
	struct timer			 timer;
	struct door_counts		 counts;
	const struct door_events	*events;
	void				*arg;
};

/* Private but for request, address, is_metrics; and in and head, to send on. */
struct door {
	TAILQ_ENTRY(door)	 entry;
	struct doors		*all;
	struct hubconn		*conn;
	struct buf		 in;
	uint64_t		 since;		/* ms */
	size_t			 head;		/* bytes, when complete */
	bool			 wants_proxy;	/* its header comes first */
	bool			 is_metrics;
	bool			 is_asked;	/* the request was told */
	char			 address[DOOR_ADDRESS_MAX];
	struct httphead_request	 request;
	struct span		 body;
	/* Of one that is answered later; called when the client left. */
	void			(*cancel)(void *arg);
	void			*cancel_arg;
};

void	 doors_init(struct doors *all, struct hubconn_loop *loop,
	    const struct door_events *e, void *arg);
void	 doors_fini(struct doors *all);

/* Take an accepted socket.  -1 with errno: it is still the caller's. */
int	 door_open(struct doors *all, int fd, SSL_CTX *tls, bool wants_proxy,
	    bool is_metrics, const char *address) MUST_CHECK;

/* Answer and end it.  lines: header lines, each with CR LF; type NULL: JSON. */
void	 door_answer(struct door **dp, int status, const char *lines,
	    const char *type, const void *body, size_t len);

/* Answer {"error":{"code":...,"message":...}}. */
void	 door_error(struct door **dp, int status, const char *lines,
	    const char *code, const char *message);

/*
 * Answer 101.  The connection is the caller's; rest_out, what came behind the
 * head, is valid until door_free().
 */
struct hubconn *door_upgrade(struct door *d, struct span *rest_out);
/* Take the connection as it is, without an answer; then door_free(). */
struct hubconn *door_take(struct door *d);
void	 door_free(struct door **dp);

/* Answer later: fn is called if the client leaves before that. */
void	 door_wait(struct door *d, void (*fn)(void *arg), void *arg);
