/*
 * Control groups (cgroups(7), the kernel's cgroup-v2.rst), of version 2 unless
 * noted.  A user who may write to a group's directory, to its cgroup.procs and
 * to its parent's cgroup.procs can move processes there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The group below a worker's that has TasksMax: worker/os/scgroup.h. */
#define CGFS_COUNTED	"t"

/*
 * Find a process's group from the texts of its /proc/PID/cgroup and mountinfo.
 * controller: of version 1; NULL: version 2.  Pure.  0 and its directory in
 * out, or -1 with errno: ENOENT (no such group, or not mounted here),
 * ENAMETOOLONG.
 */
int	 cgfs_parse(const char *cgroup, const char *mountinfo,
	    const char *controller, char *out, size_t size) MUST_CHECK;

/* The same for the calling process. */
int	 cgfs_own(const char *controller, char *out, size_t size) MUST_CHECK;

/* Write to a file of the group at dir.  0, or -1 with errno. */
int	 cgfs_write(int dir, const char *file, const char *text);

/* Whether there is no process in the group name in dir, nor below it. */
bool	 cgfs_is_empty(int dir, const char *name);

/* Kill all processes in a group and below it (Linux 5.14).  0, or -1, errno. */
int	 cgfs_kill(int dir, const char *name);

/*
 * Remove the group name in dir and all below it, at most *budget groups, which
 * is counted down.  0, or -1 with errno: EBUSY (it has processes), EAGAIN (the
 * budget is used up), or another.
 */
int	 cgfs_remove(int dir, const char *name, unsigned *budget);

/*
 * Make a group in parent and lock it (flock(2)) for as long as we live; the
 * lock is seen from other PID namespaces, too.  name[size] gets the prefix, our
 * pid and a suffix if taken.  Return the locked descriptor, or -1 with errno.
 */
int	 cgfs_claim(int parent, const char *prefix, char *name, size_t size)
	    MUST_CHECK;

/* Take the claim of a process that has died: a descriptor, or -1 with errno. */
int	 cgfs_claim_former(int parent, const char *name) MUST_CHECK;

/* Whether a claimed group still exists. */
bool	 cgfs_is_there(int parent, const char *name, int dir);

/* Remove unlocked groups without processes that have a prefix, also of v1. */
void	 cgfs_remove_stale(int parent, const char *prefix);
