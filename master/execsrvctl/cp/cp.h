/*
 * "execsrvctl cp": copy files between this machine and a server: content, mode,
 * symbolic links; times on request; never the owner.
 */
#pragma once

#include <stdbool.h>

struct cp_options {
	const char	*url, *token;	/* of the server; token or NULL */
	const char	*ca_file;	/* or NULL */
	const char	*from, *to;	/* paths on their machines */
	bool		 is_upload;	/* from here to there */
	bool		 preserve;	/* mode as it is, and times */
	bool		 quiet, recursive;
	int		 patience;	/* as execsrv_options.recover_ms */
	int		 silence;	/* as execsrv_options.silence_ms */
};

/*
 * Return the exit status: 0, or 1 if anything was not copied, after saying why.
 */
int	 cp_command(const struct cp_options *o);
