#include "worker/os/scgroup.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/cgfs.h"
#include "common/linux/usage.h"
#include "common/log.h"

/* Of version 1: a group of our own. */
static int
enter_own(const Ipc__Fence *step)
{
	int	 dir, r = -1;

	if (mkdir(step->dir, 0755) == -1 && errno != EEXIST)
		return -1;
	if ((dir = open(step->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		return -1;
	if (cgfs_write(dir, step->file, step->value) == 0)
		r = cgfs_write(dir, "cgroup.procs", "0");
	fd_close(&dir);
	return r;
}

int
scgroup_enter(const Ipc__Settings *set, int group)
{
	const Ipc__Fence	*step;
	size_t			 i;
	int			 r;

	for (i = 0; i < set->n_fence; i++) {
		step = set->fence[i];
		if (step->dir[0] != '\0')
			r = enter_own(step);
		else
			r = cgfs_write(group, step->file, step->value);
		if (r == -1) {
			log_warn("limit: %s/%s", step->dir, step->file);
			return -1;
		}
	}
	return 0;
}

int
scgroup_oom(const Ipc__Settings *set, uint64_t *n_out)
{
	char	 path[4096 + 64], text[512];
	ssize_t	 n;
	size_t	 i;
	int	 fd;

	for (i = 0; i < set->n_fence; i++)
		if (strncmp(set->fence[i]->file, "memory.limit", 12) == 0)
			break;
	if (i == set->n_fence)
		return -1;
	snprintf(path, sizeof(path), "%s/memory.oom_control",
	    set->fence[i]->dir);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	return usage_number(text, "oom_kill ", n_out);
}
