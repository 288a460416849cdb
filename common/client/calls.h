/* JSON-RPC of a client, which hears what happens by events.  Embedded. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

/* Valid during the call of its hook. */
struct execsrv_answer {
	const struct json		*json;
	uint32_t			 result;	/* token, unless: */
	const struct execsrv_error	*error;		/* or NULL */
	int				 tag;
	/* The connection was lost: whether the server did it is unknown. */
	bool				 is_unconfirmed;
};

typedef void execsrv_answer_fn(void *arg, const struct execsrv_answer *a);

struct execsrv_call_opts {
	execsrv_answer_fn	*fn;	/* or NULL */
	void			*arg;
	int			 tag;
	bool			 owns_arg;	/* free(3) it with the client */
	bool			 is_safe;	/* it may be sent twice */
	bool			 is_callers;
	bool			 is_internal;	/* of the handshake: sent before
						   the session is open */
	bool			 is_quiet;	/* no answer when the client
						   fails: on_lost tells */
};

struct calls_events {
	/* 0, or -1: the connection failed or is lost. */
	int	(*send)(void *arg, const char *text, size_t len);
	/* A request of the caller was answered with a result. */
	void	(*on_result)(void *arg);
	void	(*on_note)(void *arg, const struct json *j, const char *method,
		    uint32_t params);
	/* Take an object that is not JSON-RPC; return whether it may come. */
	bool	(*on_other)(void *arg, const struct json *j);
	/* The connection is lost. */
	void	(*on_protocol_error)(void *arg,
		    const struct execsrv_error *why);
	/* Out of memory or room: the client cannot go on. */
	void	(*on_failed)(void *arg, const struct execsrv_error *why);
};

struct execsrv_call;

struct calls {
	const struct calls_events	*events;
	void				*arg;
	uint64_t			 last_id;
	TAILQ_HEAD(, execsrv_call)	 list;
	struct buf			 text;
	struct json			 json;
	size_t				 kept;		/* bytes of texts */
	uint64_t			 received;	/* bytes of messages */
	uint64_t			 acknowledged;	/* of them; 0: none */
};

void	 calls_init(struct calls *cs, const struct calls_events *events,
	    void *arg);
void	 calls_fini(struct calls *cs);

/* --- out --- */

/*
 * Begin a request; then write its params to o; end it: it is sent now, or when
 * there is a connection.  has_next: a safe request can be sent again on another
 * one.  0, or -1 with errno and no request: EFBIG; EPIPE, the client failed.
 */
void	 calls_begin(struct calls *cs, const char *method, struct json_out *o);
int	 calls_end(struct calls *cs, const struct execsrv_call_opts *opts,
	    bool is_open, bool has_next, struct json_out *o);

/*
 * Forget a request of the caller: one that waits is not sent, an answer is
 * ignored.  0, or -1 with errno ENOENT: there is none, or not any more.
 */
int	 calls_cancel(struct calls *cs, uint64_t id);

/* Ignore answers that were to go to fn with arg. */
void	 calls_forget(struct calls *cs, execsrv_answer_fn *fn,
	    const void *arg);

/* Whether an answer to a request with this tag is due. */
bool	 calls_await(const struct calls *cs, int tag);
bool	 calls_is_empty(const struct calls *cs);

/* --- in --- */

/* Take a message; its text is changed.  Send a receipt, if one is due. */
void	 calls_take(struct calls *cs, char *text, size_t len);
void	 calls_acknowledge(struct calls *cs);

/* Free memory that long messages took. */
void	 calls_trim(struct calls *cs);

/* --- between two connections --- */

/*
 * The connection is lost: answer requests that were sent with an error.  Unsent
 * and safe requests go to the next connection: it is there; or none can be, and
 * all but quiet requests are answered with the reason.
 */
void	 calls_disconnected(struct calls *cs);
void	 calls_connected(struct calls *cs);
void	 calls_fail(struct calls *cs, const struct execsrv_error *why);
