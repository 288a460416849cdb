/*
 * JSON-RPC: from a message to a handler and back.  Methods are the rows of
 * proto/rpc.def, their parameters those of proto/rpc_params.def.
 */
#ifndef WORKER_RPC_RPC_H
#define WORKER_RPC_RPC_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "worker/conn/jsonrpc.h"
#include "worker/session/session.h"

/* How far the handshake of the present connection is. */
enum rpc_phase { PHASE_NEW, PHASE_ATTACHED, PHASE_READY };

TAILQ_HEAD(rpc_req_list, rpc_req);
TAILQ_HEAD(start_list, start);

/*
 * What clients ask of a session, over one connection after the other.  Embedded
 * by whoever has the session; handlers get it.
 */
struct rpc {
	struct session		*session;
	struct env		*env;		/* of the session; so on: */
	struct link		*link;
	struct procs		*procs;
	struct holders		*holders;
	const struct overflow	*overflow;
	struct conn		*conn;		/* NULL: no client is there */
	enum rpc_phase		 phase;
	bool			 is_strict;	/* closes on malformed text */
	struct rpc_req_list	 waiting;	/* answered later */
	unsigned		 nwaiting;
	struct start_list	 starts;	/* that wait for a sandbox */
	struct fsjobs		*fsjobs;	/* made when needed; so on: */
	struct httpjobs		*httpjobs;
	int			 http_exe;	/* its program; -1: none */
	struct watcher		*watcher;	/* fs/watchMissing */
	struct sockmark		*sockmark;
	struct json		 json;		/* the message being read */
	struct buf		 scratch;	/* the answer being written */
};

/*
 * Requests of a session that is initialized, with its link; http_exe is
 * execsrv-http or -1, taken.
 */
void	 rpc_init(struct rpc *rpc, struct session *s, bool is_strict,
	    int http_exe);
void	 rpc_fini(struct rpc *rpc);

/*
 * A request being worked on.  It lives on the stack of the dispatcher; a
 * handler that answers later keeps it (rpc_keep()).
 */
struct rpc_req {
	TAILQ_ENTRY(rpc_req)	 entry;		/* of those kept */
	struct rpc		*rpc;
	bool			 kept;		/* in the list of waiting */
	bool			 owned;		/* to be freed when answered */
	struct jsonrpc_id	 id;
	/* while it waits: what for */
	void			(*cancel)(struct rpc_req *);
	void			*waiter;
};

/* The message being handled, for handlers that need it whole. */
struct rpc_message {
	const char	*raw;		/* as it came, or NULL */
	size_t		 len;
};

/*
 * The answer of a request: write the members of the result between begin and
 * end.  rpc_end() releases a kept request.
 */
struct json_out *rpc_begin(struct rpc_req *req, struct json_out *o);
void	 rpc_end(struct rpc_req *req, struct json_out *o);

/* The same for a result that is no object written member by member. */
void	 rpc_begin_value(struct rpc_req *req, struct json_out *o);
void	 rpc_end_value(struct rpc_req *req, struct json_out *o);

/* Data whose base64 stands at a byte of the answer. */
struct rpc_b64 {
	size_t		 at;
	const void	*data;
	size_t		 len;
};

/*
 * Write a value that is the base64 of data: only its quotes, rpc_end_b64() does
 * the rest.
 */
void	 rpc_put_b64(struct json_out *o, const void *data, size_t len,
	    struct rpc_b64 *part_out);

/*
 * As rpc_end(), for an answer with n values of rpc_put_b64(), in their order.
 * It does not stand whole in memory, unless it is longer than LIMIT_OUT_READING
 * and data is NULL.  data: where the bytes of the only value are, which are
 * taken: it is empty afterwards.
 */
void	 rpc_end_b64(struct rpc_req *req, struct json_out *o,
	    const struct rpc_b64 *parts, size_t n, struct buf *data);

/* An error answer; text NULL: the row's. */
void	 rpc_error(struct rpc_req *req, enum rpc_err err, const char *text);
void	 rpc_errorf(struct rpc_req *req, enum rpc_err err, const char *fmt, ...)
	    __attribute__((format(printf, 3, 4)));

/* The answer was sent by other means than rpc_end(): forget the request. */
void	 rpc_done(struct rpc_req *req);

/* {"status": text} and {}. */
void	 rpc_status(struct rpc_req *req, const char *status);
void	 rpc_ok(struct rpc_req *req);

/*
 * A copy of the request for an answer later; cancel is called when its
 * connection ends first.  One that is kept already stays where it is and gets
 * the new cancel and waiter.  NULL: too many wait (the error is answered).
 */
struct rpc_req	*rpc_keep(struct rpc_req *req, void (*cancel)(struct rpc_req *),
		    void *waiter) __attribute__((warn_unused_result));

/* See struct session_events; arg: the struct rpc. */
void	 rpc_on_message(void *arg, char *text, size_t len, bool is_utf8);
void	 rpc_on_decided(void *arg, struct rpc_req *req, Ipc__Verdict v);
void	 rpc_on_conn(void *arg, struct conn *c);

#endif
