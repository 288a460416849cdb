/*
 * A connection for libexecsrv that needs TLS, HTTP or Noise.  The library sends
 * the target in a line (reach_target.h), and gets one when it is connected:
 *
 *	{"ready":true}
 *
 * Then both sides send JSON-RPC messages, one per line.  The last line, instead
 * of "ready" or at any time after it, may be:
 *
 *	{"error":"words","permanent":false}
 *
 * permanent: another attempt would fail the same way.
 */
#pragma once

#include "common/client/reach/reach_target.h"
#include "common/client/reach/stdio_peer.h"
#include "common/dial/dial.h"
#include "common/dial/wsock.h"

struct reach;
struct remote;

/* A kind of target. */
struct reach_ops {
	/* Start to connect: 0, or -1 after reach_fail(). */
	int	(*start)(struct reach *r);
	void	(*fini)(struct reach *r);
	/* The websocket is connected. */
	void	(*on_open)(struct reach *r);
	void	(*on_message)(struct reach *r, uint8_t *data, size_t len,
		    bool is_binary);
	/*
	 * Send a frame, of stdio_peer_first() or its own; false: none to send.
	 */
	bool	(*send)(struct reach *r);
	/* The library can take messages again. */
	void	(*on_room)(struct reach *r);
	/*
	 * The websocket ended, or connecting failed.  true: handled here;
	 * false: report it to the library.
	 */
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
	const struct reach_ops		*ops;		/* of this kind */
	struct stdio_peer			 stdio_peer;
	struct wsock			*sock;
	struct wsock_text		 text;		/* reach_direct.c */
	struct remote			*remote;	/* locked; or NULL */
	struct wsloop_timer		 silence, late;
	bool				 is_ready, is_leaving, is_ending;
	bool				 is_pinged, must_ping, must_pong;
	bool				 was_full;
	uint64_t			 heard;		/* ms, on_silence() */
	char				 why[256];	/* of reach_fail() */
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
 * Connect a websocket, within ms, for messages of at most max bytes.  0, or -1
 * after reach_fail().
 */
int	 reach_connect(struct reach *r, const struct target *t, uint64_t ms,
	    size_t max);

/* Free the websocket. */
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

/* Write the error line, of at most size bytes.  Return its length, or 0. */
size_t	 reach_put_why(const struct reach *r, char *out, size_t size);
