/*
 * Actions of operators, through the control socket and the master: end a
 * session or process, signal a process, read its output.  A process is named by
 * its pid, as "execsrvctl ps" shows it, or by the client's id.
 */
#pragma once

#include "common/ipc/ipc.h"

struct session;

/*
 * Act and answer with link_acted(): at once, or when the session or process
 * that is to end has ended.
 */
void	 operator_act(struct session *s, const Ipc__Act *in);

/* Write output of a process to *fdp, which is taken (-1) or, on error, left. */
void	 operator_tail(struct session *s, const Ipc__Tail *in, int *fdp);

/* Answer the operator that ended the session. */
void	 operator_on_session_end(struct session *s);
