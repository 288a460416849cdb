/* http/request (PROTOCOL 7).  All end with the connection. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/http/http_link.h"
#include "worker/rpc/rpc.h"

struct rpc_req;

/* Validated. */
struct http_order {
	const char		*id;		/* requestId */
	size_t			 id_len;
	char			*method, *url;	/* malloc'd, as all below */
	struct http_header	*headers;
	size_t			 nheaders;
	char			*body;
	size_t			 body_len;
	size_t			 cost;		/* bytes without the body */
	bool			 follow;
	bool			 stream;
	bool			 has_timeout;
	uint64_t		 timeout_ms;
};

/* Zeroes o. */
void	 http_order_fini(struct http_order *o);

bool	 httpjobs_is_streaming(const struct rpc *rpc, const char *id,
	    size_t len);

/* Takes the members of o; answers now or later. */
void	 httpjobs_begin(struct rpc *rpc, struct rpc_req *req,
	    struct http_order *o);

void	 httpjobs_on_conn_end(struct rpc *rpc);

/* Perhaps there is room: read streams on. */
void	 httpjobs_unhold(struct rpc *rpc);

/* A child is the HTTP helper; it exited. */
bool	 httpjobs_has(const struct rpc *rpc, pid_t pid);
void	 httpjobs_reaped(struct rpc *rpc, pid_t pid, int status);

void	 httpjobs_free(struct rpc *rpc);
