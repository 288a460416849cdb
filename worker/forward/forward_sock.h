/* Sockets of forwarded connections.  -1: having said why on standard error. */
#pragma once

/* port NULL: name is a Unix socket's path.  Else all addresses of a host. */
int	 forward_connect(const char *name, const char *port);

/* TCP: at the first address; a Unix socket is the user's alone. */
int	 forward_listen(const char *name, const char *port);

/* 0: a Unix socket. */
unsigned forward_port(int fd);

#define FORWARD_TOKEN	33	/* bytes with NUL */

/* A token, and the socket where those who know it ask. */
int	 forward_open_door(char token_out[FORWARD_TOKEN]);

/*
 * Lend a listening socket to the user's processes that ask at the door, until
 * standard input ends, or SIGTERM and the like.
 */
int	 forward_lend(int fd, int door);

/* Borrow one, and wait for a connection.  -1: also if standard input ended. */
int	 forward_accept(const char *token);
