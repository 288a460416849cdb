/*
 * The retained output of a process, by sequence number; and the window, which
 * knows for all processes of a session what the client has acknowledged.
 * Output is dropped only after it was acknowledged (PROTOCOL 4.5), except for
 * the newest LIMIT_RETAINED bytes.
 *
 * A chunk is SPOOLED, then SENT on a connection, then ACKED; if the connection
 * is lost it is SPOOLED again.  If a relay acknowledges in place of the client,
 * a chunk is RELAYED before ACKED: for LIMIT_RELAYED_MS at least, as the relay
 * may lose it, and longer while there is room.
 *
 * Chunks are in memory up to a maximum, above that in a file
 * (worker/proc/spool.h).
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proc/spool.h"

enum chunk_state { CHUNK_SPOOLED, CHUNK_SENT, CHUNK_RELAYED, CHUNK_ACKED };

enum proc_stream { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

/* Return the name in the protocol. */
const char	*retain_stream_name(uint8_t stream);

struct retain;

struct chunk {
	TAILQ_ENTRY(chunk)	 retain_entry;
	TAILQ_ENTRY(chunk)	 state_entry;	/* of sent, relayed or acked */
	struct retain		*retain;
	struct spool_part	*part;		/* NULL: malloc'd */
	uint64_t		 seq;
	uint64_t		 pos;		/* in the connection; RELAYED:
						   time in ms */
	uint32_t		 len, cap;
	uint8_t			 stream;	/* enum proc_stream */
	uint8_t			 state;		/* enum chunk_state */
	bool			 sealed;	/* may have been seen */
	uint8_t			 data[];
};

TAILQ_HEAD(chunk_list, chunk);

/* Shared by the processes of a session. */
struct window {
	struct chunk_list	 sent;		/* by pos */
	size_t			 sent_cost;
	size_t			 spooled_cost;
	uint64_t		 sent_total;	/* cost, in all */
	/* Acknowledged by a relay: */
	size_t			 retain;	/* bytes in memory; 0: none */
	struct chunk_list	 relayed;	/* oldest first */
	size_t			 relayed_cost;
	size_t			 relayed_memory; /* not in the spool */
	/* Chunks in any state: */
	size_t			 memory;	/* not in the spool */
	size_t			 memory_max;	/* at first OUTPUT_MEMORY */
	struct spool		 spool;
	bool			 is_disk_full;	/* the spool failed */
};

/* Of one process.  Embedded. */
struct retain {
	struct window		*window;
	struct chunk_list	 chunks;
	struct chunk_list	 acked;		/* oldest first */
	uint64_t		 next_seq;	/* of the next event */
	size_t			 bytes;		/* of output in all chunks */
	size_t			 count;		/* of chunks */
	size_t			 unread_cost;	/* SPOOLED and SENT */
	size_t			 sent_bytes;	/* SENT */
	size_t			 relayed_count;	/* RELAYED */
	size_t			 acked_bytes;	/* ACKED */
	size_t			 acked_count;
	bool			 catching_up;	/* keep for a resumed client */
	size_t			*total;		/* also counts bytes, or NULL */
	uint64_t		 exit_seq;	/* number of the exit, or 0 */
	/* Dropped unread, see retain_drop_oldest(): */
	struct chunk		*marker;	/* in its place, or NULL */
	uint64_t		 gap;		/* numbers missing after it */
	uint64_t		 exit_gap;	/* of these before the exit */
	uint64_t		 dropped;	/* bytes */
};

void	 window_init(struct window *w);

/* All retains must have ended. */
void	 window_fini(struct window *w);

/* The client has read all before pos: drop what need not stay. */
void	 window_ack(struct window *w, uint64_t pos);

/* A relay has read all before pos.  Without w->retain as window_ack(). */
void	 window_relay(struct window *w, uint64_t pos, uint64_t now);

/* Drop what is RELAYED for long enough or has no room. */
void	 window_expire(struct window *w, uint64_t now);

/*
 * Whether too much is RELAYED to send more; the time in ms when that may end,
 * 0: not by time.
 */
bool	 window_is_full(const struct window *w);
uint64_t window_due(const struct window *w);

/* Whether a chunk of cap bytes may be in memory. */
bool	 window_has_memory(const struct window *w, size_t cap);

/*
 * Make an empty chunk, in memory or in the spool; if the disk is full in memory
 * above the maximum.  NULL with errno.
 */
struct chunk	*window_chunk(struct window *w, size_t cap);

/* Whether neither memory nor the disk has room; try the disk again. */
bool	 window_is_stuck(const struct window *w);
void	 window_look_again(struct window *w);

/* The connection is lost, and SENT chunks perhaps with it. */
void	 window_lost(struct window *w);

/* A chunk was sent; the position is pos now. */
void	 window_sent(struct window *w, struct chunk *c, uint64_t pos);

void	 retain_init(struct retain *r, struct window *w);
void	 retain_fini(struct retain *r);

/* Also count bytes in *total from now on. */
void	 retain_count(struct retain *r, size_t *total);

/* Make a chunk in memory.  Free with free() unless it is added. */
struct chunk	*chunk_new(size_t cap);

/* Give a chunk the next number and take it over. */
void		 retain_add(struct retain *r, struct chunk *c, uint8_t stream);

/* The exit event takes the next number. */
void		 retain_exit(struct retain *r);

/*
 * Append to the newest chunk if it is unseen, of the same stream and has room.
 * Return whether it was.
 */
bool	 retain_append(struct retain *r, uint8_t stream, const void *data,
		    size_t len);

/*
 * The client has read up to seq: what was sent of that is acknowledged,
 * whatever became of its connection.
 */
void		 retain_ack(struct retain *r, uint64_t seq);

/* Drop the oldest acknowledged chunks above LIMIT_RETAINED. */
void		 retain_evict(struct retain *r);

/* The same with other limits for all that is held; some stays acknowledged. */
void		 retain_evict_to(struct retain *r, size_t bytes, size_t count);

/*
 * Drop the oldest unseen chunk but the newest; return whether there was one.  A
 * marker takes its place; numbers after it are preliminary until
 * retain_close_gap().
 */
bool		 retain_drop_oldest(struct retain *r);

/*
 * Before a client sees it: renumber what follows the marker, and write into it
 * how much was dropped.  Return the bytes, 0: none; numbers above *after_out
 * are now lower by *by_out.
 */
uint64_t	 retain_close_gap(struct retain *r, uint64_t *after_out,
		    uint64_t *by_out);

/* Find the oldest chunk with a number above seq, or NULL. */
struct chunk	*retain_after(const struct retain *r, uint64_t seq);

/* Return the memory that a chunk takes. */
static inline size_t
chunk_cost(const struct chunk *c)
{
	return sizeof(*c) + c->cap;
}
