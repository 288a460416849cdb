/* "execsrvctl sandbox": what a sandbox object means, without any server. */
#pragma once

#include <stdbool.h>

/*
 * Run the command, argv[0] is "sandbox".  Return the exit status; reasons go to
 * standard error; after EXIT_USAGE the caller prints the usage.
 */
int	 sandbox_command(int argc, char **argv, bool is_json);
