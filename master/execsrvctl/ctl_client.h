/* The commands that are clients of an exec server. */
#pragma once

#include <stdbool.h>

/*
 * Run argv[0], a client row of proto/ctl.def.  dir: NULL for the default
 * server.  is_plain: no other option came before it.  Return the exit status.
 */
int	 ctl_client_command(const char *dir, bool is_plain, int argc,
	    char **argv);
