/* "execsrvctl config check": what "execsrvd -t" says. */
#pragma once

#include <stdbool.h>

/*
 * Check a configuration file, or (NULL) that of the daemon, with the execsrvd
 * beside this program.  Errors go to standard error, as JSON to standard
 * output.  Return the exit status.
 */
int	 config_check(const char *file, bool is_json);

/* Print the daemon's settings as a file, or as JSON.  The exit status. */
int	 config_show(const char *dir, bool is_json);
