/* A descriptor that is waited for, with a deadline of clock_ms(). */
#ifndef WORKER_CONN_IODEADLINE_H
#define WORKER_CONN_IODEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wait until fd is ready for events (poll(2)); false: the deadline is over. */
bool	 iodeadline(int fd, short events, uint64_t deadline);

/* Send all of it on a socket.  0, or -1: it is gone, or too slow. */
int	 iodeadline_send(int fd, const void *data, size_t len,
	    uint64_t deadline) __attribute__((warn_unused_result));

/*
 * The peer may still be sending; closing now would destroy what is on its way
 * to it (a reset).  Tell it that we are done and give it a moment.
 */
void	 iodeadline_linger(int fd);

#endif
