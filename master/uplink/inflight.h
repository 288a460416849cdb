/*
 * How much may be under way on a websocket.  What another stream has sent and
 * nobody has read yet is read first: so it is no more than keeps the line and
 * its reader busy, which is found out with pings, one at a time.  The pong
 * shows that everything before the ping was read, how long that took, and so
 * how fast it goes.  Pure; positions are bytes sent since ever, times are
 * microseconds that only go forward.
 */
#ifndef MASTER_UPLINK_INFLIGHT_H
#define MASTER_UPLINK_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define INFLIGHT_RATES	6		/* pongs that are remembered */

/* Embedded; members but the first three and is_idle are private. */
struct inflight {
	uint64_t	 read;		/* position up to which all was read */
	uint64_t	 limit;		/* bytes behind it at most */
	bool		 is_asked;	/* a ping is not answered yet */
	uint64_t	 asked;		/* position of the last ping */
	uint64_t	 asked_at;
	uint64_t	 ahead;		/* bytes in flight before it */
	/* What goes by from here to the next pong tells the rate. */
	uint64_t	 base, base_at;
	uint64_t	 rates[INFLIGHT_RATES];	/* bytes a second */
	unsigned	 nrates;
	bool		 is_idle;	/* there is nothing to send */
	bool		 was_idle;	/* since the base */
	uint64_t	 idle_at;
	uint64_t	 rtt;		/* the shortest; 0: not known */
	uint64_t	 rtt_at;	/* when that was */
	bool		 is_known;	/* it is of an empty line */
	bool		 is_probing;	/* for that: waits for an empty line */
};

/* Of a new websocket; pos has been sent on others. */
void	 inflight_init(struct inflight *f, uint64_t pos);

/* Whether it is time for a ping.  Where it is full there is one under way. */
bool	 inflight_must_ask(const struct inflight *f, uint64_t pos);

/* A ping goes out behind pos; none is under way. */
void	 inflight_ask(struct inflight *f, uint64_t pos, uint64_t now);

/* Its pong came. */
void	 inflight_answer(struct inflight *f, uint64_t now);

/*
 * There is nothing to send; there is again, from pos on.  What is measured in
 * between is not the line.
 */
void	 inflight_idle(struct inflight *f, uint64_t now);
void	 inflight_resume(struct inflight *f, uint64_t pos, uint64_t now);

/* Whether to send nothing more until the pong. */
bool	 inflight_is_full(const struct inflight *f, uint64_t pos);

#endif
