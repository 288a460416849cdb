#include "worker/sandbox/netns.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <net/if.h>
#include <netinet/in.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "worker/os/rawsys.h"
#include "worker/os/tvfork.h"

#define BACKLOG	128
#define FDS_MAX	(1 + NETNS_LISTENERS)

/* What the child is given. */
struct netns_child {
	struct tvfork	 tvfork;		/* the first member */
	int		 user, sock;
	size_t		 n;
};

union netns_rights {
	struct cmsghdr	 head;
	char		 room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
};

void
netns_init(struct netns *s)
{
	size_t	 i;

	s->ns = -1;
	s->n = 0;
	for (i = 0; i < NETNS_LISTENERS; i++)
		s->listener[i].fd = -1;
}

void
netns_fini(struct netns *s)
{
	size_t	 i;

	assert(s->n <= NETNS_LISTENERS);
	fd_close(&s->ns);
	for (i = 0; i < s->n; i++)
		fd_close(&s->listener[i].fd);
	s->n = 0;
}

/* --- listeners --- */

/* Listen on a free port of 127.0.0.1.  The socket, or -1 with errno. */
static int
listen_on_loopback(void)
{
	struct sockaddr_in	 a;
	int			 fd;

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) == -1)
		return -1;
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1 ||
	    listen(fd, BACKLOG) == -1)
		fd_close(&fd);
	return fd;
}

static int
take_port(int fd, uint16_t *port_out)
{
	struct sockaddr_in	 a;
	socklen_t		 len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) == -1)
		return -1;
	*port_out = ntohs(a.sin_port);
	return 0;
}

static int
netns_listen_here(struct netns *s, size_t n)
{
	for (; s->n < n; s->n++)
		if ((s->listener[s->n].fd = listen_on_loopback()) == -1 ||
		    take_port(s->listener[s->n].fd,
		    &s->listener[s->n].port) == -1) {
			fd_close(&s->listener[s->n].fd);
			return -1;
		}
	return 0;
}

/* --- in the child: system calls only --- */

static int
bring_lo_up(void)
{
	struct ifreq	 r;
	int		 fd, rv;

	memset(&r, 0, sizeof(r));
	memcpy(r.ifr_name, "lo", 3);
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if ((fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		return -1;
	rv = ioctl(fd, SIOCSIFFLAGS, &r);
	fd_close(&fd);
	return rv;
}

/* Make the namespace and all in it.  0, or -1 with errno. */
static int
make_inside(const struct netns_child *c, int fds[FDS_MAX])
{
	size_t	 i;

	if (setns(c->user, CLONE_NEWUSER) == -1)
		return -1;
	/* Set by joining: our memory is the worker's. */
	if (prctl(PR_SET_DUMPABLE, 0) == -1 || unshare(CLONE_NEWNET) == -1 ||
	    bring_lo_up() == -1 || (fds[0] = open("/proc/self/ns/net",
	    O_RDONLY | O_CLOEXEC)) == -1)
		return -1;
	for (i = 0; i < c->n; i++)
		if ((fds[1 + i] = listen_on_loopback()) == -1)
			return -1;
	return 0;
}

static int
netns_child_main(void *arg)
{
	struct netns_child	*c = arg;
	int			 fds[FDS_MAX];
	union netns_rights	 rights;
	struct msghdr		 m;
	struct iovec		 iov;
	char			 byte = 0;

	if (make_inside(c, fds) == -1)
		return tvfork_fail(&c->tvfork, errno, "network namespace");
	memset(&m, 0, sizeof(m));
	iov.iov_base = &byte;
	iov.iov_len = 1;
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	fd_put_rights(&m, &rights, fds, 1 + c->n);
	if (sendmsg(c->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == -1)
		return tvfork_fail(&c->tvfork, errno, "network namespace");
	rawsys(SYS_exit_group, 0, 0, 0, 0, 0);
	return 0;
}

/* --- in the worker --- */

/* Take what the child has sent; nothing if it is late. */
static int
take_made(struct netns *s, int sock, size_t n)
{
	int			 fds[FDS_MAX];
	union netns_rights	 rights;
	struct msghdr		 m;
	struct iovec		 iov;
	size_t			 i, got;
	char			 byte;

	memset(&m, 0, sizeof(m));
	iov.iov_base = &byte;
	iov.iov_len = 1;
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = rights.room;
	m.msg_controllen = sizeof(rights.room);
	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -1;
	got = fd_take_rights(&m, fds, FDS_MAX);
	if (got > 0)
		s->ns = fds[0];
	for (i = 1; i < got && i < FDS_MAX; i++)
		s->listener[s->n++].fd = fds[i];
	if (s->n != n) {
		errno = EMFILE;
		return -1;
	}
	for (i = 0; i < n; i++)
		if (take_port(s->listener[i].fd, &s->listener[i].port) == -1)
			return -1;
	return 0;
}

int
netns_make(struct netns *s, int user, size_t n)
{
	struct netns_child	*c;
	int			 pair[2], r, saved;
	pid_t			 pid;

	assert(n <= NETNS_LISTENERS && s->n == 0 && s->ns == -1);
	if (user == -1)
		return netns_listen_here(s, n);
	if (fd_packet_pair(pair) == -1)
		return -1;
	r = -1;
	if ((c = calloc(1, sizeof(*c))) == NULL)
		goto out;
	c->tvfork.size = sizeof(*c);
	c->user = user;
	c->sock = pair[1];
	c->n = n;
	pid = tvfork_give(&c->tvfork, -1, netns_child_main);
	/* Credentials changed in a child that shares our memory. */
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		fatal("PR_SET_DUMPABLE");
	if (pid == -1) {
		saved = errno;
		tvfork_free(&c->tvfork);
		errno = saved;
		goto out;
	}
	r = take_made(s, pair[0], n);
	saved = errno;
	/* It has exited, or is late and not waited for any longer. */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = saved;
 out:
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	return r;
}
