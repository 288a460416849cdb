/* A daemon's addresses, in RUNDIRS_LISTEN, for users without its socket. */
#pragma once

#include <stdbool.h>

/* Whether a client can connect to an address. */
bool	 listeners_fits(const char *url);

/*
 * The first such address in a run directory, if nobody but root and the caller
 * can write there: malloc'd, or NULL.
 */
char	*listeners_read(const char *dir);
