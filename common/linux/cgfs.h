/*
 * Control groups (cgroups(7), the kernel's cgroup-v2.rst), of version 2 unless
 * noted.  To move processes, a user needs write access to a group's directory,
 * its cgroup.procs and its parent's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The group below a worker's that has TasksMax: worker/os/scgroup.h. */
#define CGFS_COUNTED	"t"

/*
 * Find a group from the texts of /proc/PID/cgroup and mountinfo.  controller:
 * of version 1, or NULL.  Pure.  0 and its directory, or -1 with errno: ENOENT
 * (none, or not mounted here), ENAMETOOLONG.
 */
int	 cgfs_parse(const char *cgroup, const char *mountinfo,
	    const char *controller, char *out, size_t size) MUST_CHECK;

/* Of the calling process. */
int	 cgfs_own(const char *controller, char *out, size_t size) MUST_CHECK;

/* 0, or -1 with errno. */
int	 cgfs_write(int dir, const char *file, const char *text);

/* Whether there is no process in a group and below it. */
bool	 cgfs_is_empty(int dir, const char *name);

/* Kill all in a group and below it (Linux 5.14).  0, or -1 with errno. */
int	 cgfs_kill(int dir, const char *name);

/*
 * Remove a group and all below, counting *budget down.  0, or -1 with errno:
 * EBUSY (it has processes), EAGAIN (the budget is used up), or another.
 */
int	 cgfs_remove(int dir, const char *name, unsigned *budget);

/*
 * Make a group and lock it (flock(2)) for as long as we live, seen from other
 * PID namespaces, too.  name gets prefix, pid and, if taken, a suffix.  Return
 * the locked descriptor, or -1 with errno.
 */
int	 cgfs_claim(int parent, const char *prefix, char *name, size_t size)
	    MUST_CHECK;

/* Take the claim of a dead process: a descriptor, or -1 with errno. */
int	 cgfs_claim_former(int parent, const char *name) MUST_CHECK;

/* Whether a claimed group still exists. */
bool	 cgfs_is_there(int parent, const char *name, int dir);

/* Remove unlocked groups of a prefix without processes, also of v1. */
void	 cgfs_remove_stale(int parent, const char *prefix);
