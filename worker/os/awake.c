#include "worker/os/awake.h"

#include <string.h>

void
awake_init(struct awake *a, bool may)
{
	memset(a, 0, sizeof(*a));
	a->may = may;
}

void
awake_asked(struct awake *a, uint64_t now)
{
	if (a->asked)
		return;
	a->asked = true;
	if (now - a->last > AWAKE_GAP)
		a->streak = 0;
	else if (a->streak < AWAKE_STREAK)
		a->streak++;
}

bool
awake_stays(struct awake *a, uint64_t now)
{
	if (a->asked) {
		a->asked = false;
		a->last = now;
		a->stays = a->may && a->streak == AWAKE_STREAK &&
		    now >= a->paused_until;
	} else if (now - a->last > AWAKE_POLL) {
		a->stays = false;
	}
	return a->stays;
}

void
awake_yielded(struct awake *a, uint64_t then, uint64_t now, bool for_agent)
{
	if (now - then <= (for_agent ? AWAKE_YIELD_TO : AWAKE_YIELD))
		return;
	a->stays = false;
	a->paused_until = now + (then - a->paused_until > AWAKE_SOON ?
	    AWAKE_PAUSE : AWAKE_PAUSE_2);
}
