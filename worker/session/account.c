#include "worker/session/account.h"

#include <string.h>

#include "worker/os/pcgroup.h"
#include "worker/os/scgroup.h"

void
account_take(struct pcgroups *cgroups, const Ipc__Settings *set, bool living,
    struct account *out)
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
