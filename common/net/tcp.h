/* Options of TCP sockets (tcp(7)). */
#pragma once

#include <sys/socket.h>

#include <stdbool.h>

/* Whether an address of any family is IP and loopback. */
bool	 tcp_is_loopback(const struct sockaddr *a);

/* Set TCP_NODELAY.  0, or -1 with errno. */
int	 tcp_no_delay(int fd) MUST_CHECK;

/*
 * Set TCP_NODELAY and, for loopback, reno congestion control: bbr, the default
 * of some systems, paces with timers, while reno never waits if nothing is lost
 * and is available everywhere to everybody.
 *
 * at is where the socket is bound or will connect; accepted sockets inherit the
 * options.  The wildcard address is not loopback.  0, or -1 with errno.
 */
int	 tcp_tune(int fd, const struct sockaddr *at) MUST_CHECK;
