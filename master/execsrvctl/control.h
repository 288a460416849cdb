/* Questions to the daemon, over its control socket. */
#ifndef MASTER_EXECSRVCTL_CONTROL_H
#define MASTER_EXECSRVCTL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "master/execsrvctl/table.h"

/*
 * How execsrvctl ends; 0, 3 and 4 as the LSB says for "status", 78 as execsrvd
 * -t (EX_CONFIG of sysexits.h(3)).
 */
enum {
	EXIT_OK = 0,
	EXIT_OTHER = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DAEMON = 3,
	EXIT_UNKNOWN = 4,
	EXIT_CONFIG = 78
};

struct control_error {
	char	 text[512];		/* empty: none */
	char	 closed[108];		/* folder of a socket that the caller
					   may not open; or empty */
};

/*
 * What is asked, of the daemon of a run directory (NULL: $EXECSRV_RUNTIME_DIR,
 * else the caller's own daemon, else the system's).
 */
struct control_request {
	const char	*dir;
	const char	*command;
	char		**arg;
	size_t		 narg;
	bool		 option;
	/*
	 * Something may take its time: once the daemon has said its first word
	 * it says when it is done, or its end does.
	 */
	bool		 is_patient;
};

/*
 * Ask.  Returns an exit status of the above, or one the daemon chose; the
 * reason is in e.  *t_out is the table (the caller frees it): whole with
 * EXIT_OK, else what came of it, or NULL.  *stream_out is a descriptor that
 * came with the answer, or -1; NULL: none is wanted.  Gives up 2 s after the
 * daemon's last word, unless the request is patient.
 */
int	 control_ask(const struct control_request *q, struct table **t_out,
	    int *stream_out, struct control_error *e);

/* The same for a command alone. */
int	 control_ask_simply(const char *dir, const char *command,
	    struct table **t_out, struct control_error *e);

#endif
