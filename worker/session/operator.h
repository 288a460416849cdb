/*
 * What operators do in a session, by the control socket and the master: end
 * it or a process, signal one, look at its output.  A process is named by its
 * number, as "execsrvctl ps" shows it, or as its client calls it.
 */
#ifndef WORKER_SESSION_OPERATOR_H
#define WORKER_SESSION_OPERATOR_H

#include "common/ipc/ipc.h"

struct session;

/*
 * Do it; the answer (link_acted()) comes now, or, when something is to end,
 * when it has.
 */
void	 operator_act(struct session *s, const Ipc__Act *in);

/* Show the output of a process at *fdp, which is taken (-1) or left. */
void	 operator_tail(struct session *s, const Ipc__Tail *in, int *fdp);

/* A session that somebody wanted to end has ended. */
void	 operator_on_session_end(struct session *s);

#endif
