/*
 * A program that serves until its channel closes, with the log, the channel and
 * the loop in our hands: for the one file that includes this.
 */
#pragma once

#include "t/unit/chan_stand_in.h"
#include "t/unit/log_stand_in.h"

static void	(*script)(void);	/* what happens in its loop */
static int	 dispatch_result;

int
event_base_dispatch(struct event_base *base)
{
	ck_assert_ptr_eq(base, the_chan.base);
	if (script != NULL)
		script();
	return dispatch_result;
}

int
event_base_loopbreak(struct event_base *base)
{
	ck_assert_ptr_eq(base, the_chan.base);
	did("leave");
	return 0;
}

/* One turn of the loop. */
static inline void
turn(void)
{
	ck_assert_int_ne(event_base_loop(the_chan.base, EVLOOP_ONCE |
	    EVLOOP_NONBLOCK), -1);
}
