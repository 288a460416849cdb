/* The commands that are clients of an exec server. */
#pragma once

#include <stdbool.h>

/*
 * Run a command, argv[0], a client row of proto/ctl.def.  dir: the run
 * directory, or NULL, for the default server.  is_plain: no option that such a
 * command does not have came before the name.  Return the exit status; errors
 * are reported.
 */
int	 ctl_client_command(const char *dir, bool is_plain, int argc,
	    char **argv);
