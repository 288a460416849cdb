/*
 * Names for servers: ~/.config/execsrv/hosts, or below $XDG_CONFIG_HOME.  A
 * line each, words between blanks, "#" begins a comment:
 *
 *	NAME URL [token=TOKEN | token-file=PATH] [ca-file=PATH]
 *
 * A PATH that is not absolute is below the file's folder.  Whoever has the
 * token may do all that its user may: the file that has it must be ours, and
 * nobody else's to read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/client/execsrv.h"

struct host_line {
	char	*name, *url;
	char	*token, *token_file;	/* one at most; or NULL */
	char	*ca_file;		/* or NULL */
};

/*
 * Parse a line in place; out points into it.  1; 0: it is empty; -1 with the
 * reason in why.  Pure.
 */
int	 servers_parse(char *line, struct host_line *out, const char **why_out)
	    MUST_CHECK;

/* A server and its credentials. */
struct server {
	char	*url;
	char	*token;		/* in locked memory; or NULL */
	char	*ca_file;	/* or NULL: those of the system */
};

void	 server_fini(struct server *s);

/* Set its credentials in the options to connect, which borrow them. */
void	 server_set_how(const struct server *s, struct execsrv_options *how);

/* Set a copy of a token.  0, or -1 with errno. */
int	 server_set_token(struct server *s, const char *token) MUST_CHECK;

/* Set a copy of a CA file.  0, or -1 with errno. */
int	 server_set_ca(struct server *s, const char *path) MUST_CHECK;

/*
 * Find a server by name.  0, or -1, having said on standard error why, also if
 * there is none.
 */
int	 servers_find(const char *name, struct server *out) MUST_CHECK;

/* Read a token, the first line of a file.  0, or -1, having said why. */
int	 servers_read_token(const char *path, struct server *out) MUST_CHECK;
