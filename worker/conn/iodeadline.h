/* Blocking I/O until a clock_ms(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false: deadline passed. */
bool	 iodeadline(int fd, short events, uint64_t deadline);

/* On a socket.  -1: closed, or too slow. */
int	 iodeadline_send(int fd, const void *data, size_t len,
	    uint64_t deadline) MUST_CHECK;

/* Half-close and wait: else unread input would reset the connection. */
void	 iodeadline_linger(int fd);
