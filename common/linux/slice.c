#include "common/linux/slice.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/trick.h"

#define SLICE_NS	300000		/* EEVDF's default is about 3 ms */

/* struct sched_attr: linux/sched/types.h conflicts with sched.h. */
struct attributes {
	uint32_t	 size;
	uint32_t	 policy;
	uint64_t	 flags;
	int32_t		 nice;
	uint32_t	 priority;
	uint64_t	 runtime, deadline, period;	/* ns */
};

#define RESET_ON_FORK	0x01

void
slice_short(void)
{
	struct attributes	 a;

	if (!HAS_TRICK(slice))
		return;
	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.policy = (uint32_t)sched_getscheduler(0);
	errno = 0;
	a.nice = getpriority(PRIO_PROCESS, 0);
	/* Leave a policy or priority that an administrator has set. */
	if (a.policy != SCHED_OTHER || a.nice < 0 || errno != 0)
		return;
	a.flags = RESET_ON_FORK;
	a.runtime = SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}
