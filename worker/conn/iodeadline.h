/* Blocking I/O with a deadline of clock_ms(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* poll(2) fd for events; false: deadline passed. */
bool	 iodeadline(int fd, short events, uint64_t deadline);

/* Send all on a socket.  0, or -1: closed, or too slow. */
int	 iodeadline_send(int fd, const void *data, size_t len,
	    uint64_t deadline) MUST_CHECK;

/*
 * Half-close and wait a moment: closing while the peer still sends would reset
 * the connection and lose our response.
 */
void	 iodeadline_linger(int fd);
