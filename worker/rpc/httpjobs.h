/*
 * http/request of a session (PROTOCOL 7): requests in flight,
 * their answers, and streams.  All end with the connection.
 */
#ifndef WORKER_RPC_HTTPJOBS_H
#define WORKER_RPC_HTTPJOBS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/http/http_link.h"
#include "worker/rpc/rpc.h"

struct rpc_req;

/* What a client asks for, checked. */
struct http_order {
	const char		*id;		/* requestId */
	size_t			 id_len;
	char			*method, *url;	/* malloc'd, as all below */
	struct http_header	*headers;
	size_t			 nheaders;
	char			*body;
	size_t			 body_len;
	size_t			 cost;		/* bytes besides the body */
	bool			 follow;
	bool			 stream;
	bool			 has_timeout;
	uint64_t		 timeout_ms;
};

/* Free what was malloc'd and forget it. */
void	 http_order_fini(struct http_order *o);

/* Whether a stream goes by that id. */
bool	 httpjobs_is_streaming(const struct rpc *rpc, const char *id,
	    size_t len);

/* Do it and answer req, now or later.  What was malloc'd is taken. */
void	 httpjobs_begin(struct rpc *rpc, struct rpc_req *req,
	    struct http_order *o);

/* The connection is over: so are all requests, also at the other end. */
void	 httpjobs_on_conn_end(struct rpc *rpc);

/* The client may have read: let streams go on. */
void	 httpjobs_unhold(struct rpc *rpc);

/* A child of ours that is no command, and its end. */
bool	 httpjobs_has(const struct rpc *rpc, pid_t pid);
void	 httpjobs_reaped(struct rpc *rpc, pid_t pid, int status);

void	 httpjobs_free(struct rpc *rpc);

#endif
