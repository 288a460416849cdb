/* Internal to worker/session/session*.c. */
#pragma once

struct session;
struct session_kill_events;

/* For session_kill_init(). */
extern const struct session_kill_events	 session_kill_events;

/* Let the worker exit if all is over, and the master knows or is gone. */
void	 session_leave(struct session *s);
void	 session_on_leave(void *arg);
