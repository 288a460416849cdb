/* What ps(1) shows of a process: its arguments, written over. */
#pragma once

#include <sys/types.h>

/* Use the memory of argv, whose texts are not needed any more. */
void	 proctitle_init(int argc, char **argv);

/* Change the title; cut to what there is room for. */
void	 proctitle_set(const char *fmt, ...) PRINTF(1, 2);

/* Name the user whom the environment names, or else the uid, and a session. */
void	 proctitle_session(uid_t uid, unsigned number);
