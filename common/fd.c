#include "common/fd.h"

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
fd_packet_pair(int pair[2])
{
	return socketpair(AF_UNIX,
	    SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
}
