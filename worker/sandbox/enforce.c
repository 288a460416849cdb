/*
 * Choose how to enforce a plan.  Namespaces can express all of it.  Where the
 * kernel or a container refuses them, Landlock alone does for simpler plans;
 * the holder is then an ordinary process that has restricted itself.
 */
#include "worker/sandbox/enforce.h"

#include <sys/prctl.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/linux/landlock.h"

static bool
writes_nothing(const struct plan *plan)
{
	size_t	 i;

	for (i = 0; i < plan->n; i++)
		if (plan->rules[i].kind == PLAN_WRITE)
			return false;
	return true;
}

int
enforce(const struct plan *plan, const char *hide, int leave,
    struct enforced *e)
{
	char	 first[ENFORCE_WHY];
	int	 rv, ruleset;

	e->nsset.net_off = plan->net_off;
	if ((rv = enforce_ns(plan, hide, leave, e)) != -1)
		return rv;
	memcpy(first, e->why, sizeof(first));
	if (enforce_landlock(plan, true, e, &ruleset) == -1) {
		/* Both reasons, as either could be removed. */
		snprintf(e->why, sizeof(e->why), "%.90s; %.90s", first,
		    strdupa(e->why));
		return -1;
	}
	assert(e->nsset.fds[NSSET_RULESET] == -1);
	e->nsset.fds[NSSET_RULESET] = ruleset;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    (ruleset != -1 && landlock_join(ruleset) == -1)) {
		snprintf(e->why, sizeof(e->why), "Landlock: %s",
		    strerror(errno));
		return -1;
	}
	/* Landlock does not restrict modes; some tools need to set them. */
	e->nsset.no_changes = writes_nothing(plan);
	snprintf(e->why, sizeof(e->why), "by Landlock alone: %.170s", first);
	return 1;
}
