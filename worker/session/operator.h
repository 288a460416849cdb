/*
 * Actions of operators, through the control socket and the master.  A process
 * is named by its pid, as "execsrvctl ps" shows it, or by the client's id.
 */
#pragma once

#include "common/ipc/ipc.h"

struct session;

/* link_acted() follows: at once, or when what is to end has ended. */
void	 operator_act(struct session *s, const Ipc__Act *in);

/* To *fdp: taken (-1), or left on error. */
void	 operator_tail(struct session *s, const Ipc__Tail *in, int *fdp);

/* Answers the operator who ended it. */
void	 operator_on_session_end(struct session *s);
