/*
 * How many bytes may be in flight on a websocket: enough to keep line and
 * reader busy, no more, as a frame waits for all before it.  A pong shows that
 * all before its ping was read, and gives round trip and rate.  Pure; positions
 * are bytes sent since the start, times monotonic microseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define INFLIGHT_RATES	6		/* pongs that are remembered */

/* Embedded; read, limit, is_asked and is_idle may be read, the rest not. */
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
	uint64_t	 rtt;		/* the shortest; 0: unknown */
	uint64_t	 rtt_at;
	bool		 is_known;	/* rtt is of an empty line */
	bool		 is_probing;	/* waits for an empty line */
};

/*
 * Start over for a new websocket, after pos bytes on others.  The limit begins
 * at first and is never below min.
 */
void	 inflight_init(struct inflight *f, uint64_t pos, uint64_t first,
	    uint64_t min);

/* Return how much to send as one message: half the limit, but at most max. */
uint64_t inflight_piece(const struct inflight *f, uint64_t max);

/* Whether it is time for a ping.  While it is full a pong is awaited. */
bool	 inflight_must_ask(const struct inflight *f, uint64_t pos);

/* A ping is sent at pos; none is under way. */
void	 inflight_ask(struct inflight *f, uint64_t pos, uint64_t now);

/* Its pong arrived. */
void	 inflight_answer(struct inflight *f, uint64_t now);

/* There is nothing to send; there is again: the time between is no rate. */
void	 inflight_idle(struct inflight *f, uint64_t now);
void	 inflight_resume(struct inflight *f, uint64_t pos, uint64_t now);

/* Whether to send nothing more until the pong. */
bool	 inflight_is_full(const struct inflight *f, uint64_t pos);
