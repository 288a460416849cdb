/* File operations of a session, and open handles of its connection. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "worker/fs/fsop.h"
#include "worker/rpc/rpc.h"

struct holder;

#define HANDLE_ID_MAX	32	/* bytes, as in the reference */

struct handle {
	struct map_node	 node;
	struct rpc	*rpc;
	char		 id[HANDLE_ID_MAX];
	int		 fd;		/* -1: being opened */
	bool		 writes;	/* mode replace */
	bool		 is_local;	/* reads and writes do not hang */
	bool		 closed;	/* freed with its last job */
	unsigned	 jobs;		/* operations under way */
};

/* Answer req (NULL: cancelled).  The caller frees r. */
typedef void	 fsjobs_done_fn(struct rpc_req *req, const struct fsop *op,
		    struct fsop_result *r, void *arg);

/*
 * In the namespaces of a holder (NULL: unconfined).  done is called now, or
 * later, with req NULL if the connection has ended.  op may be on the stack.
 * h: of op, or NULL; its operations keep their order.
 */
void	 fsjobs_run(struct rpc *rpc, struct rpc_req *req,
	    const struct fsop *op, struct holder *holder, struct handle *h,
	    fsjobs_done_fn *done, void *arg);

/* In agents. */
bool	 fsjobs_running(const struct rpc *rpc);

/* Start what waits for it. */
void	 fsjobs_holder_changed(struct rpc *rpc);

/* Perhaps there is room for answers. */
void	 fsjobs_unhold(struct rpc *rpc);

/* NULL: not found; from handle_add() with errno EEXIST, EMFILE or ENOMEM. */
struct handle	*handle_find(struct rpc *rpc, const char *id, size_t len);
struct handle	*handle_add(struct rpc *rpc, const char *id, size_t len);
void	 handle_close(struct rpc *rpc, struct handle *h);

/* Closes all handles; after rpc_cancel_all(). */
void	 fsjobs_on_conn_end(struct rpc *rpc);

void	 fsjobs_free(struct rpc *rpc);
