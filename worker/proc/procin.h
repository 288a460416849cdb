/* Input of a process: a queue, and writes that wait for room in it. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/map.h"

struct rpc_req;

/* Waits for room; answered by on_room. */
struct parked {
	TAILQ_ENTRY(parked)	 entry;
	struct rpc_req		*req;		/* NULL: no answer wanted */
	size_t			 len;
	char			 data[];
};

struct write_id;

struct procin {
	int			 fd;		/* -1: closed, or none */
	struct io		 write_ev;
	struct buf		 queue;
	size_t			 queue_max;	/* STDIN_READ, or _QUEUE */
	struct timer		 patience;	/* of writes that wait */
	TAILQ_HEAD(, parked)	 parked;
	size_t			*parked_total;	/* bytes in the session */
	bool			 is_tty;
	bool			 is_wide;	/* fd_widen() */
	bool			 closing;	/* close when queue is empty */
	uint64_t		 written;	/* bytes */
	struct map		 ids;		/* recent */
	TAILQ_HEAD(, write_id)	 id_order;
	size_t			 nids;
	void			(*on_room)(void *arg, struct rpc_req *req);
	void			*arg;
};

enum procin_result {
	PROCIN_ACCEPTED,		/* queued, or discarded: nobody reads */
	PROCIN_PARKED,		/* answered later by on_room */
	PROCIN_FULL,		/* too many bytes wait */
	PROCIN_ERROR		/* errno */
};

/* Takes over fd (-1: none).  *parked_total: bytes of the session. */
void	 procin_init(struct procin *in, struct event_base *base, int fd,
	    bool is_tty, size_t *parked_total,
	    void (*on_room)(void *arg, struct rpc_req *req), void *arg);
void	 procin_fini(struct procin *in);

/* Now, for len bytes. */
bool	 procin_has_room(const struct procin *in, size_t len);

/* In order; without room req is kept. */
enum procin_result procin_write(struct procin *in, const void *data, size_t len,
	    struct rpc_req *req);

/* EOF after the queue (on a terminal VEOF). */
void	 procin_end(struct procin *in);

/* The reader has closed: discard the queue and later writes. */
void	 procin_discard(struct procin *in);

/* Among the last LIMIT_WRITE_IDS accepted? */
bool	 procin_has_id(const struct procin *in, const char *id, size_t len);

/* Of an accepted write.  -1: errno ENOMEM. */
int	 procin_remember(struct procin *in, const char *id, size_t len)
	    MUST_CHECK;
