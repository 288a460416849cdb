/*
 * Sockets of forwarded connections.  Each returns a descriptor, or -1 after
 * saying why on standard error.
 */
#pragma once

/*
 * port: NULL if name is the path of a Unix socket.  Else name is a host, all of
 * whose addresses are tried.
 */
int	 forward_connect(const char *name, const char *port);

/* Listen, for TCP at the first address; a Unix socket is the user's alone. */
int	 forward_listen(const char *name, const char *port);

/* Return the port that a socket listens at, 0 for a Unix socket. */
unsigned forward_port(int fd);

#define FORWARD_TOKEN	33	/* bytes with NUL */

/* Make a token and the socket where those who know it ask. */
int	 forward_open_door(char token_out[FORWARD_TOKEN]);

/*
 * Give a listening socket to processes of the same user that ask at the door,
 * until standard input ends, or SIGTERM and the like.  0, or -1.
 */
int	 forward_lend(int fd, int door);

/*
 * Borrow a socket, and wait for a connection on it.  -1 also when standard
 * input ended before.
 */
int	 forward_accept(const char *token);
