#include "worker/os/scgroup.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "common/fd.h"
#include "common/linux/cgfs.h"
#include "common/linux/usage.h"
#include "common/log.h"

/* Of version 1: enter a group for ourselves. */
static int
enter_own(const Ipc__CgroupLimit *l)
{
	int	 dir, r = -1;

	if (mkdir(l->dir, 0755) == -1 && errno != EEXIST)
		return -1;
	if ((dir = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) == -1)
		return -1;
	if (cgfs_write(dir, l->file, l->value) == 0)
		r = cgfs_write(dir, "cgroup.procs", "0");
	fd_close(&dir);
	return r;
}

int
scgroup_enter(const Ipc__Settings *set, int group)
{
	const Ipc__CgroupLimit	*l;
	size_t			 i;
	int			 r;

	for (i = 0; i < set->n_cgroup_limit; i++) {
		l = set->cgroup_limit[i];
		r = l->dir[0] != '\0' ? enter_own(l) :
		    cgfs_write(group, l->file, l->value);
		if (r == -1) {
			log_warn("limit: %s/%s", l->dir, l->file);
			return -1;
		}
	}
	return 0;
}

int
scgroup_oom(const Ipc__Settings *set, uint64_t *n_out)
{
	const Ipc__CgroupLimit	*l = NULL;
	char			 path[4096 + 64], text[512];
	size_t			 i;

	for (i = 0; i < set->n_cgroup_limit; i++)
		if (set->cgroup_limit[i]->controller ==
		    IPC__CONTROLLER__MEMORY)
			l = set->cgroup_limit[i];
	if (l == NULL || l->dir[0] == '\0')
		return -1;
	snprintf(path, sizeof(path), "%s/memory.oom_control", l->dir);
	return fd_read_file(AT_FDCWD, path, text, sizeof(text)) == -1 ? -1 :
	    usage_number(text, "oom_kill ", n_out);
}
