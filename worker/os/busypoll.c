#include "worker/os/busypoll.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/cgfs.h"
#include "common/trick.h"

#define PAUSE_FACTOR	4

void
busypoll_init(struct busypoll *a, bool enabled, bool (*is_useful)(void))
{
	memset(a, 0, sizeof(*a));
	a->enabled = enabled && HAS_TRICK(busypoll);
	a->is_useful = is_useful;
}

/* --- whether there is processor time to spare --- */

bool
busypoll_is_quota(const char *text)
{
	/* "max 100000" or "50000 100000"; -1 or 50000. */
	return *text >= '1' && *text <= '9';
}

/* Whether the group in dir, or one above it, has a quota in file. */
static bool
has_quota(char *dir, const char *file)
{
	char	 path[PATH_MAX + 32], text[64], *end;

	for (;;) {
		snprintf(path, sizeof(path), "%s/%s", dir, file);
		if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) > 0 &&
		    busypoll_is_quota(text))
			return true;
		/* Above the mount point no such files are found. */
		if ((end = strrchr(dir, '/')) == NULL || end == dir)
			return false;
		*end = '\0';
	}
}

bool
busypoll_has_processors(void)
{
	char		 dir[PATH_MAX];
	cpu_set_t	 set;

	/* EINVAL: more processors than fit the set. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0 ?
	    CPU_COUNT(&set) < 2 : errno != EINVAL)
		return false;
	if (cgfs_own(NULL, dir, sizeof(dir)) == 0 && has_quota(dir, "cpu.max"))
		return false;
	return cgfs_own("cpu", dir, sizeof(dir)) == -1 ||
	    !has_quota(dir, "cpu.cfs_quota_us");
}

/* Whether polling may begin. */
static bool
is_allowed(struct busypoll *a, uint64_t now)
{
	if (!a->enabled || a->streak < BUSYPOLL_STREAK || now < a->paused_until)
		return false;
	if (!a->is_checked) {
		a->is_checked = true;
		a->enabled = a->is_useful == NULL || a->is_useful();
	}
	return a->enabled;
}

/* --- when --- */

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
		a->polling = is_allowed(a, now);
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
	if (a->pause == 0 || then - a->paused_until > BUSYPOLL_SOON ||
	    !HAS_TRICK(longerpauses))
		a->pause = BUSYPOLL_PAUSE;
	else if (a->pause < BUSYPOLL_PAUSE_MAX / PAUSE_FACTOR)
		a->pause *= PAUSE_FACTOR;
	else
		a->pause = BUSYPOLL_PAUSE_MAX;
	/* Sleep, to keep the scheduler's credit for sleepers. */
	a->paused_until = now + a->pause;
}
