/*
 * What tests of local ends share: one to a worker (master/uplink/local_end.h)
 * in a loop of its own, its carrier, and a
 * worker at the other end of the socket pair, a WebSocket server as strict as
 * ours.
 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/net/ws.h"
#include "master/uplink/local_end.h"

/* ck_assert() writes to a file each time: too slow for what comes often. */
#define MUST(claim)	do {						\
		if (!(claim))						\
			ck_abort_msg("%s", #claim);			\
	} while (0)

#define RIG_MESSAGES	64	/* to the worker */

struct rig {
	struct wsloop		 loop;
	struct wsloop_timer	 tick;
	uint64_t		 ticks;
	struct local_end		*local_end;

	/* The carrier. */
	struct {
		uint8_t	*data;
		size_t	 len;
	}			 to[RIG_MESSAGES];
	size_t			 nto, at;	/* at: not delivered yet */
	uint8_t			*moved;		/* the copy handed out */
	bool			 is_moving;	/* another one each time */
	bool			 answers_pings;	/* at once */
	unsigned		 outputs, pings, firsts;	/* callbacks */

	/* The worker. */
	int			 worker;	/* -1: it hung up */
	struct ws_reader	 reader;
	size_t			 got, pongs;	/* what it was sent */
	uint8_t			 pong_data[RIG_MESSAGES][WS_CONTROL_MAX];
	size_t			 pong_len[RIG_MESSAGES];
	bool			 is_bad;	/* it would not take that */
};
extern struct rig	 rig;

/* Fixtures: a loop with a local end in it, and its end. */
void	 rig_setup(void);
void	 rig_teardown(void);

/* Another, and its other end; events are NULL, or others than the rig's. */
void	 rig_start(const struct local_end_events *events);
void	 rig_stop(void);

/* --- the carrier -----------------------------------------------------------*/

/* A message for the worker, and one of random text. */
void	 rig_say(const void *data, size_t len);
void	 rig_say_random(size_t len);

/* Whether the local end has this output. */
bool	 rig_is_output(const void *data, size_t len);
#define IS_OUTPUT(text)	rig_is_output(text, sizeof(text) - 1)

/* --- the worker ------------------------------------------------------------*/

/* Read what is there, at most max bytes, and compare it with what was said. */
void	 rig_hear(size_t max);

/* Send bytes, or a frame; there must be room for it. */
void	 rig_raw(const void *data, size_t len);
void	 rig_frame(bool fin, enum ws_opcode opcode, const void *data,
	    size_t len);

/* --- the loop --------------------------------------------------------------*/

void	 rig_turn(void);

/* Some turns, in which something could happen that must not. */
void	 rig_idle(void);

/* Nothing is to be done, so nothing is done. */
void	 rig_ck_calm(void);

/* Milliseconds, more of them in a measured program. */
uint64_t rig_scaled(uint64_t ms);

/* The local end's socket takes as few bytes as one can. */
void	 rig_shrink(void);

/* Until it is true; the worker reads max bytes each time. */
#define WAIT_READING(claim, max)	do {				\
		uint64_t until_ = clock_ms() + rig_scaled(30000);	\
									\
		while (!(claim)) {					\
			rig_turn();					\
			rig_hear(max);					\
			if (clock_ms() > until_)			\
				ck_abort_msg("never: %s", #claim);	\
		}							\
	} while (0)
#define WAIT(claim)	WAIT_READING(claim, SIZE_MAX)
