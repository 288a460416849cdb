/*
 * One connection after another: a socket, or a child with one as its standard
 * input and output, that carries WebSocket frames or lines.  Embedded in its
 * client, which hears by events; after on_lost and on_failed nothing goes in or
 * out until transport_close().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/client/serve/launch.h"
#include "common/client/transport/loopfd.h"
#include "common/client/transport/http_upgrade.h"
#include "common/client/url.h"
#include "common/limit.h"
#include "common/net/inflight.h"
#include "common/net/ws.h"

enum transport_state {
	TRANSPORT_CLOSED,
	TRANSPORT_CONNECTING,	/* connect(2) is under way */
	TRANSPORT_UPGRADING,	/* the answer to the upgrade is awaited */
	TRANSPORT_UP,		/* messages go both ways */
	TRANSPORT_DOWN		/* lost or given up, not closed yet */
};

struct transport_events {
	/* text is writable and valid during the call. */
	void	(*on_message)(void *arg, char *text, size_t len);
	/* The answer to transport_hello(), a line like a message. */
	void	(*on_hello)(void *arg, char *text, size_t len);
	/* Another one may be tried. */
	void	(*on_lost)(void *arg, const struct execsrv_error *why);
	/* Another connection would not help. */
	void	(*on_failed)(void *arg, const struct execsrv_error *why);
	/* transport_poll_events() or a wait_ms may have changed. */
	void	(*on_change)(void *arg);
};

#define TRANSPORT_LINE_MAX	((size_t)LIMIT_MESSAGE + LIMIT_FRAGMENT)

struct transport {
	const struct transport_events	*events;
	void				*arg;
	uint64_t			(*clock)(void);	/* ms */
	enum transport_state		 state;
	int				 fd;
	struct launched			 child;
	int				 log;		/* of it, or -1 */
	struct loopfd			 loop;
	int				 wake;
	bool				 is_lines;	/* no WebSocket */
	bool				 is_paused;
	bool				 was_up;
	char				 key[EXECSRV_KEY_LEN + 1];
	struct buf			 head;		/* upgrading; lines */
	struct ws_reader		 reader;
	struct buf			 out;
	bool				 out_broken;	/* EPIPE or the like */
	struct {
		bool	 is_due;		/* owed to a flood of pings */
		uint8_t	 data[WS_CONTROL_MAX];
		size_t	 len;
	}				 pong;
	struct {
		struct inflight	 line;
		uint64_t	 sent;		/* bytes of messages */
		uint64_t	 pings;		/* that measured it */
	} room;
	uint64_t			 last_sent;	/* ms */
	uint64_t			 last_heard;	/* ms */
	int				 silence_ms;	/* until given up */
	bool				 is_pinged;	/* nothing since */
};

/* 0, or -1 with errno: there is no descriptor for wake-ups. */
int	 transport_init(struct transport *t,
	    const struct transport_events *events, void *arg) MUST_CHECK;
void	 transport_fini(struct transport *t);

/* The time of its clock, in ms; when something last came from the server. */
uint64_t transport_now(const struct transport *t);
uint64_t transport_last_received(const struct transport *t);

/* --- opening and closing --- */

/*
 * CLOSED to CONNECTING: a socket; or a child, which speaks in lines, is_server:
 * one of ours, by its path (struct launch), whose standard error is read.  0,
 * or -1 with errno.
 */
int	 transport_connect(struct transport *t,
	    const struct execsrv_address *a) MUST_CHECK;
int	 transport_spawn(struct transport *t, const char *const *argv,
	    char **env, bool is_server) MUST_CHECK;

/* How connect(2) ended: 0, or an errno. */
int	 transport_connect_error(const struct transport *t);

/*
 * From CONNECTING, one of these: request a WebSocket, with a bearer token or
 * NULL; send bytes that are answered by on_hello, after which transport_up() is
 * called; or go UP at once.  0, or -1: lost (upgrade), errno (hello).
 */
int	 transport_upgrade(struct transport *t,
	    const struct execsrv_address *a, const char *token);
int	 transport_hello(struct transport *t, const void *data, size_t len)
	    MUST_CHECK;
void	 transport_up(struct transport *t);

bool	 transport_is_connecting(const struct transport *t);
bool	 transport_is_upgrading(const struct transport *t);
bool	 transport_is_up(const struct transport *t);

bool	 transport_was_up(const struct transport *t);
bool	 transport_has_child(const struct transport *t);

/* Give the connection up without an event: DOWN, unless CLOSED. */
void	 transport_stop(struct transport *t);

/* Close the socket, kill the child, drop unsent output: CLOSED. */
void	 transport_close(struct transport *t);

/* Send a close frame, if there are frames.  0, or -1: it is not up. */
int	 transport_send_close(struct transport *t);

/* Close the child's input and wait for its end; kill it if it is slow. */
void	 transport_end_child(struct transport *t);

/* The status of a child that has just ended, or -1. */
int	 transport_child_status(const struct transport *t);

/* Copy the last line of the child's standard error; false: none. */
bool	 transport_last_line(const struct transport *t, char *text,
	    size_t size);

/* --- messages: 0, or -1: it is not up (send: errno EPIPE) --- */

int	 transport_send(struct transport *t, const void *data, size_t len);

/*
 * How many bytes of a message keep the line busy, and no more; 0: it is, until
 * something comes.  is_first: nothing of its kind is under way; then a few are
 * allowed even so.  SIZE_MAX: that is not known, as of lines.
 */
size_t	 transport_room(const struct transport *t, bool is_first);

/* Write unsent output to the socket. */
int	 transport_flush(struct transport *t);

bool	 transport_has_output(const struct transport *t);

/* Take len bytes of the server.  -1: it is neither up nor upgrading. */
int	 transport_feed(struct transport *t, const void *data, size_t len)
	    MUST_CHECK;

/* Stop or go on reading; silence counts from when it goes on. */
void	 transport_pause(struct transport *t, bool is_paused);

/* --- for loops --- */

/* What to poll(2) the socket for; 0: nothing; and the socket, or -1. */
short	 transport_poll_events(const struct transport *t);
int	 transport_fd(const struct transport *t);

/*
 * Do so, for ms (-1: for ever), or until transport_wake(), from any thread or
 * signal handler; return its revents.
 */
short	 transport_poll(const struct transport *t, int ms);
void	 transport_wake(const struct transport *t);

/* Read, as poll(2) said; send pongs. */
void	 transport_handle(struct transport *t, short revents);

/* The ms until a heartbeat or a ping is due, or -1. */
int	 transport_wait_ms(const struct transport *t);

/* Ping a silent server, or give it up; for how long it may be silent. */
void	 transport_check_silence(struct transport *t);
void	 transport_set_silence(struct transport *t, int ms);
int	 transport_silence(const struct transport *t);

/* The descriptor for other loops (loopfd.h), made now; -1 with errno. */
int	 transport_loop_fd(struct transport *t);
bool	 transport_has_loop_fd(const struct transport *t);

/* Let it wait for the socket, for ms at the most (-1: for ever). */
void	 transport_watch(struct transport *t, int ms);

/* It became readable: call before; after, if the socket still is. */
void	 transport_loop_began(struct transport *t);
void	 transport_loop_again(struct transport *t);
