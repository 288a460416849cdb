/* "execsrvctl cp": content, mode, symbolic links; times on request. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/client/execsrv.h"

struct cp_options {
	const char	*url;
	struct execsrv_options how;
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
 * Read "SRC... DST" into o, and the server's name, or "".  NULL, or what is
 * wrong.
 */
const char	*cp_args(struct cp_options *o, int argc, char **argv,
		    char **name_out);

/* 0, or 1 if anything was not copied, after saying why. */
int	 cp_command(const struct cp_options *o);
