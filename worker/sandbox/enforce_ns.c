/*
 * Enforcement by namespaces: a user namespace that maps the session's user
 * only, with mount, PID, IPC and (net_off) network namespaces below.  The
 * holder is pid 1 of its PID namespace: no process in it can signal the holder,
 * and all end with it.
 */
#include "worker/sandbox/enforce.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/landlock.h"
#include "worker/os/dropcaps.h"
#include "worker/os/scgroup.h"
#include "worker/sandbox/sbmount.h"

#define NAMESPACES	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |	\
	CLONE_NEWIPC)

static int
enforce_ns_failed(struct enforced *e, const char *what)
{
	snprintf(e->why, sizeof(e->why), "%s: %s", what, strerror(errno));
	return -1;
}

static int
write_file(const char *path, const char *text)
{
	ssize_t	 n;
	int	 fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return -1;
	n = write(fd, text, strlen(text));
	fd_close(&fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/*
 * Map our own ids only.  The files are root's while we are not dumpable.  A
 * process of the same user that traces us in that moment has the user's rights
 * anyway, and is not in the sandbox.
 */
static int
map_ids(uid_t uid, gid_t gid, struct enforced *e)
{
	char	 line[40];
	int	 rv;

	if (prctl(PR_SET_DUMPABLE, 1) == -1)
		return enforce_ns_failed(e, "user namespace");
	rv = write_file("/proc/self/setgroups", "deny");
	snprintf(line, sizeof(line), "%lu %lu 1", (unsigned long)uid,
	    (unsigned long)uid);
	if (rv == 0)
		rv = write_file("/proc/self/uid_map", line);
	snprintf(line, sizeof(line), "%lu %lu 1", (unsigned long)gid,
	    (unsigned long)gid);
	if (rv == 0)
		rv = write_file("/proc/self/gid_map", line);
	if (rv == -1)
		enforce_ns_failed(e, "user namespace");
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		return enforce_ns_failed(e, "user namespace");
	return rv;
}

/* Open the namespaces for commands. */
static int
open_namespaces(bool net, struct enforced *e)
{
	static const char *const names[NSSET_NSES] = {
		[NSSET_USER] = "user", [NSSET_NET] = "net", [NSSET_IPC] = "ipc",
		[NSSET_PID] = "pid", [NSSET_MNT] = "mnt",
	};
	char	 path[32];
	int	 i;

	for (i = 0; i < NSSET_NSES; i++) {
		if (i == NSSET_NET && !net)
			continue;
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		if ((e->nsset.fds[i] = open(path, O_RDONLY | O_CLOEXEC)) == -1)
			return enforce_ns_failed(e, path);
	}
	e->nsset.fds[NSSET_PTS] = open("/dev/pts",
	    O_PATH | O_DIRECTORY | O_CLOEXEC);
	return e->nsset.fds[NSSET_PTS] == -1 ?
	    enforce_ns_failed(e, "/dev/pts") : 0;
}

/* In the namespaces, with all capabilities there. */
static int
enforce_ns_setup(const struct plan *plan, const char *hide, uid_t uid,
    gid_t gid, struct enforced *e)
{
	int	 ruleset;

	if (map_ids(uid, gid, e) == -1)
		return -1;
	/*
	 * No nested user namespaces: they would give a command capabilities.
	 * Write now, as root's file becomes read-only.  If it is already, in
	 * containers, the seccomp filter must do.
	 */
	if (write_file("/proc/sys/user/max_user_namespaces", "0") == -1 &&
	    errno != EROFS)
		return enforce_ns_failed(e, "max_user_namespaces");
	if (sbmount_make(plan, hide, &e->mounted) == -1) {
		memcpy(e->why, e->mounted.why, sizeof(e->why));
		return -1;
	}
	if (open_namespaces(plan->net_off, e) == -1 ||
	    enforce_landlock(plan, false, e, &ruleset) == -1)
		return -1;
	assert(e->nsset.fds[NSSET_RULESET] == -1);
	e->nsset.fds[NSSET_RULESET] = ruleset;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    (ruleset != -1 && landlock_join(ruleset) == -1) ||
	    dropcaps() == -1 || prctl(PR_SET_DUMPABLE, 0) == -1)
		return enforce_ns_failed(e, "dropping privileges");
	return 0;
}

/*
 * The holder's report: a single NUL if it is confined, else a text why not.
 * Read it; return whether it is confined.
 */
static bool
enforce_ns_recv_result(int fd, struct enforced *e)
{
	ssize_t	 n, got = 0;

	do {
		n = read(fd, e->why + got, sizeof(e->why) - 1 - (size_t)got);
		if (n > 0)
			got += n;
	} while (n > 0 || (n == -1 && errno == EINTR));
	e->why[got] = '\0';
	if (got == 0)
		snprintf(e->why, sizeof(e->why), "the holder died");
	return got == 1 && e->why[0] == '\0';
}

static void
enforce_ns_send_result(int fd, const char *text, size_t len)
{
	if (write(fd, text, len) == -1)
		_exit(1);
}

int
enforce_ns(const struct plan *plan, const char *hide, int leave,
    struct enforced *e)
{
	uid_t	 uid = geteuid();
	gid_t	 gid = getegid();
	int	 pipe[2];
	long	 pid, flags = NAMESPACES | CLONE_PARENT | SIGCHLD;

	if (plan->net_off)
		flags |= CLONE_NEWNET;
	assert(e->mounted.nlocks == 0 && e->mounted.made_len == 0);
	if (pipe2(pipe, O_CLOEXEC) == -1)
		return enforce_ns_failed(e, "pipe");
	if ((pid = syscall(SYS_clone, flags, 0, 0, 0, 0)) == -1 &&
	    scgroup_leave(leave, errno))
		pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
	if (pid == -1) {
		enforce_ns_failed(e, "namespaces");
		fd_close(&pipe[0]);
		fd_close(&pipe[1]);
		return -1;
	}
	if (pid == 0) {
		fd_close(&pipe[0]);
		if (enforce_ns_setup(plan, hide, uid, gid, e) == -1) {
			enforce_ns_send_result(pipe[1], e->why,
			    strlen(e->why));
			_exit(1);
		}
		enforce_ns_send_result(pipe[1], "", 1);
		fd_close(&pipe[1]);
		return 1;
	}
	fd_close(&pipe[1]);
	e->outer_pid = (pid_t)pid;
	if (enforce_ns_recv_result(pipe[0], e)) {
		fd_close(&pipe[0]);
		return 0;
	}
	fd_close(&pipe[0]);
	return -1;
}
