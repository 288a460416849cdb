/*
 * A connection for libexecsrv that needs TLS, HTTP or Noise.  It sends the
 * target in a line (reach_target.h), and gets {"ready":true} when it is
 * connected; then both sides send JSON-RPC messages, a line each.  The last
 * line, at any time, may be {"error":"words","permanent":false}; permanent:
 * another attempt would fail the same way.
 */
#pragma once

#include "common/client/reach/reach_target.h"
#include "common/client/reach/stdio_peer.h"
#include "common/dial/dial.h"
#include "common/dial/wsock.h"

struct reach;
struct refusal;
struct remote;

struct reach_ops {
	/* 0, or -1 after reach_fail(). */
	int	(*start)(struct reach *r);
	void	(*fini)(struct reach *r);
	void	(*on_open)(struct reach *r);
	void	(*on_message)(struct reach *r, uint8_t *data, size_t len,
		    bool is_binary);
	/* A frame, of stdio_peer_first() or its own; false: none. */
	bool	(*send)(struct reach *r);
	/* The library can take messages again. */
	void	(*on_room)(struct reach *r);
	/* It ended, or could not connect.  false: report it to the library. */
	bool	(*on_end)(struct reach *r, unsigned status, const char *why);
};

extern const struct reach_ops	reach_direct_ops, reach_remote_ops;

struct reach {
	struct wsloop			 loop;
	struct resolver			*resolver;
	struct dialer			 dialer;
	struct reach_target			 reach_target;
	struct target			 target;	/* parsed url */
	char				*authorization;	/* locked; or NULL */
	const struct reach_ops		*ops;
	struct stdio_peer			 stdio_peer;
	struct wsock			*sock;
	struct wsock_text		 text;
	struct remote			*remote;	/* locked; or NULL */
	struct refusal			*refusal;	/* or NULL */
	struct wsloop_timer		 silence, late;
	bool				 is_ready, is_leaving, is_ending;
	bool				 is_pinged, must_ping, must_pong;
	bool				 was_full;
	uint64_t			 heard;		/* ms, on_silence() */
	char				 why[256];
	bool				 is_permanent;
};

/*
 * Check the target and prepare to connect; the last step that needs files.  0,
 * or -1 with the reason in r->why, which is permanent.
 */
int	 reach_init(struct reach *r) MUST_CHECK;
void	 reach_fini(struct reach *r);

/* Serve the library on a socket until the end. */
void	 reach_run(struct reach *r, int fd);

/*
 * Connect, within ms, for messages of up to max bytes.  -1 after reach_fail().
 */
int	 reach_connect(struct reach *r, const struct target *t, uint64_t ms,
	    size_t max);

void	 reach_disconnect(struct reach *r);

/* The server is connected: tell the library. */
void	 reach_ready(struct reach *r);

/* Send the library a message; pauses reading the websocket meanwhile. */
void	 reach_deliver(struct reach *r, uint8_t *data, size_t len);

/* Call ops->send when the websocket is writable. */
void	 reach_want(struct reach *r);

/* Send the library an error, and end; only the first one counts. */
void	 reach_fail(struct reach *r, bool is_permanent, const char *fmt, ...)
	    PRINTF(3, 4);

/*
 * A server refused with 403: ask it why, then reach_fail().  0, or -1: it
 * cannot be asked, or was.
 */
int	 reach_ask_why(struct reach *r) MUST_CHECK;
void	 reach_refusal_fini(struct reach *r);

/* Write the error line, of at most size bytes.  Return its length, or 0. */
size_t	 reach_put_why(const struct reach *r, char *out, size_t size);
