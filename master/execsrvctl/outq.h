/*
 * Where output goes: standard output or error of ours, without ever waiting
 * for it.  What cannot be written yet is queued; whoever fills it looks at
 * outq_held() and stops in time.
 */
#ifndef MASTER_EXECSRVCTL_OUTQ_H
#define MASTER_EXECSRVCTL_OUTQ_H

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

/* Write or queue.  Nothing when it is broken (error).  -1: no memory. */
int	 outq_put(struct outq *s, const void *data, size_t len)
	    __attribute__((warn_unused_result));

/* poll(2) says that there is room, or nobody there. */
void	 outq_on_room(struct outq *s);

/* Bytes that wait. */
static inline size_t
outq_held(const struct outq *s)
{
	return s->queue.len;
}

#endif
