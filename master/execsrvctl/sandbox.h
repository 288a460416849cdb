/* "execsrvctl sandbox": what a sandbox object means, without any server. */
#pragma once

#include <stdbool.h>

/* argv[0] is "sandbox".  The exit status, the usage being the caller's. */
int	 sandbox_command(int argc, char **argv, bool is_json);
