/*
 * The files side of a session: operations under way, in the worker or in
 * agents (worker/fs/fsagent.h), and the open handles of a connection.
 */
#ifndef WORKER_RPC_FSJOBS_H
#define WORKER_RPC_FSJOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "worker/fs/fsop.h"
#include "worker/rpc/rpc.h"

struct holder;

#define HANDLE_ID_MAX	32	/* bytes, as the reference */

/* A file that the client has open. */
struct handle {
	struct map_node	 node;
	struct rpc	*rpc;
	char		 id[HANDLE_ID_MAX];
	int		 fd;		/* -1: being opened */
	bool		 writes;	/* mode replace */
	bool		 is_local;	/* reads and writes do not hang */
	bool		 closed;	/* freed with the last job for it */
	unsigned	 jobs;		/* operations under way */
};

/*
 * An operation is over: answer its request.  arg as given; r is freed by the
 * caller.
 */
typedef void	 fsjobs_done_fn(struct rpc_req *req, const struct fsop *op,
		    struct fsop_result *r, void *arg);

/*
 * Do it, under the view of a holder (NULL: everything), and call done: at
 * once, or later when it may take time. op may be on the stack; its data are
 * copied when they are needed longer.  h: the handle it is for, or NULL;
 * operations of one handle keep their order.  done is always called: with
 * req NULL when there is nobody to answer any more.
 */
void	 fsjobs_run(struct rpc *rpc, struct rpc_req *req,
	    const struct fsop *op, struct holder *view, struct handle *h,
	    fsjobs_done_fn *done, void *arg);

/* Whether agents are at work. */
bool	 fsjobs_running(const struct rpc *rpc);

/* A holder became ready or failed: go on with what waits for it. */
void	 fsjobs_holder_changed(struct rpc *rpc);

/* There may be room for answers again. */
void	 fsjobs_unhold(struct rpc *rpc);

/*
 * Handles: of the connection, under ids of at most HANDLE_ID_MAX bytes.
 * NULL: there is none; or it cannot be, with errno EEXIST, EMFILE or ENOMEM.
 */
struct handle	*handle_find(struct rpc *rpc, const char *id, size_t len);
struct handle	*handle_add(struct rpc *rpc, const char *id, size_t len);
void	 handle_close(struct rpc *rpc, struct handle *h);

/* The connection is over, after rpc_cancel_all(): its handles with it. */
void	 fsjobs_on_conn_end(struct rpc *rpc);

/* All of it, at the end. */
void	 fsjobs_free(struct rpc *rpc);

#endif
