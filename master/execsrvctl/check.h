/* "execsrvctl config check": what "execsrvd -t" says. */
#ifndef MASTER_EXECSRVCTL_CHECK_H
#define MASTER_EXECSRVCTL_CHECK_H

#include <stdbool.h>

/*
 * Check a configuration file, or (NULL) the one that the daemon would read,
 * by the execsrvd beside this program.  What is wrong goes to standard error,
 * as JSON to standard output.  The exit status.
 */
int	 config_check(const char *file, bool is_json);

#endif
