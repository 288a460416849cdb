/*
 * The harness ends of the streams of a server in remote mode, which is started
 * here and connects to a registry and a rendezvous of our own.  A stream keeps
 * account of what came, to be looked at between turns.  Any failure ends the
 * program, also a stream that the server resets.
 */
#pragma once

#include <sys/types.h>

#include "t/bench/client.h"

struct harness;

/* Start the program and await its websocket. */
struct harness	*harness_open(const struct bench *);
void		 harness_close(struct harness **);

/* The process that was started. */
pid_t		 harness_pid(const struct harness *);

/* Wait until something comes, and take it; or for so long. */
void		 harness_turn(struct harness *);
void		 harness_turns(struct harness *, double seconds);

/* Send what the streams have to send. */
void		 harness_flush(struct harness *);

/* What came through a stream. */
struct remote {
	struct harness	*h;
	struct wire	*wire;		/* private */
	bool		 is_open;	/* message 2 came */
	long		 last_id;	/* of requests */
	long		 replied;	/* id of the last answer */
	bool		 refused;	/* which is an error: -32010 */
	bool		 exited, closed;
	unsigned long	 outputs;	/* events */
	size_t		 bytes;		/* in them */
	double		 replied_at, output_at;
	size_t		 sealed;	/* bytes in all records */
	double		 sealed_at;	/* when the last of them came */
	double		 crypto;	/* seconds that message 2 took us */
	char		 session[64];
};

/* A stream that is not yet begun; its message 1 is ready. */
struct remote	*remote_new(struct harness *);

/* Reset it if it was begun, and forget the pointer. Flush it. */
void		 remote_free(struct remote **);

/* Begin: message 1. Flush it. */
void		 remote_greet(struct remote *);

/* From now on records are counted, not opened: nothing else is known. */
void		 remote_sink(struct remote *);

/* Send a request, as client_call(), or only the notification. Flush it. */
long		 remote_call(struct remote *, const char *method,
		    const char *params, ...) PRINTF(3, 4);
void		 remote_initialized(struct remote *);

/* The request "initialize", which may resume a session. Flush it. */
long		 remote_initialize(struct remote *, const char *resume);

/* Flush, and wait for an answer. */
void		 remote_wait(struct remote *, long id);

/* A new stream with a session of its own. */
struct remote	*remote_open(struct harness *);

/* Start argv ("a","b" as in JSON) as process "p". Returns the id. Flush it. */
long		 remote_start(struct remote *, bool pipe_stdin,
		    const char *argv, ...) PRINTF(3, 4);
