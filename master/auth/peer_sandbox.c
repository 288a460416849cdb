#include "master/auth/peer_sandbox.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/ptree.h"
#include "common/log.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77		/* Linux 6.5 */
#endif

#define RATE_AT		offsetof(struct tcp_info, tcpi_max_pacing_rate)
#define BRAND_BIT	(1ULL << 62)
#define STATUS_MAX	4096		/* of /proc/PID/status */

/*
 * Return a pidfd, so that the pid is not reused.  Before Linux 6.5 it may have
 * been reused already.
 */
static int
hold(int fd, pid_t pid)
{
	socklen_t	 len = sizeof(int);
	int		 pidfd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, pid, 0) :
	    -1;
}

/* The number behind name at the beginning of a line; -1: none. */
static long
peer_sandbox_number_of(const char *text, const char *name)
{
	const char	*at = strstr(text, name);

	return at == NULL ? -1 : strtol(at + strlen(name), NULL, 10);
}

/*
 * Count the seccomp filters of a process.  Before Linux 5.9, which does not
 * count them: 0 or 1, for us 0.  -1: cannot be read.
 */
static long
filters_of(pid_t pid)
{
	char	 path[32], text[STATUS_MAX];
	ssize_t	 n;
	long	 count;
	int	 fd;

	snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	if ((count = peer_sandbox_number_of(text, "\nSeccomp_filters:")) != -1)
		return count;
	return pid != getpid() && peer_sandbox_number_of(text, "\nSeccomp:") >
	    0;
}

/*
 * Whether it runs below a session, ours or another server's, after a crash of
 * the master as well: 1, 0, or -1: it cannot be looked at.
 */
static int
is_marked(pid_t pid)
{
	uint64_t	 mark;

	if (ptree_read_mark(pid, &mark) == -1)
		return -1;
	return mark != RLIM_INFINITY && mark != ptree_mark_of(getpid());
}

uint64_t
peer_sandbox_brand(const char *dir)
{
	struct stat	 st;
	uint64_t	 n;

	if (dir == NULL) {
		randombytes_buf(&n, sizeof(n));
	} else {
		/* The same after our crash: who was in a sandbox still is. */
		if (stat(dir, &st) == -1)
			fatal("%s", dir);
		n = (uint64_t)st.st_ino ^ (uint64_t)st.st_dev << 32;
	}
	/* Spread, so that neighbours differ (the finalizer of MurmurHash3). */
	n = (n ^ n >> 33) * 0xff51afd7ed558ccdULL;
	n = (n ^ n >> 33) * 0xc4ceb9fe1a85ec53ULL;
	n ^= n >> 33;
	/* No rate that anybody would ask for, and not what means none. */
	return (n >> 2) | BRAND_BIT;
}

/* A TCP socket made in a sandbox has our mark (worker/sandbox/sockmark.h). */
const char *
peer_sandbox_why_tcp(const void *info, size_t len, uint64_t sockmark)
{
	uint64_t	 rate;

	if (sockmark == 0)
		return NULL;
	if (info == NULL || len < RATE_AT + sizeof(rate))
		return "its socket cannot be examined";
	memcpy(&rate, (const char *)info + RATE_AT, sizeof(rate));
	return rate == sockmark ? "it is in a sandbox" : NULL;
}

/*
 * The process cannot shed the mark of a session's descendants
 * (common/linux/ptree.h), nor its seccomp filters, of which it has more than
 * the master; both tell other servers' sandboxes as well.  One that is gone or
 * cannot be examined is refused: it may have left its socket to another
 * process.
 */
const char *
peer_sandbox_why(int fd, pid_t pid)
{
	const char	*why = NULL;
	long		 count;
	int		 pidfd, marked;

	/* A process of another pid namespace is in no sandbox of ours. */
	if (pid == 0)
		return NULL;
	if ((pidfd = hold(fd, pid)) == -1)
		return "its process has exited";
	if ((count = filters_of(pid)) == -1 ||
	    (marked = is_marked(pid)) == -1)
		why = "its process cannot be examined";
	else if (count > 0 && count > filters_of(getpid()) && marked)
		why = "it is in a sandbox";
	if (!ptree_is_alive(pidfd))
		why = "its process has exited";
	fd_close(&pidfd);
	return why;
}
