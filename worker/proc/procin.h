/*
 * What waits to be read by a process: the pipe or terminal behind its
 * standard input, the queue in front of it, and the requests that wait for
 * room there.  A child that does not read delays only those.
 */
#ifndef WORKER_PROC_PROCIN_H
#define WORKER_PROC_PROCIN_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/map.h"

struct rpc_req;

/* A request that waits for room; told by its owner's on_room. */
struct parked {
	TAILQ_ENTRY(parked)	 entry;
	struct rpc_req		*req;		/* NULL: nobody waits */
	size_t			 len;
	char			 data[];
};

struct write_id;

struct procin {
	int			 fd;		/* -1: closed or never there */
	struct io		 write_ev;
	struct buf		 queue;
	TAILQ_HEAD(, parked)	 parked;
	size_t			*parked_total;	/* of the session */
	bool			 is_tty;
	bool			 is_wide;	/* the pipe */
	bool			 closing;	/* when the queue is empty */
	uint64_t		 written;	/* bytes */
	struct map		 ids;		/* write ids remembered */
	TAILQ_HEAD(, write_id)	 id_order;
	size_t			 nids;
	void			(*on_room)(void *arg, struct rpc_req *req);
	void			*arg;
};

enum procin_result {
	PROCIN_ACCEPTED,		/* queued, or lost since nobody reads */
	PROCIN_PARKED,		/* req is kept and answered by on_room */
	PROCIN_FULL,		/* too much waits already */
	PROCIN_ERROR		/* errno */
};

/*
 * Input by fd (owned from here on; -1: none).  parked_total counts the bytes
 * that wait in the whole session.
 */
void	 procin_init(struct procin *in, struct event_base *base, int fd,
	    bool is_tty, size_t *parked_total,
	    void (*on_room)(void *arg, struct rpc_req *req), void *arg);
void	 procin_fini(struct procin *in);

/* Whether len bytes would be taken now. */
bool	 procin_has_room(const struct procin *in, size_t len);

/* Write len bytes in their turn; req is kept when there is no room. */
enum procin_result procin_write(struct procin *in, const void *data, size_t len,
	    struct rpc_req *req);

/* End of file behind what is queued (a terminal: ^D). */
void	 procin_end(struct procin *in);

/* Nobody reads any more: what is queued or comes is lost. */
void	 procin_lose(struct procin *in);

/* Whether a write of that id was taken (of the last LIMIT_WRITE_IDS). */
bool	 procin_knows(const struct procin *in, const char *id, size_t len);

/* Remember the id of one that was.  0, or -1 with errno ENOMEM. */
int	 procin_remember(struct procin *in, const char *id, size_t len)
	    __attribute__((warn_unused_result));

#endif
