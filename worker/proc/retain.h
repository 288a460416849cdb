/*
 * The output of one process that can still be read, by sequence number; and,
 * across the processes of a session, what of it the client has acknowledged.
 * A byte is dropped only when the client has acknowledged it (PROTOCOL 4.5);
 * even then the newest LIMIT_RETAINED bytes stay.
 *
 * A chunk is SPOOLED until it is put on a connection, then SENT, then ACKED;
 * it goes back to SPOOLED when its connection is lost.  Where receipts are a
 * relay's it is RELAYED in between: for LIMIT_RELAYED_MS at least, as the relay
 * may lose it before the client has it, and on while there is room.
 *
 * Chunks are in memory as long as that is not more than it may be, beyond that
 * in a file (worker/proc/spool.h).
 */
#ifndef WORKER_PROC_RETAIN_H
#define WORKER_PROC_RETAIN_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proc/spool.h"

enum chunk_state { CHUNK_SPOOLED, CHUNK_SENT, CHUNK_RELAYED, CHUNK_ACKED };

enum proc_stream { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

/* As clients know it. */
const char	*retain_stream_name(uint8_t stream);

struct retain;

struct chunk {
	TAILQ_ENTRY(chunk)	 retain_entry;
	TAILQ_ENTRY(chunk)	 state_entry;	/* of sent, relayed or acked */
	struct retain		*retain;
	struct spool_part	*part;		/* NULL: malloc()ed */
	uint64_t		 seq;
	uint64_t		 pos;		/* of the connection; RELAYED:
						   when, in ms */
	uint32_t		 len, cap;
	uint8_t			 stream;	/* enum proc_stream */
	uint8_t			 state;		/* enum chunk_state */
	bool			 sealed;	/* a client may have it */
	uint8_t			 data[];
};

TAILQ_HEAD(chunk_list, chunk);

/* What all processes of a session share: the way to the client. */
struct window {
	struct chunk_list	 sent;		/* in the order of pos */
	size_t			 sent_cost;
	size_t			 spooled_cost;
	uint64_t		 sent_total;	/* cost, ever */
	/* What relays have read: */
	size_t			 retain;	/* bytes in memory; 0: none */
	struct chunk_list	 relayed;	/* the oldest first */
	size_t			 relayed_cost;
	size_t			 relayed_memory; /* what is not in the spool */
	/* Of chunks in whatever state: */
	size_t			 memory;	/* what is not in the spool */
	size_t			 memory_max;	/* at first OUTPUT_MEMORY */
	struct spool		 spool;
	bool			 is_disk_full;	/* the spool took no more */
};

/* One process's. Embedded. */
struct retain {
	struct window		*window;
	struct chunk_list	 chunks;
	struct chunk_list	 acked;		/* of them, oldest first */
	uint64_t		 next_seq;	/* of the next event */
	size_t			 bytes;		/* of output held */
	size_t			 count;		/* of chunks held */
	size_t			 unread_cost;	/* of SPOOLED and SENT ones */
	size_t			 sent_bytes;	/* of chunks SENT */
	size_t			 relayed_count;	/* of chunks RELAYED */
	size_t			 acked_bytes;	/* of those ACKED */
	size_t			 acked_count;
	bool			 catching_up;	/* a reader is about to */
	size_t			*total;		/* bytes count in, or NULL */
	uint64_t		 exit_seq;	/* the exit's number, or 0 */
	/* What was dropped unread, see retain_drop_oldest(): */
	struct chunk		*marker;	/* in its place, or NULL */
	uint64_t		 gap;		/* numbers behind that */
	uint64_t		 exit_gap;	/* of them before the exit's */
	uint64_t		 dropped;	/* bytes */
};

void	 window_init(struct window *w);

/* When there are no rings any more. */
void	 window_fini(struct window *w);

/* The client has read everything up to pos: drop what need not stay. */
void	 window_ack(struct window *w, uint64_t pos);

/* Whoever stands between has; now in ms.  Without retain that is the same. */
void	 window_relay(struct window *w, uint64_t pos, uint64_t now);

/* Drop what relays have had for long enough, and there is no room for. */
void	 window_expire(struct window *w, uint64_t now);

/*
 * Whether so much is retained for relays that no more may be read; when that
 * may be over, in ms, or 0: not by waiting.
 */
bool	 window_is_full(const struct window *w);
uint64_t window_due(const struct window *w);

/* Whether a chunk of cap bytes may be in memory. */
bool	 window_has_memory(const struct window *w, size_t cap);

/*
 * An empty chunk with room for cap bytes, in no ring: in memory or in the
 * spool; on a disk that is full in memory all the same.  NULL with errno.
 */
struct chunk	*window_chunk(struct window *w, size_t cap);

/* Whether no more can be kept, in memory nor on the disk; look again at it. */
bool	 window_is_stuck(const struct window *w);
void	 window_look_again(struct window *w);

/* The connection is lost: nobody knows what arrived. */
void	 window_lost(struct window *w);

/* c was put on the connection, which stands at pos behind it. */
void	 window_sent(struct window *w, struct chunk *c, uint64_t pos);

void	 retain_init(struct retain *r, struct window *w);
void	 retain_fini(struct retain *r);

/* Count the bytes held in a total as well, from here on. */
void	 retain_count(struct retain *r, size_t *total);

/* As window_chunk(), in memory.  Free with free() if it is not added. */
struct chunk	*chunk_new(size_t cap);

/* Give it the next number; it is the ring's from here on. */
void		 retain_add(struct retain *r, struct chunk *c, uint8_t stream);

/* The process ended: that has the next number. */
void		 retain_exit(struct retain *r);

/*
 * Append to the newest chunk if nobody has seen it, it is of that stream and
 * has room: less overhead while nobody is attached.  Whether it was done.
 */
bool	 retain_append(struct retain *r, uint8_t stream, const void *data,
		    size_t len);

/*
 * The reader says that it has everything up to seq: what was ever sent of
 * that counts as acknowledged, however its connection ended.
 */
void		 retain_ack(struct retain *r, uint64_t seq);

/* Forget the oldest acknowledged chunks beyond what stays readable. */
void		 retain_evict(struct retain *r);

/*
 * The same with other limits, on all that is held: until it is no more than
 * they say, or as little of it is acknowledged as stays at least.
 */
void		 retain_evict_to(struct retain *r, size_t bytes, size_t count);

/*
 * Drop the oldest chunk that no client can have seen and that is not the
 * newest.  Whether there was one.  In its place a marker stays; the numbers of
 * what follows it are preliminary until retain_close_gap().
 */
bool		 retain_drop_oldest(struct retain *r);

/*
 * Before a client sees it: number anew what follows the marker, and write into
 * that how much was dropped.  Bytes, or 0: nothing was; what had a number above
 * *after_out has one that is lower by *by_out now.
 */
uint64_t	 retain_close_gap(struct retain *r, uint64_t *after_out,
		    uint64_t *by_out);

/* The oldest chunk with a number above seq, or NULL. */
struct chunk	*retain_after(const struct retain *r, uint64_t seq);

/* What a chunk costs: its memory. */
static inline size_t
chunk_cost(const struct chunk *c)
{
	return sizeof(*c) + c->cap;
}

#endif
