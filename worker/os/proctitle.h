/* What ps(1) shows: arguments, written over. */
#pragma once

#include <sys/types.h>

/* The memory of argv; its texts are not needed any more. */
void	 proctitle_init(int argc, char **argv);

/* Cut to the room there is. */
void	 proctitle_set(const char *fmt, ...) PRINTF(1, 2);

/* With the environment's user, or uid, and a session. */
void	 proctitle_session(uid_t uid, unsigned number);
