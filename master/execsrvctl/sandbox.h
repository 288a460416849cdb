/* "execsrvctl sandbox": what a sandbox object means, without any server. */
#ifndef MASTER_EXECSRVCTL_SANDBOX_H
#define MASTER_EXECSRVCTL_SANDBOX_H

#include <stdbool.h>

/*
 * The command and its arguments, argv[0] is "sandbox".  Returns the exit
 * status; reasons go to standard error, but with EXIT_USAGE the usage is up
 * to the caller.
 */
int	 sandbox_command(int argc, char **argv, bool is_json);

#endif
