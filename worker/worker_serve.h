/* The master's messages to a session; a session's events to its requests. */
#pragma once

#include "worker/rpc/rpc.h"
#include "worker/session/link.h"
#include "worker/session/session.h"

/* Of link_new(), arg: the session. */
extern const struct link_events	 worker_serve_link_events;

/* Of session_init(), arg: the struct rpc. */
extern const struct session_events	 worker_serve_session_events;

/* After session_fini(). */
void	 worker_serve_fini(struct rpc *rpc);
