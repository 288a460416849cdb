/* What the master says to a session (proto/ipc.def). */
#ifndef WORKER_SERVE_H
#define WORKER_SERVE_H

#include "worker/link.h"
#include "worker/session.h"

/* For link_new(), whose arg is the session. */
extern const struct link_events	 serve_link_events;

#endif
