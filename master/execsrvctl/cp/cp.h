/*
 * "execsrvctl cp": copy files between this machine and a server: content, mode,
 * symbolic links; times on request; never the owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/client/execsrv.h"

struct cp_options {
	const char	*url;		/* of the server */
	struct execsrv_options how;	/* to connect */
	char		*const *from;	/* paths there, or here */
	size_t		 n;		/* of them; several: into a folder */
	const char	*to;		/* a path on the other machine */
	bool		 is_upload;	/* from here to there */
	bool		 is_piped;	/* here is "-" */
	bool		 preserve;	/* mode as it is, and times */
	bool		 quiet, recursive;
	bool		 go_on;		/* --continue */
};

/*
 * Read "SRC... DST" into o, and the name of the server, which may be empty:
 * "NAME:PATH" is there.  argv is changed.  NULL, or what is wrong.
 */
const char	*cp_args(struct cp_options *o, int argc, char **argv,
		    char **name_out);

/*
 * Return the exit status: 0, or 1 if anything was not copied, after saying why.
 */
int	 cp_command(const struct cp_options *o);
