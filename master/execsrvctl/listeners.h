/*
 * The addresses of a daemon, from a file in its run directory (RUNDIRS_LISTEN),
 * for users who may not open the control socket.
 */
#pragma once

#include <stdbool.h>

/* Whether a client can connect to an address. */
bool	 listeners_fits(const char *url);

/*
 * Read the first such address in a run directory: malloc'd, or NULL. Input is
 * sent to that address: folder and file must belong to root or the caller, and
 * be writable by nobody else.
 */
char	*listeners_read(const char *dir);
