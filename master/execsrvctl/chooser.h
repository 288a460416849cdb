/* Which server a command asks, and how. */
#pragma once

#include "common/client/execsrv.h"
#include "master/execsrvctl/servers.h"

/* The caller sets members; 0: not given. */
struct chooser {
	const char		*dir;	/* the daemon's folder */
	const char		*url, *token_file, *ca_file;
	char			*token;	/* of the environment; or NULL */
	struct execsrv_options	 how;
	struct execsrv		*x;	/* connected to it; or NULL */
};

/* Take the token out of the environment.  Below: 0, or -1, having said why. */
int		 chooser_begin(struct chooser *c) MUST_CHECK;
void		 chooser_end(struct chooser *c);	/* and its session */

/*
 * The server of an argument (or NULL), the option or a variable; NULL: the
 * daemon of this machine.
 */
const char	*chooser_told(const struct chooser *c, const char *name);

/* Connect to a URL or name. */
int		 chooser_connect(struct chooser *c, const char *name)
		    MUST_CHECK;

/* Find it; s is for server_fini() in any case. */
int		 chooser_find(const struct chooser *c, const char *name,
		    struct server *s) MUST_CHECK;
