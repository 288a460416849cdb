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

#define LEFT	"a"		/* who left it; of version 2 */
#define PROCS	"cgroup.procs"

static int
make_group(int dir, const char *name)
{
	if (mkdirat(dir, name, 0755) == -1 && errno != EEXIST)
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW);
}

static int
open_procs(int dir)
{
	return openat(dir, PROCS, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
}

static int
move_here(int procs)
{
	return write(procs, "0", 1) == 1 ? 0 : -1;
}

/* Of version 1: enter a group for ourselves. */
static int
enter_own(const Ipc__CgroupLimit *l)
{
	int	 dir, r = -1;

	if ((dir = make_group(AT_FDCWD, l->dir)) == -1)
		return -1;
	if (cgfs_write(dir, l->file, l->value) == 0)
		r = cgfs_write(dir, PROCS, "0");
	fd_close(&dir);
	return r;
}

/* Enter a group below dir that has the limit, beside the one at left. */
static int
enter_counted(const Ipc__CgroupLimit *l, int dir, int left,
    struct scgroup *g)
{
	int	 counted, r = -1;

	if ((counted = make_group(dir, CGFS_COUNTED)) == -1)
		return -1;
	if ((g->out = open_procs(left)) != -1 &&
	    (g->in = open_procs(counted)) != -1 && move_here(g->in) == 0)
		/* Of version 2: after the last process has left dir. */
		r = !g->is_below || cgfs_write(dir, "cgroup.subtree_control",
		    "+pids") == 0 ? cgfs_write(counted, l->file, l->value) :
		    -1;
	fd_close(&counted);
	return r;
}

static int
enter_tasks_v1(const Ipc__CgroupLimit *l, struct scgroup *g)
{
	int	 dir, r;

	if ((dir = make_group(AT_FDCWD, l->dir)) == -1)
		return -1;
	r = enter_counted(l, dir, dir, g);
	fd_close(&dir);
	return r;
}

static int
enter_tasks_v2(const Ipc__CgroupLimit *l, int *group, struct scgroup *g)
{
	int	 dir, left = -1, r = -1;

	/* No value to be reset: ours is never set in the group itself. */
	if (strcmp(l->value, "max") == 0)
		return 0;
	g->is_below = true;
	if ((dir = make_group(*group, ".")) != -1 &&
	    (left = make_group(dir, LEFT)) != -1)
		r = enter_counted(l, dir, left, g);
	fd_close(&left);
	fd_close(&dir);
	if (r == -1 || (dir = openat(*group, CGFS_COUNTED, O_PATH |
	    O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return -1;
	fd_close(group);
	*group = dir;
	return 0;
}

static int
scgroup_enter_one(const Ipc__CgroupLimit *l, int *group, struct scgroup *g)
{
	bool	 is_v1 = l->dir[0] != '\0';

	if (l->controller != IPC__CONTROLLER__PIDS)
		return is_v1 ? enter_own(l) :
		    cgfs_write(*group, l->file, l->value);
	return is_v1 ? enter_tasks_v1(l, g) : enter_tasks_v2(l, group, g);
}

/* TasksMax is the last: it replaces the group. */
int
scgroup_enter(const Ipc__Settings *set, int *group, struct scgroup *out)
{
	const Ipc__CgroupLimit	*l;
	size_t			 i;
	int			 last;

	out->in = out->out = -1;
	out->is_below = false;
	for (last = 0; last <= 1; last++)
		for (i = 0; i < set->n_cgroup_limit; i++) {
			l = set->cgroup_limit[i];
			if (last != (l->controller == IPC__CONTROLLER__PIDS) ||
			    scgroup_enter_one(l, group, out) == 0)
				continue;
			log_warn("limit: %s/%s", l->dir, l->file);
			return -1;
		}
	return 0;
}

bool
scgroup_leave(int out, int error)
{
	if (out == -1 || error != EAGAIN)
		return false;
	if (move_here(out) == 0)
		return true;
	log_debug("the group of TasksMax: %s", strerror(errno));
	return false;
}

void
scgroup_return(const struct scgroup *g)
{
	/* Commands would be born outside. */
	if (move_here(g->in) == -1)
		fatal("TasksMax");
}

pid_t
scgroup_fork(const struct scgroup *g)
{
	pid_t	 pid = fork();
	int	 error = errno;

	if (pid != -1 || g == NULL || !scgroup_leave(g->out, error)) {
		errno = error;
		return pid;
	}
	if ((pid = fork()) == 0)
		return 0;
	error = errno;
	scgroup_return(g);
	errno = error;
	return pid;
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
