/* "execsrvctl run": a command on an exec server, as if it ran here. */
#ifndef MASTER_EXECSRVCTL_RUN_H
#define MASTER_EXECSRVCTL_RUN_H

#include <stdbool.h>

/* As env(1) and docker(1): what is not the command's own status. */
enum {
	EXIT_RUN = 125,			/* run itself failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

struct run_options {
	const char		*url;	/* of the server */
	const char *const	*argv;	/* ended by NULL */
	const char *const	*env;	/* NAME=VALUE, ended by NULL */
	const char		*token;	/* to show the server, or NULL */
	const char		*cwd;	/* NULL: see run.c */
	bool			 tty;
	int			 patience; /* ms, with a lost connection; -1:
					      as the library's */
};

/*
 * Run it; the exit status to end with.  Reasons go to standard error.  Blocks
 * signals and changes the terminal: the process should end soon after.
 */
int	 run_command(const struct run_options *o);

#endif
