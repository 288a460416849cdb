/*
 * Messages of the master to a session (proto/ipc.def), and callbacks of the
 * session to its requests.
 */
#pragma once

#include "worker/rpc/rpc.h"
#include "worker/session/link.h"
#include "worker/session/session.h"

/* For link_new(), whose arg is the session. */
extern const struct link_events	 worker_serve_link_events;

/* For session_init(), whose arg is the struct rpc. */
extern const struct session_events	 worker_serve_session_events;

/* After session_fini(). */
void	 worker_serve_fini(struct rpc *rpc);
