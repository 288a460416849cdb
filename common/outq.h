/*
 * A queue for standard output or error, written without blocking.  The producer
 * looks at outq_held() and pauses in time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct outq {
	int		 fd;
	bool		 is_own;	/* opened by us */
	bool		 is_socket;
	size_t		 step;		/* bytes of one write */
	bool		 may_block;	/* write only when poll(2) says so */
	int		 error;		/* errno of the write that failed */
	struct buf	 queue;
};

/* Embedded.  fd stays the caller's. */
void	 outq_init(struct outq *s, int fd);
void	 outq_fini(struct outq *s);

/* Write or queue; dropped once error is set.  -1: out of memory. */
int	 outq_put(struct outq *s, const void *data, size_t len) MUST_CHECK;

/* Write more: poll(2) reports room, or an error. */
void	 outq_on_room(struct outq *s);

/* Return the number of queued bytes. */
static inline size_t
outq_held(const struct outq *s)
{
	return s->queue.len;
}
