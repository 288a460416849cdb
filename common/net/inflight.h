/*
 * How many bytes may be in flight on a websocket: enough to keep line and
 * reader busy, no more, as a frame waits for all before it.  Measured by pings,
 * whose pong shows what was read.  Pure; positions: bytes sent; times:
 * monotonic microseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define INFLIGHT_RATES	6		/* pongs that are remembered */

/* Embedded; only read, limit, is_asked, is_idle, drained_at may be read. */
struct inflight {
	uint64_t	 read;		/* position that the peer has read */
	uint64_t	 limit;		/* bytes beyond it at most */
	uint64_t	 min;		/* of that */
	bool		 is_asked;	/* a pong is awaited */
	uint64_t	 asked;		/* position of the last ping */
	uint64_t	 asked_at;
	uint64_t	 ahead;		/* bytes in flight before it */
	uint64_t	 base, base_at;	/* the next rate counts from here */
	uint64_t	 base_sent;	/* when base was sent */
	uint64_t	 rates[INFLIGHT_RATES];	/* bytes per second */
	unsigned	 nrates;
	bool		 is_idle;	/* nothing to send */
	bool		 was_idle;	/* since the base */
	uint64_t	 idle_at;
	uint64_t	 drained_at;	/* nothing is queued since; 0: it is */
	uint64_t	 rtt;		/* the shortest; 0: unknown */
	uint64_t	 rtt_at;
	bool		 is_known;	/* rtt is of an empty line */
	bool		 is_probing;	/* waits for an empty line */
};

/* A new websocket, after pos bytes on others.  limit: first; min at least. */
void	 inflight_init(struct inflight *f, uint64_t pos, uint64_t first,
	    uint64_t min);

/* The size of a message: half the limit, at most max. */
uint64_t inflight_piece(const struct inflight *f, uint64_t max);

/* Time for a ping?  While it is full a pong is awaited. */
bool	 inflight_must_ask(const struct inflight *f, uint64_t pos);

/* A ping is sent; none was under way. */
void	 inflight_ask(struct inflight *f, uint64_t pos, uint64_t now);

/* Its pong arrived. */
void	 inflight_answer(struct inflight *f, uint64_t now);

/* All is in the kernel, and more could be: soon that is idleness. */
void	 inflight_drained(struct inflight *f, uint64_t pos, uint64_t now);

/* Nothing to send; something again. */
void	 inflight_idle(struct inflight *f, uint64_t now);
void	 inflight_resume(struct inflight *f, uint64_t pos, uint64_t now);

/* Send nothing more until the pong? */
bool	 inflight_is_full(const struct inflight *f, uint64_t pos);
