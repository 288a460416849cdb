/* One of the two sockets of a proxied connection. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "common/ev.h"

/* Embedded; zeroed and proxy_side_clear()ed: none. */
struct proxy_side {
	int		 fd;		/* -1: none */
	struct io	 rd, wr;
	bool		 reads, writes;	/* the events are on */
	struct buf	 out;		/* not yet sent */
	bool		 is_eof;	/* it sends no more */
	bool		 is_shut;	/* we send no more */
	bool		 is_bulk;	/* it sends much at once */
};

void	 proxy_side_clear(struct proxy_side *s);

/* A connected one; fd is taken. */
void	 proxy_side_open(struct proxy_side *s, struct event_base *base, int fd,
	    ev_fn *on_read, ev_fn *on_write, void *arg);
void	 proxy_side_close(struct proxy_side *s);

/* -1 with errno.  Reading stays on until proxy_side_stop(). */
int	 proxy_side_want(struct proxy_side *s, bool reads) MUST_CHECK;
void	 proxy_side_stop(struct proxy_side *s);

/* What is queued, then data; the rest is queued.  -1 with errno. */
int	 proxy_side_send(struct proxy_side *s, const void *data, size_t len)
	    MUST_CHECK;

/* Sending. */
void	 proxy_side_shut(struct proxy_side *s);
