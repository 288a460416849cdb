#include "worker/os/busypoll.h"

#include <assert.h>
#include <string.h>

#include "common/trick.h"

void
busypoll_init(struct busypoll *a, bool may)
{
	memset(a, 0, sizeof(*a));
	a->may = may && HAS_TRICK(busypoll);
}

void
busypoll_asked(struct busypoll *a, uint64_t now)
{
	if (a->asked)
		return;
	a->asked = true;
	if (now - a->last > BUSYPOLL_GAP)
		a->streak = 0;
	else if (a->streak < BUSYPOLL_STREAK)
		a->streak++;
}

bool
busypoll_stays(struct busypoll *a, uint64_t now)
{
	assert(a->streak <= BUSYPOLL_STREAK);
	if (a->asked) {
		a->asked = false;
		a->last = now;
		a->stays = a->may && a->streak == BUSYPOLL_STREAK &&
		    now >= a->paused_until;
	} else if (now - a->last > BUSYPOLL_POLL) {
		a->stays = false;
	}
	return a->stays;
}

void
busypoll_yielded(struct busypoll *a, uint64_t then, uint64_t now,
    bool for_agent)
{
	assert(then <= now);
	if (now - then <= (for_agent ? BUSYPOLL_YIELD_TO : BUSYPOLL_YIELD))
		return;
	a->stays = false;
	a->paused_until = now + (then - a->paused_until > BUSYPOLL_SOON ||
	    !HAS_TRICK(secondpause) ? BUSYPOLL_PAUSE : BUSYPOLL_PAUSE_2);
}
