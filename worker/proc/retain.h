/*
 * Output of a process, by sequence number; and the window, which knows for a
 * session what its client has acknowledged.  Only then is output dropped
 * (PROTOCOL 4.5), but for the newest LIMIT_RETAINED bytes.
 *
 * A chunk is SPOOLED, then SENT, then ACKED; SPOOLED again if the connection is
 * lost. If a relay acknowledges, and may lose it, RELAYED before ACKED: for
 * LIMIT_RELAYED_MS at least, longer while there is room.
 *
 * Chunks are in memory, above a maximum in a file (worker/proc/spool.h).
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proc/spool.h"

enum chunk_state { CHUNK_SPOOLED, CHUNK_SENT, CHUNK_RELAYED, CHUNK_ACKED };

enum proc_stream { STREAM_STDOUT, STREAM_STDERR, STREAM_PTY };

/* In the protocol. */
const char	*retain_stream_name(uint8_t stream);

struct retain;

struct chunk {
	TAILQ_ENTRY(chunk)	 retain_entry;
	TAILQ_ENTRY(chunk)	 state_entry;	/* of sent, relayed or acked */
	struct retain		*retain;
	struct spool_part	*part;		/* NULL: malloc'd */
	uint64_t		 seq;
	uint64_t		 pos;		/* RELAYED: ms */
	uint32_t		 len, cap;
	uint8_t			 stream;	/* enum proc_stream */
	uint8_t			 state;		/* enum chunk_state */
	bool			 sealed;	/* may have been seen */
	uint8_t			 data[];
};

TAILQ_HEAD(chunk_list, chunk);

/* Of a session. */
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

/* The client has read all before pos. */
void	 window_ack(struct window *w, uint64_t pos);

/* A relay has read it.  Without w->retain as window_ack(). */
void	 window_relay(struct window *w, uint64_t pos, uint64_t now);

/* Drop what is RELAYED for long enough or has no room. */
void	 window_expire(struct window *w, uint64_t now);

/* Too much is RELAYED to send more; until when (ms), 0: not by time. */
bool	 window_is_full(const struct window *w);
uint64_t window_due(const struct window *w);

/* For a chunk of cap bytes. */
bool	 window_has_memory(const struct window *w, size_t cap);

/* In memory; above its maximum in the spool, if not full.  NULL: errno. */
struct chunk	*window_chunk(struct window *w, size_t cap);

/* Copy its first data; c->len is not changed. */
void	 window_fill(struct window *w, struct chunk *c, const void *data,
	    size_t len);

/* No room in memory or on disk; try the disk again. */
bool	 window_is_stuck(const struct window *w);
void	 window_look_again(struct window *w);

/* The connection is lost: SENT chunks may be, too. */
void	 window_lost(struct window *w);

/* The position is pos now. */
void	 window_sent(struct window *w, struct chunk *c, uint64_t pos);

void	 retain_init(struct retain *r, struct window *w);
void	 retain_fini(struct retain *r);

/* From now on count bytes also in *total. */
void	 retain_count(struct retain *r, size_t *total);

/* In memory; free() it unless it is added. */
struct chunk	*chunk_new(size_t cap);

/* With the next number; takes c. */
void		 retain_add(struct retain *r, struct chunk *c, uint8_t stream);

/* It takes the next number. */
void		 retain_exit(struct retain *r);

/* Append to the newest if unseen, of this stream, with room; if it was. */
bool	 retain_append(struct retain *r, uint8_t stream, const void *data,
		    size_t len);

/* The client has read up to seq, on whatever connection it was sent. */
void		 retain_ack(struct retain *r, uint64_t seq);

/* Drop the oldest acknowledged above LIMIT_RETAINED. */
void		 retain_evict(struct retain *r);

/* With limits for all that is held; some acknowledged stay. */
void		 retain_evict_to(struct retain *r, size_t bytes, size_t count);

/*
 * Drop the oldest unseen but the newest; if there was one.  A marker takes its
 * place; later numbers are preliminary until retain_close_gap().
 */
bool		 retain_drop_oldest(struct retain *r);

/*
 * Before a client sees it: renumber what follows the marker, which gets the
 * bytes dropped.  Return these, or 0; numbers above *after_out are lower by
 * *by_out.
 */
uint64_t	 retain_close_gap(struct retain *r, uint64_t *after_out,
		    uint64_t *by_out);

/* The oldest with a number above seq, or NULL. */
struct chunk	*retain_after(const struct retain *r, uint64_t seq);

/* In memory. */
static inline size_t
chunk_cost(const struct chunk *c)
{
	return sizeof(*c) + c->cap;
}
