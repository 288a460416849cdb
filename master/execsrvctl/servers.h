/*
 * Names for servers: ~/.config/execsrv/hosts, or below $XDG_CONFIG_HOME.  A
 * line each, words between blanks, "#" begins a comment:
 *
 *	NAME URL [OPTION=VALUE ...]
 *
 * The options are rows of proto/host.def.  A PATH that is not absolute is below
 * the file's folder.  Whoever has the
 * token may do all that its user may: the file that has it must be ours, and
 * nobody else's to read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/client/execsrv.h"

#define SERVERS_ENV_MAX	32		/* variables of a server */
#define SERVERS_WHY	192

struct host_line {
	char	*name, *url;
	/* The rest: NULL if not given.  token or token_file, not both. */
#define HOST(member, name, value, help)		char *member;
#define HOSTS(member, name, value, help)	char *member[SERVERS_ENV_MAX];
#include "proto/host.def"
#undef HOST
#undef HOSTS
};

/*
 * Parse a line in place; out points into it.  1; 0: it is empty; -1 with the
 * reason in why.  Pure.
 */
int	 servers_parse(char *line, struct host_line *out, char why[SERVERS_WHY])
	    MUST_CHECK;

/* Read the name of a sandbox; "none" is one.  0, or -1. */
int	 servers_read_sandbox(const char *name, enum execsrv_sandbox *out)
	    MUST_CHECK;

/* A server, its credentials, and what commands have there. */
struct server {
	char			*url;
	char			*token;		/* in locked memory; or NULL */
	char			*ca_file;	/* or NULL: the system's */
	char			*cwd;		/* or NULL */
	enum execsrv_sandbox	 sandbox;	/* 0: none */
	char			*env[SERVERS_ENV_MAX];	/* NAME=VALUE */
	size_t			 nenv;
};

void	 server_fini(struct server *s);

/* Set its credentials in the options to connect, which borrow them. */
void	 server_set_how(const struct server *s, struct execsrv_options *how);

/* Set a copy of a token.  0, or -1 with errno. */
int	 server_set_token(struct server *s, const char *token) MUST_CHECK;

/* Set a copy of a CA file.  0, or -1 with errno. */
int	 server_set_ca(struct server *s, const char *path) MUST_CHECK;

/*
 * Return variables for a command there: those of the server, and env, a list
 * that is ended by NULL, which may say otherwise.  For free(3), but not what is
 * in it.  NULL with errno.
 */
const char **server_env(const struct server *s, const char *const *env)
	    MUST_CHECK;

/*
 * Check all lines, and print names and URLs on standard output.  0, or -1,
 * having said what is wrong.
 */
int	 servers_check(void) MUST_CHECK;

/*
 * Find a server by name.  0, or -1, having said on standard error why, also if
 * there is none.
 */
int	 servers_find(const char *name, struct server *out) MUST_CHECK;

/* Read a token, the first line of a file.  0, or -1, having said why. */
int	 servers_read_token(const char *path, struct server *out) MUST_CHECK;
