#include "worker/os/busypoll.h"

#include <assert.h>
#include <string.h>

#include "common/trick.h"

void
busypoll_init(struct busypoll *a, bool enabled)
{
	memset(a, 0, sizeof(*a));
	a->enabled = enabled && HAS_TRICK(busypoll);
}

void
busypoll_request(struct busypoll *a, uint64_t now)
{
	if (a->had_request)
		return;
	a->had_request = true;
	if (now - a->last > BUSYPOLL_GAP)
		a->streak = 0;
	else if (a->streak < BUSYPOLL_STREAK)
		a->streak++;
}

bool
busypoll_should_poll(struct busypoll *a, uint64_t now)
{
	assert(a->streak <= BUSYPOLL_STREAK);
	if (a->had_request) {
		a->had_request = false;
		a->last = now;
		a->polling = a->enabled && a->streak == BUSYPOLL_STREAK &&
		    now >= a->paused_until;
	} else if (now - a->last > BUSYPOLL_POLL) {
		a->polling = false;
	}
	return a->polling;
}

void
busypoll_yielded(struct busypoll *a, uint64_t then, uint64_t now,
    bool for_agent)
{
	assert(then <= now);
	if (now - then <= (for_agent ? BUSYPOLL_YIELD_TO : BUSYPOLL_YIELD))
		return;
	a->polling = false;
	a->paused_until = now + (then - a->paused_until > BUSYPOLL_SOON ||
	    !HAS_TRICK(secondpause) ? BUSYPOLL_PAUSE : BUSYPOLL_PAUSE_2);
}
