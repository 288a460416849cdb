/* "execsrvctl config check": what "execsrvd -t" says. */
#pragma once

#include <stdbool.h>

/* Check a file, or (NULL) the daemon's.  Errors: standard error, or as JSON. */
int	 config_check(const char *file, bool is_json);

/* Print the daemon's settings as a file, or as JSON.  The exit status. */
int	 config_show(const char *dir, bool is_json);
