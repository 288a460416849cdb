#include "worker/session/session_usage.h"

#include <string.h>

#include "worker/os/pcgroup.h"
#include "worker/os/scgroup.h"

void
session_usage_take(struct pcgroups *cgroups, const Ipc__Settings *set,
    bool living, struct session_usage *out)
{
	struct usage	 own;

	memset(out, 0, sizeof(*out));
	usage_self(&own, &out->used);
	out->worker_kib = own.peak_kib;
	own.peak_kib = 0;
	usage_add(&out->used, &own);
	if (living)
		usage_add_living(&out->used);
	out->has_oom = pcgroups_oom(cgroups, &out->oom) == 0 ||
	    scgroup_oom(set, &out->oom) == 0;
}
