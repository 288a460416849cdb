/*
 * A client: one session, over one connection after another.  Its four parts
 * know nothing of each other.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/client/calls.h"
#include "common/client/execsrv.h"
#include "common/client/opening.h"
#include "common/client/recovery.h"
#include "common/client/transport/transport.h"

/*
 * The first connection and all later ones go through
 *	WAITING		for the time of the next attempt
 *	CONNECTING	the transport is not up yet
 *	INITIALIZING	the session was asked for
 *	CATCHING_UP	what processes said meanwhile is asked for
 * to OPEN.  A lost one is LOST until the loop comes to it, and then WAITING
 * again until the time for recovery is up, or for opening: GONE.
 */
enum execsrv_state {
	EXECSRV_WAITING,
	EXECSRV_CONNECTING,
	EXECSRV_INITIALIZING,
	EXECSRV_CATCHING_UP,
	EXECSRV_OPEN,
	EXECSRV_LOST,
	EXECSRV_GONE
};

#define EXECSRV_PROCESS_ID	64	/* bytes of an id, with NUL */

/* It may have been started: its answer was lost. */
struct unconfirmed_start {
	TAILQ_ENTRY(unconfirmed_start)	 entry;
	char				 id[EXECSRV_PROCESS_ID];
};

struct client_events {
	/* execsrv_wait_ms() or what the socket is polled for may change. */
	void	(*on_change)(struct execsrv *x);
	/* Take a notification; return whether it was known. */
	bool	(*on_note)(struct execsrv *x, const struct json *j,
		    const char *method, uint32_t params);
	void	(*on_hello)(struct execsrv *x, char *text, size_t len);
	/* Take an object that is not JSON-RPC; return whether it may come. */
	bool	(*on_other)(struct execsrv *x, const struct json *j);
};

struct execsrv {
	const struct client_events	*events;
	enum execsrv_state		 state;
	struct execsrv_error		 why;		/* it is GONE */
	bool				 is_held;
	bool				 is_handling;
	struct transport		 transport;
	struct calls			 calls;
	struct recovery			 recovery;
	struct opening			 opening;
	execsrv_note_fn			*on_note;	/* or NULL */
	void				*note_arg;
	execsrv_status_fn		*on_status;	/* or NULL */
	void				*status_arg;
	enum execsrv_status		 told;
	execsrv_trace_fn		*on_trace;	/* or NULL */
	void				*trace_arg;
	struct {
		TAILQ_HEAD(, execsrv_process)	 live;
		TAILQ_HEAD(, execsrv_process)	 freed;	/* while handling */
		TAILQ_HEAD(, unconfirmed_start)	 unconfirmed;
		uint64_t			 last_id;
	}				 processes;
	struct {
		TAILQ_HEAD(, execsrv_http)	 live;
		TAILQ_HEAD(, execsrv_http)	 freed;	/* while handling */
		uint64_t			 last_id;
	}				 https;
	struct {
		TAILQ_HEAD(, execsrv_watch)	 live;
		uint64_t			 last_id;
	}				 watches;
	struct {
		TAILQ_HEAD(, execsrv_transfer)	 live;
		uint64_t			 last_id;
		bool				 has_work;	/* go on */
	}				 transfers;
};

/* Without a connection, or NULL; events stay the caller's. */
struct execsrv	*client_new(const struct client_events *events);

/* Without a close frame; no process or the like is left. */
void		 client_free(struct execsrv **xp);

void		 execsrv_set_state(struct execsrv *x, enum execsrv_state to);

/* Whether messages go both ways; are the caller's; there is no session yet. */
bool		 execsrv_has_frames(const struct execsrv *x);
bool		 execsrv_is_open(const struct execsrv *x);
bool		 execsrv_is_opening(const struct execsrv *x);

/*
 * It failed for good: the first reason stays.  Or the connection is lost: the
 * loop tries another one, if there is a session to resume; else the client
 * fails.  Always -1, with errno EPIPE.
 */
int		 execsrv_fail(struct execsrv *x, enum execsrv_reason why,
		    const char *fmt, ...) PRINTF(3, 4);
int		 execsrv_fail_as(struct execsrv *x,
		    const struct execsrv_error *e);
int		 execsrv_fail_memory(struct execsrv *x);
int		 execsrv_lose(struct execsrv *x, enum execsrv_reason why,
		    const char *fmt, ...) PRINTF(3, 4);
int		 execsrv_lose_as(struct execsrv *x,
		    const struct execsrv_error *e);

/* Whether the first connection is still to be tried again. */
bool		 execsrv_tries_on(const struct execsrv *x);

/* Call the hook for a status that is another one than it was last told. */
void		 execsrv_tell_status(struct execsrv *x);

/* 0, or -1 with errno EPIPE: the connection is not up. */
int		 execsrv_send(struct execsrv *x, const char *text, size_t len);

/* A connection that is lost from now on is not made anew. */
void		 execsrv_end_recovery(struct execsrv *x);

/* Stop or go on reading output (while catching up all is read). */
void		 execsrv_set_held(struct execsrv *x, bool is_held);

/* What the loop waits for may have changed; output came. */
void		 execsrv_changed(struct execsrv *x);
void		 execsrv_progress(struct execsrv *x);

unsigned	 execsrv_read_max(const struct execsrv *x);

void		 execsrv_make_id(const struct execsrv *x, char letter,
		    uint64_t n, char *out, size_t size);

uint64_t	 execsrv_now(const struct execsrv *x);	/* ms */

/*
 * A request: begin, write its params to o, end.  -1: the client failed (EPIPE),
 * or errno EFBIG (end only); then there is no request.
 */
int		 execsrv_begin(struct execsrv *x, const char *method,
		    struct json_out *o) MUST_CHECK;
int		 execsrv_end(struct execsrv *x,
		    const struct execsrv_call_opts *opts, struct json_out *o);

/* The same with params that are JSON, or NULL for none. */
int		 execsrv_request(struct execsrv *x, const char *method,
		    const char *params, size_t len,
		    const struct execsrv_call_opts *opts) MUST_CHECK;

/* Why a request could not be sent: errno, or that x failed. */
void		 execsrv_error_unsent(struct execsrv_error *e,
		    const struct execsrv *x);

/* The same for fn (may be NULL), which is called with the answer. */
int		 execsrv_call(struct execsrv *x, const char *method,
		    const char *params, size_t len, execsrv_answer_fn *fn,
		    void *arg) MUST_CHECK;

/* Ignore answers that were to go to fn with arg. */
void		 execsrv_forget(struct execsrv *x, execsrv_answer_fn *fn,
		    const void *arg);

void		 execsrv_on_message(struct execsrv *x, char *text, size_t len);
