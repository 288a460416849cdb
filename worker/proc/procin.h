/*
 * Input of a process: its pipe or terminal, a queue, and writes that wait for
 * room.  A process that does not read delays only its own writes.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/map.h"

struct rpc_req;

/* A write that waits for room, answered by on_room. */
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
	TAILQ_HEAD(, parked)	 parked;
	size_t			*parked_total;	/* bytes in the session */
	bool			 is_tty;
	bool			 is_wide;	/* fd_widen() */
	bool			 closing;	/* close when queue is empty */
	uint64_t		 written;	/* bytes */
	struct map		 ids;		/* recent write ids */
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

/* Takes over fd (-1: none).  *parked_total counts bytes of the session. */
void	 procin_init(struct procin *in, struct event_base *base, int fd,
	    bool is_tty, size_t *parked_total,
	    void (*on_room)(void *arg, struct rpc_req *req), void *arg);
void	 procin_fini(struct procin *in);

/* Whether len bytes would be accepted now. */
bool	 procin_has_room(const struct procin *in, size_t len);

/* Write in order; without room req is kept. */
enum procin_result procin_write(struct procin *in, const void *data, size_t len,
	    struct rpc_req *req);

/* EOF after the queue (on a terminal VEOF). */
void	 procin_end(struct procin *in);

/* The reader has closed: discard the queue and all later writes. */
void	 procin_discard(struct procin *in);

/* Whether a write id is among the last LIMIT_WRITE_IDS accepted. */
bool	 procin_has_id(const struct procin *in, const char *id, size_t len);

/* Remember the id of an accepted write.  0, or -1 with errno ENOMEM. */
int	 procin_remember(struct procin *in, const char *id, size_t len)
	    MUST_CHECK;
