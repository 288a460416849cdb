/* Questions to the daemon, over its control socket. */
#ifndef MASTER_EXECSRVCTL_CONTROL_H
#define MASTER_EXECSRVCTL_CONTROL_H

#include "master/execsrvctl/table.h"

/* How execsrvctl ends; 0, 3 and 4 as the LSB says for "status". */
enum {
	EXIT_OK = 0,
	EXIT_OTHER = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DAEMON = 3,
	EXIT_UNKNOWN = 4
};

struct control_error {
	char	 text[512];		/* empty: none */
};

/*
 * Ask the daemon of a run directory (NULL: $EXECSRV_RUNTIME_DIR, else the
 * caller's own daemon, else the system's) a command.  Returns an exit status of
 * the above, or one the daemon chose; the reason is in e.  *t_out is the table
 * (the caller frees it): whole with EXIT_OK, else what came of it, or NULL.
 * Gives up 2 s after the daemon's last word.
 */
int	 control_ask(const char *dir, const char *command,
	    struct table **t_out, struct control_error *e);

#endif
