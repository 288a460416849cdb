/*
 * Names for servers: ~/.config/execsrv/hosts, or below $XDG_CONFIG_HOME; lines
 * NAME URL [OPTION=VALUE ...] with rows of proto/host.def; "#" begins a
 * comment.  A PATH that is not absolute is below the file's folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/client/execsrv.h"

#define SERVERS_ENV_MAX	32		/* variables of a server */
#define SERVERS_WHY	192

struct host_line {
	char	*name, *url;
	/* NULL: not given.  token or token_file, not both. */
#define HOST(member, name, value, help)		char *member;
#define HOSTS(member, name, value, help)	char *member[SERVERS_ENV_MAX];
#include "proto/host.def"
#undef HOST
#undef HOSTS
};

/* In place; out points into it.  1; 0: it is empty; -1: why.  Pure. */
int	 servers_parse(char *line, struct host_line *out, char why[SERVERS_WHY])
	    MUST_CHECK;

/* "none" is one.  0, or -1. */
int	 servers_read_sandbox(const char *name, enum execsrv_sandbox *out)
	    MUST_CHECK;

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

/* Set credentials in options, which borrow them. */
void	 server_set_how(const struct server *s, struct execsrv_options *how);

/* Set a copy of a token, of a CA file.  0, or -1 with errno. */
int	 server_set_token(struct server *s, const char *token) MUST_CHECK;
int	 server_set_ca(struct server *s, const char *path) MUST_CHECK;

/*
 * Variables for a command there: the server's, but for what env, ended by NULL,
 * says.  Free the list only.  NULL with errno.
 */
const char **server_env(const struct server *s, const char *const *env)
	    MUST_CHECK;

/*
 * Check all lines, and print names and URLs; find one by name; read a token,
 * the first line of a file.  0, or -1, having said why.
 */
int	 servers_check(void) MUST_CHECK;
int	 servers_find(const char *name, struct server *out) MUST_CHECK;
int	 servers_read_token(const char *path, struct server *out) MUST_CHECK;
