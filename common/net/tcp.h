/* TCP connections that carry messages (tcp(7)). */
#ifndef COMMON_NET_TCP_H
#define COMMON_NET_TCP_H

#include <sys/socket.h>

#include <stdbool.h>

/* Whether an address, of any family, is of IP and stays on this machine. */
bool	 tcp_is_loopback(const struct sockaddr *a);

/* Messages leave at once (TCP_NODELAY).  0, or -1 with errno. */
int	 tcp_no_delay(int fd) __attribute__((warn_unused_result));

/*
 * The same, and where there is no network between,
 * nothing is paced: with bbr, which some systems have for all connections, what
 * a server sends over loopback waits for timers (1 MiB in 0.9 ms instead of
 * 0.5), and reno, which every system has and everybody may ask for, never waits
 * where nothing is lost.
 *
 * A socket, and where it is bound or will be connected to; those that are
 * accepted from it inherit both.  One that is bound to all addresses is for
 * networks.  0, or -1 with errno.
 */
int	 tcp_tune(int fd, const struct sockaddr *at)
	    __attribute__((warn_unused_result));

#endif
