/* Standard output or error, written without blocking; see outq_held(). */
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

/* fd stays the caller's. */
void	 outq_init(struct outq *s, int fd);
void	 outq_fini(struct outq *s);

/* Write or queue; drop once error is set.  -1: out of memory. */
int	 outq_put(struct outq *s, const void *data, size_t len) MUST_CHECK;

/* poll(2) reports room, or an error. */
void	 outq_on_room(struct outq *s);

static inline size_t
outq_held(const struct outq *s)
{
	return s->queue.len;
}
