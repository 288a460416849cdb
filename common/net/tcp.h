/* Options of TCP sockets (tcp(7)). */
#pragma once

#include <sys/socket.h>

#include <stdbool.h>

bool	 tcp_is_loopback(const struct sockaddr *a);

/* 0, or -1 with errno. */
int	 tcp_no_delay(int fd) MUST_CHECK;

/*
 * TCP_NODELAY and, for loopback, reno congestion control.  at: where it is
 * bound or will connect; the wildcard address is not loopback.  Accepted
 * sockets inherit. 0, or -1 with errno.
 */
int	 tcp_tune(int fd, const struct sockaddr *at) MUST_CHECK;
