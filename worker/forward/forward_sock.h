/* Sockets of forwarded connections.  -1: having said why on standard error. */
#pragma once

#include "common/net/tcplisten.h"

/* port NULL: name is a Unix socket's path.  Else all addresses of a host. */
int	 forward_connect(const char *name, const char *port);

struct forward_listeners {
	int	 fds[TCPLISTEN_MAX];		/* non-blocking */
	size_t	 n;
};

/* At a path, for the user alone, or as tcplisten(). */
int	 forward_listen(const char *name, const char *port,
	    struct forward_listeners *out);

#define FORWARD_TOKEN	33	/* bytes with NUL */

/* A token, and the socket where those who know it ask. */
int	 forward_open_door(char token_out[FORWARD_TOKEN]);

/*
 * Lend listening sockets to the user's processes that ask at the door, until
 * standard input ends, or SIGTERM and the like.
 */
int	 forward_lend(const struct forward_listeners *l, int door);

/* Borrow them, and wait for a connection.  -1: also if standard input ended. */
int	 forward_accept(const char *token);
