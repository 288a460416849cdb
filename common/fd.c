#include "common/fd.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/trick.h"

#define PIPE_WIDE	(256 * 1024)	/* bytes */

void
fd_close(int *fd)
{
	int	 saved = errno;

	if (*fd != -1)
		close(*fd);
	*fd = -1;
	errno = saved;
}

static int
set_flag(int fd, int get, int set, int flag, int on)
{
	int	 flags;

	if ((flags = fcntl(fd, get)) == -1)
		return -1;
	if (((flags & flag) != 0) == (on != 0))
		return 0;
	return fcntl(fd, set, on ? flags | flag : flags & ~flag);
}

int
fd_raise_limit(struct rlimit *before)
{
	struct rlimit	 rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return -1;
	if (before != NULL)
		*before = rl;
	rl.rlim_cur = rl.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &rl);
}

bool
fd_is_socket(int fd, int type)
{
	int		 is;
	socklen_t	 len = sizeof(is);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &len) == 0 &&
	    is == type;
}

int
fd_nonblock(int fd, int on)
{
	return set_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, on);
}

int
fd_cloexec(int fd, int on)
{
	return set_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, on);
}

int
fd_append(int fd, const void *data, size_t len)
{
	const char	*p = data;
	size_t		 done = 0;
	ssize_t		 n;
	off_t		 end;
	int		 saved;

	assert(fd != -1);
	while (done < len) {
		if ((n = write(fd, p + done, len - done)) > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == -1 && errno == EINTR)
			continue;
		saved = n == 0 ? ENOSPC : errno;
		if (done > 0 && ((end = lseek(fd, 0, SEEK_END)) == -1 ||
		    ftruncate(fd, end - (off_t)done) == -1))
			saved = errno;
		errno = saved;
		return -1;
	}
	return 0;
}

ssize_t
fd_read_file(int dir, const char *path, char *out, size_t size)
{
	size_t	 len = 0;
	ssize_t	 n = 0;
	int	 fd;

	assert(size > 0);
	out[0] = '\0';
	if ((fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return -1;
	while (len < size - 1) {
		n = read(fd, out + len, size - 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	fd_close(&fd);
	if (n == -1)
		len = 0;
	out[len] = '\0';
	return n == -1 ? -1 : (ssize_t)len;
}

int
fd_reserve_std(void)
{
	int	 fd;

	do {
		if ((fd = open("/dev/null", O_RDWR)) == -1)
			return -1;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}

int
fd_null_std(bool with_error)
{
	int	 null, r = 0;

	if ((null = open("/dev/null", O_RDWR)) == -1)
		return -1;
	if (dup2(null, STDIN_FILENO) == -1 || dup2(null, STDOUT_FILENO) == -1 ||
	    (with_error && dup2(null, STDERR_FILENO) == -1))
		r = -1;
	if (null > STDERR_FILENO)
		fd_close(&null);
	return r;
}

int
fd_take_stdin(bool with_error)
{
	int	 fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd != -1 && fd_null_std(with_error) == -1)
		fd_close(&fd);
	return fd;
}

void
fd_widen(int pipe)
{
	if (HAS_TRICK(widepipe))
		(void)fcntl(pipe, F_SETPIPE_SZ, PIPE_WIDE);
}

int
fd_packet_pair(int pair[2])
{
	return socketpair(AF_UNIX,
	    SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}

int
fd_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how	 how;

	memset(&how, 0, sizeof(how));
	how.flags = (uint64_t)flags | O_CLOEXEC;
	how.resolve = resolve;
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

const char *
fd_self(int fd, char buf[FD_SELF_MAX])
{
	snprintf(buf, FD_SELF_MAX, "/proc/self/fd/%d", fd);
	return buf;
}

void
fd_put_rights(struct msghdr *m, void *room, const int *fds, size_t n)
{
	struct cmsghdr	*c = room;

	if (n == 0)
		return;
	memset(room, 0, CMSG_SPACE(sizeof(int) * n));
	m->msg_control = room;
	m->msg_controllen = CMSG_SPACE(sizeof(int) * n);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
}

size_t
fd_take_rights(struct msghdr *m, int *fds, size_t max)
{
	struct cmsghdr	*c;
	size_t		 i, here, n = 0;
	int		 fd;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < here; i++, n++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd),
			    sizeof(fd));
			if (n < max)
				fds[n] = fd;
			else
				fd_close(&fd);
		}
	}
	return n;
}
