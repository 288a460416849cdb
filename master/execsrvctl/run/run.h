/* "execsrvctl run": a command on an exec server, as if it ran here. */
#pragma once

#include <stdbool.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/run/reason.h"
#include "master/execsrvctl/servers.h"

struct run_options {
	const char		*url;
	struct execsrv_options	 how;
	/* To attach to; process: NULL if it has but one. */
	const char		*session, *process;
	/* Or a command, ended by NULL; NULL: a login shell. */
	const char *const	*argv;
	const char *const	*env;	/* NAME=VALUE, ended by NULL */
	const char		*cwd;	/* NULL: see run.c */
	bool			 tty;
	bool			 detach; /* once it runs */
	enum execsrv_sandbox	 sandbox; /* 0: none */
	bool			 has_sandbox; /* not that of the server */
	/* Of a managed network, ended by NULL; NULL: none. */
	const char *const	*allow_domains;
};

/*
 * Set what is not set as the server's line in the file of hosts says.  The
 * variables, of which to free the list; NULL with errno.
 */
const char **run_defaults(struct run_options *o, const struct server *s)
	    MUST_CHECK;

/* Blocks signals and changes the terminal: the process should end soon. */
int	 run_command(const struct run_options *o);
