/*
 * Control groups (cgroups(7), the kernel's cgroup-v2.rst): where they are, and
 * what is done there.  Unless it says otherwise this is about version 2.  A
 * group is a directory; whoever may write it, the file cgroup.procs in it and
 * that of the group above may put his processes there.
 */
#ifndef COMMON_LINUX_CGFS_H
#define COMMON_LINUX_CGFS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The directory of a process's group: from what /proc/PID/cgroup and
 * /proc/PID/mountinfo say.  Pure.  controller: of version 1; NULL: version 2.
 * 0, or -1 with errno: ENOENT (there is no such group, or it cannot be reached
 * from here), ENAMETOOLONG.
 */
int	 cgfs_parse(const char *cgroup, const char *mountinfo,
	    const char *controller, char *out, size_t size)
	    __attribute__((warn_unused_result));

/* The same of the calling process. */
int	 cgfs_own(const char *controller, char *out, size_t size)
	    __attribute__((warn_unused_result));

/* Write a text into a file of the group at dir.  0, or -1 with errno. */
int	 cgfs_write(int dir, const char *file, const char *text);

/*
 * Read a short file of the group at dir, as a text: its first size - 1 bytes.
 * 0, or -1 with errno and an empty text.
 */
int	 cgfs_read(int dir, const char *file, char *out, size_t size)
	    __attribute__((warn_unused_result));

/* Whether no process is in the group name in dir, nor in those below it. */
bool	 cgfs_is_empty(int dir, const char *name);

/*
 * Kill all processes of the group name in dir, and of those below it, at once
 * (Linux 5.14).  0, or -1 with errno.
 */
int	 cgfs_kill(int dir, const char *name);

/*
 * Remove the group name in dir and all below it; *budget counts down, one for
 * each that goes.  0: it is gone.  -1 with errno: EBUSY (processes live
 * there), EAGAIN (the budget is used up), or what the system said.
 */
int	 cgfs_remove(int dir, const char *name, unsigned *budget);

/*
 * A new group in parent, ours as long as we live: its directory is locked
 * (flock(2)), which also holds between PID namespaces.  Its name is the prefix
 * and our pid, with more behind it if that is taken, in name[size].  The
 * descriptor that has the lock, or -1 with errno.
 */
int	 cgfs_claim(int parent, const char *prefix, char *name, size_t size)
	    __attribute__((warn_unused_result));

/* Whether a claimed group is there still. */
bool	 cgfs_is_there(int parent, const char *name, int dir);

/*
 * Remove the groups of that prefix that nobody has locked and nobody lives in.
 * Of other kinds than version 2, too.
 */
void	 cgfs_remove_stale(int parent, const char *prefix);

#endif
