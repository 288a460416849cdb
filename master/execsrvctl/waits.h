/* Waits for a daemon, a session or a process: they ask again and again. */
#pragma once

#include <stdbool.h>

/* Whether the server is ready, or will be: an exit status. */
int	 waits_ready(const char *dir, bool is_patient);

/*
 * Wait for the end of a session, or of a process of it: an exit status, that of
 * the process.
 */
struct execsrv;
int	 waits_end(const char *dir, struct execsrv *x, const char *session,
	    const char *process);
