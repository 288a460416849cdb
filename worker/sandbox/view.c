#include "worker/sandbox/view.h"

#include "common/fd.h"

void
view_init(struct view *v)
{
	int	 i;

	for (i = 0; i < VIEW_FDS; i++)
		v->fds[i] = -1;
	v->net_off = v->no_changes = false;
}

void
view_fini(struct view *v)
{
	int	 i;

	for (i = 0; i < VIEW_FDS; i++)
		fd_close(&v->fds[i]);
}
