#include "worker/sandbox/nsset.h"

#include "common/fd.h"

void
nsset_init(struct nsset *v)
{
	int	 i;

	for (i = 0; i < NSSET_FDS; i++)
		v->fds[i] = -1;
	v->net_off = v->no_changes = v->is_managed = false;
}

void
nsset_fini(struct nsset *v)
{
	int	 i;

	for (i = 0; i < NSSET_FDS; i++)
		fd_close(&v->fds[i]);
}
