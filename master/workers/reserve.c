#include "master/workers/reserve.h"

#include <fcntl.h>

#include "common/fd.h"

#define LOOK_MAX	4	/* descriptors for peer_identify() */

void
reserve_init(struct reserve *r)
{
	int	 i;

	for (i = 0; i < RESERVE_MAX; i++)
		r->fd[i] = -1;
}

void
reserve_fini(struct reserve *r)
{
	reserve_release(r);
}

void
reserve_release(struct reserve *r)
{
	int	 i;

	for (i = 0; i < RESERVE_MAX; i++)
		fd_close(&r->fd[i]);
}

void
reserve_fill(struct reserve *r)
{
	int	 i;

	for (i = 0; i < RESERVE_MAX; i++)
		if (r->fd[i] == -1 && (r->fd[i] = open("/dev/null",
		    O_RDONLY | O_CLOEXEC)) == -1)
			return;
}

bool
reserve_is_needed(void)
{
	int	 fd[LOOK_MAX], i, n = 0;

	while (n < LOOK_MAX &&
	    (fd[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) != -1)
		n++;
	for (i = 0; i < n; i++)
		fd_close(&fd[i]);
	return n < LOOK_MAX;
}
