/*
 * One connection for libexecsrv, of a kind that needs TLS, HTTP or Noise: what
 * the whole of execsrv-reach is about.  The library says in a line what is to
 * be reached (reach_target.h), and is answered by one:
 *
 *	{"ready":true}
 *
 * From there on both sides send messages of JSON-RPC, one a line.  Or, instead
 * of that answer and at any time as the last line:
 *
 *	{"error":"words","permanent":false}
 *
 * permanent: another attempt would end the same way.
 */
#ifndef COMMON_CLIENT_REACH_REACH_CONN_H
#define COMMON_CLIENT_REACH_REACH_CONN_H

#include "common/client/reach/reach_target.h"
#include "common/client/reach/stdio_peer.h"
#include "common/dial/dial.h"
#include "common/dial/wsock.h"

struct reach;
struct remote;

/* What a kind of goal does differently. */
struct far {
	/* Begin: 0, or -1 after reach_fail(). */
	int	(*start)(struct reach *r);
	void	(*fini)(struct reach *r);
	/* The websocket is connected. */
	void	(*on_open)(struct reach *r);
	void	(*on_message)(struct reach *r, uint8_t *data, size_t len,
		    bool is_binary);
	/*
	 * Send a frame, of stdio_peer_first() or of its own; false: there is
	 * none.
	 */
	bool	(*send)(struct reach *r);
	/* The library takes messages again. */
	void	(*on_room)(struct reach *r);
	/*
	 * The websocket ended, or never came up.  Whether it is dealt with:
	 * else the library is told.
	 */
	bool	(*on_end)(struct reach *r, unsigned status, const char *why);
};

extern const struct far	far_direct, far_remote;

struct reach {
	struct wsloop			 loop;
	struct resolver			*resolver;
	struct dialer			 dialer;
	struct reach_target			 reach_target;
	struct target			 target;	/* of goal.url */
	char				*authorization;	/* locked; or NULL */
	const struct far		*far;
	struct stdio_peer			 stdio_peer;
	struct wsock			*sock;
	struct wsock_text		 text;		/* far_direct */
	struct remote			*remote;	/* far_remote; locked */
	struct wsloop_timer		 silence, late;
	bool				 is_ready, is_leaving, is_ending;
	bool				 is_pinged, must_ping, must_pong;
	bool				 was_full;
	uint64_t			 heard;		/* ms */
	char				 why[256];	/* it will end */
	bool				 is_permanent;
};

/*
 * Judge the goal and make ready for it; the last that needs files.  0, or -1:
 * r->why says why it is in vain for ever.
 */
int	 reach_init(struct reach *r) __attribute__((warn_unused_result));
void	 reach_fini(struct reach *r);

/* Serve the library on that socket until the end. */
void	 reach_run(struct reach *r, int fd);

/* Connect a websocket to there, within ms; 0, or -1 after reach_fail(). */
int	 reach_connect(struct reach *r, const struct target *t, uint64_t ms,
	    size_t max);

/* Never mind the websocket. */
void	 reach_disconnect(struct reach *r);

/* The server is there. */
void	 reach_ready(struct reach *r);

/* A message for the library; the websocket waits until it is taken. */
void	 reach_deliver(struct reach *r, uint8_t *data, size_t len);

/* There is something to send. */
void	 reach_want(struct reach *r);

/* Tell why, and end; the first reason counts. */
void	 reach_fail(struct reach *r, bool is_permanent, const char *fmt, ...)
	    __attribute__((format(printf, 3, 4)));

/* The line that says so, of size bytes at most; its length. */
size_t	 reach_put_why(const struct reach *r, char *out, size_t size);

#endif
