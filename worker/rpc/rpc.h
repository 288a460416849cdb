/* JSON-RPC: rows of proto/rpc.def, parameters of proto/rpc_params.def. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "worker/conn/jsonrpc.h"
#include "worker/session/session.h"

/* The handshake of the connection. */
enum rpc_phase { PHASE_NEW, PHASE_ATTACHED, PHASE_READY };

TAILQ_HEAD(rpc_req_list, rpc_req);
TAILQ_HEAD(start_list, start);

/* Of a session, over successive connections.  Embedded. */
struct rpc {
	struct session		*session;
	struct env		*env;		/* of the session; also: */
	struct link		*link;
	struct procs		*procs;
	struct holders		*holders;
	const struct overflow	*overflow;
	struct conn		*conn;		/* NULL: no client */
	enum rpc_phase		 phase;
	bool			 is_strict;	/* close on malformed text */
	struct rpc_req_list	 waiting;	/* kept */
	unsigned		 nwaiting;
	struct start_list	 starts;	/* waiting for what they need */
	struct snapshots	*snapshots;	/* created when needed; also: */
	struct fsjobs		*fsjobs;
	struct httpjobs		*httpjobs;
	struct netjobs		*netjobs;
	struct operations	*operations;
	/* An answer to a request of ours; false: there is none.  Or NULL. */
	bool			(*on_answer)(struct rpc *, int64_t id,
				    uint32_t result);
	int			 http_exe;	/* execsrv-http, or -1 */
	int			 proxy_exe;	/* execsrv-proxy, or -1 */
	struct watcher		*watcher;	/* fs/watchMissing */
	struct sockmark		*sockmark;
	struct json		 json;		/* the message being read */
	struct buf		 scratch;	/* the answer being written */
};

/* Or -1 (worker/os/helper.h). */
struct rpc_programs {
	int	 http, proxy;
};

/* After session_init() and link_new().  Takes the programs. */
void	 rpc_init(struct rpc *rpc, struct session *s, bool is_strict,
	    const struct rpc_programs *programs);
void	 rpc_fini(struct rpc *rpc);

/* On the dispatcher's stack, unless kept (rpc_keep()). */
struct rpc_req {
	TAILQ_ENTRY(rpc_req)	 entry;		/* of waiting */
	struct rpc		*rpc;
	bool			 kept;		/* in the list of waiting */
	bool			 owned;		/* free it when answered */
	struct jsonrpc_id	 id;
	/* while kept: */
	void			(*cancel)(struct rpc_req *);
	void			*waiter;
};

/* The message being handled. */
struct rpc_message {
	const char	*raw;		/* as received, or NULL */
	size_t		 len;
};

/* The result's members go between.  May end the connection, as all answers. */
struct json_out *rpc_begin(struct rpc_req *req, struct json_out *o);
void	 rpc_end(struct rpc_req *req, struct json_out *o);

/* For a result that is not such an object. */
void	 rpc_begin_value(struct rpc_req *req, struct json_out *o);
void	 rpc_end_value(struct rpc_req *req, struct json_out *o);

/* Base64 for an offset of the answer. */
struct rpc_b64 {
	size_t		 at;
	const void	*data;
	size_t		 len;
};

/* Quotes, to be filled by rpc_end_b64(). */
void	 rpc_put_b64(struct json_out *o, const void *data, size_t len,
	    struct rpc_b64 *part_out);

/*
 * As rpc_end(), with n values of rpc_put_b64() in order; above
 * LIMIT_OUT_READING not built as a whole, unless there is data: a single
 * value's buffer, taken.
 */
void	 rpc_end_b64(struct rpc_req *req, struct json_out *o,
	    const struct rpc_b64 *parts, size_t n, struct buf *data);

/* text NULL: the row's. */
void	 rpc_error(struct rpc_req *req, enum rpc_err err, const char *text);
void	 rpc_errorf(struct rpc_req *req, enum rpc_err err, const char *fmt, ...)
	    PRINTF(3, 4);

/* {"status": text}; {}. */
void	 rpc_status(struct rpc_req *req, const char *status);
void	 rpc_ok(struct rpc_req *req);

/*
 * A copy, to answer later, or a kept one with new cancel and waiter; cancel:
 * the connection ends first.  NULL: too many, or no memory, answered.
 */
struct rpc_req	*rpc_keep(struct rpc_req *req, void (*cancel)(struct rpc_req *),
		    void *waiter) MUST_CHECK;

/* An initialize that takes a session from its client. */
bool	 rpc_wants_to_take(const void *text, size_t len);

/* struct session_events; arg: the struct rpc. */
void	 rpc_on_message(void *arg, char *text, size_t len, bool is_utf8);
void	 rpc_on_decided(void *arg, struct rpc_req *req, Ipc__Verdict v);
void	 rpc_on_conn(void *arg, struct conn *c);

/* Free what the next message allocates again. */
void	 rpc_on_idle(void *arg);
