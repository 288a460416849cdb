/* Internal to worker/session/session*.c. */
#pragma once

#include "worker/session/session.h"

/* For session_kill_init(). */
extern const struct session_kill_events	 session_kill_events;

/*
 * Let the worker exit if the session is over, and the master has read that or
 * is gone.  A timer calls session_on_leave().
 */
void	 session_leave(struct session *s);
void	 session_on_leave(void *arg);
