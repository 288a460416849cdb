#include "worker/sandbox/sockmark.h"

#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/linux/bpf.h"
#include "worker/os/rawsys.h"

#define TYPE_MASK	0xf		/* of socket(2), without flags */
#define NOTIF_ROOM	1024		/* for larger notifications */

/* A command and its descendants, which share a filter. */
struct sockmark_fd {
	TAILQ_ENTRY(sockmark_fd) entry;
	struct sockmark	*sockmark;
	int		 fd;
	struct io	 ev;
};

/*
 * The number is SO_MAX_PACING_RATE.  A locked BPF filter on the socket instead
 * would need CAP_NET_ADMIN on newer kernels, Landlock a rule for each port.
 */
struct sockmark {
	struct event_base *base;
	uint64_t	 number;
	int		 sock[2];	/* ours; the children's */
	struct io	 ev;
	TAILQ_HEAD(, sockmark_fd) listeners;
};

union rights {
	struct cmsghdr	 head;
	char		 room[CMSG_SPACE(sizeof(int))];
};

/* --- a child --- */

/*
 * After the filter of enforce_seccomp(), which checks the architecture.  SMC
 * and MPTCP open TCP sockets below that do not inherit options: the worker
 * refuses MPTCP, a value of the third argument.
 */
static const struct sock_filter	 filter_calls[] = {
	LOAD(nr),
	IF_EQ(SYS_setsockopt, 0, 6),
	LOAD_ARG(1), IF_EQ(SOL_SOCKET, 0, 3),
	LOAD_ARG(2), IF_EQ(SO_MAX_PACING_RATE, 0, 1), REFUSE(EPERM), ALLOW,
	IF_EQ(SYS_socket, 1, 0), ALLOW,
	LOAD_ARG(0),
	IF_EQ(AF_SMC, 0, 1), REFUSE(EAFNOSUPPORT),
	IF_EQ(AF_INET, 2, 0), IF_EQ(AF_INET6, 1, 0), ALLOW,
	LOAD_ARG(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, TYPE_MASK),
	IF_EQ(SOCK_STREAM, 0, 1), RETURN(SECCOMP_RET_USER_NOTIF),
	ALLOW
};

/* Return the notification descriptor, or a negative errno. */
static int
sockmark_filter(void)
{
	struct seccomp_notif_addfd	 none;
	struct sock_fprog		 prog;
	long				 fd;

	prog.filter = (struct sock_filter *)(uintptr_t)filter_calls;
	prog.len = sizeof(filter_calls) / sizeof(filter_calls[0]);
	/* WAIT_KILLABLE_RECV: else socket(2) could fail with EINTR. */
	fd = rawsys(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER |
	    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, (long)&prog, 0, 0);
	if (fd == -EINVAL)		/* before Linux 5.19 */
		fd = rawsys(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_NEW_LISTENER, (long)&prog, 0, 0);
	if (fd < 0)
		return (int)fd;
	/* No notification is pending: the kernel must say ENOENT. */
	memset(&none, 0, sizeof(none));
	none.srcfd = (uint32_t)fd;
	none.flags = SECCOMP_ADDFD_FLAG_SEND;
	return rawsys(SYS_ioctl, fd, SECCOMP_IOCTL_NOTIF_ADDFD,
	    (long)&none, 0, 0) == -ENOENT ? (int)fd : -ENOSYS;
}

int
sockmark_try(void)
{
	int	 fd = sockmark_filter();

	return fd < 0 ? -fd : 0;
}

int
sockmark_join(int sock)
{
	union rights	 rights;
	struct msghdr	 m;
	struct iovec	 iov;
	char		 byte = 0;
	int		 fd;
	long		 n;

	if ((fd = sockmark_filter()) < 0)
		return -fd;
	memset(&m, 0, sizeof(m));
	iov.iov_base = &byte;
	iov.iov_len = sizeof(byte);
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	fd_put_rights(&m, &rights, &fd, 1);
	n = rawsys(SYS_sendmsg, sock, (long)&m, MSG_NOSIGNAL | MSG_DONTWAIT,
	    0, 0);
	return n < 0 ? (int)-n : 0;
}

/* --- answers --- */

static void
sockmark_refuse(const struct sockmark_fd *p, uint64_t id, int error)
{
	struct seccomp_notif_resp	 r;

	assert(error > 0);
	memset(&r, 0, sizeof(r));
	r.id = id;
	r.error = -error;
	/* Fails if the caller was killed. */
	ioctl(p->fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

static int
make_socket(const struct sockmark *b, const uint64_t *args)
{
	int	 fd;

	if ((int)args[2] == IPPROTO_MPTCP) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	if ((fd = socket((int)args[0], (int)args[1] | SOCK_CLOEXEC,
	    (int)args[2])) != -1 && setsockopt(fd, SOL_SOCKET,
	    SO_MAX_PACING_RATE, &b->number, sizeof(b->number)) == -1)
		fd_close(&fd);
	return fd;
}

static void
sockmark_answer(const struct sockmark_fd *p, const struct seccomp_notif *n)
{
	struct seccomp_notif_addfd	 add;
	uint64_t			 args[3];
	int				 fd;

	memcpy(args, n->data.args, sizeof(args));
	if ((fd = make_socket(p->sockmark, args)) == -1) {
		sockmark_refuse(p, n->id, errno);
		return;
	}
	memset(&add, 0, sizeof(add));
	add.id = n->id;
	add.flags = SECCOMP_ADDFD_FLAG_SEND;
	add.srcfd = (uint32_t)fd;
	add.newfd_flags = args[1] & SOCK_CLOEXEC ? O_CLOEXEC : 0;
	if (ioctl(p->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) == -1)
		sockmark_refuse(p, n->id, errno);
	fd_close(&fd);
}

static void
sockmark_drop(struct sockmark_fd *p)
{
	assert(p->fd != -1);
	TAILQ_REMOVE(&p->sockmark->listeners, p, entry);
	io_stop(&p->ev);
	fd_close(&p->fd);
	free(p);
}

static void
on_notification(void *arg)
{
	struct sockmark_fd	*p = arg;
	struct pollfd	 poll_fd = { p->fd, POLLIN, 0 };
	union {
		struct seccomp_notif	 n;
		char			 room[NOTIF_ROOM];
	}		 u;

	assert(p->fd != -1);
	/* Older kernels block if no notification is pending. */
	if (poll(&poll_fd, 1, 0) != 1)
		return;
	if ((poll_fd.revents & POLLIN) == 0) {
			sockmark_drop(p);	/* all its processes are gone */
		return;
	}
	memset(&u, 0, sizeof(u));
	if (ioctl(p->fd, SECCOMP_IOCTL_NOTIF_RECV, &u.n) == 0)
			sockmark_answer(p, &u.n);	/* else it is gone */
}

/* --- commands --- */

static void
sockmark_listen(struct sockmark *b, int fd)
{
	struct sockmark_fd	*p;

	assert(fd != -1);
	if ((p = calloc(1, sizeof(*p))) == NULL) {
			fd_close(&fd);		/* its socket(2) gets ENOSYS */
		return;
	}
	p->sockmark = b;
	p->fd = fd;
	TAILQ_INSERT_TAIL(&b->listeners, p, entry);
	io_init(&p->ev, b->base, fd, EV_READ | EV_PERSIST, on_notification, p);
	if (io_start(&p->ev) == -1)
		sockmark_drop(p);
}

static void
sockmark_on_sock(void *arg)
{
	struct sockmark	*b = arg;
	union rights	 rights;
	struct msghdr	 m;
	struct iovec	 iov;
	char		 byte;
	int		 fd;

	assert(b->sock[0] != -1);
	for (;;) {
		memset(&m, 0, sizeof(m));
		iov.iov_base = &byte;
		iov.iov_len = sizeof(byte);
		m.msg_iov = &iov;
		m.msg_iovlen = 1;
		m.msg_control = rights.room;
		m.msg_controllen = sizeof(rights.room);
		if (recvmsg(b->sock[0], &m,
		    MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
			return;
		if (fd_take_rights(&m, &fd, 1) == 1)
			sockmark_listen(b, fd);
	}
}

/* --- init and free --- */

void
sockmark_free(struct sockmark **bp)
{
	struct sockmark	*b = *bp;
	struct sockmark_fd	*p;

	*bp = NULL;
	if (b == NULL)
		return;
	while ((p = TAILQ_FIRST(&b->listeners)) != NULL)
		sockmark_drop(p);
	io_stop(&b->ev);
	fd_close(&b->sock[0]);
	fd_close(&b->sock[1]);
	free(b);
}

static struct sockmark *
sockmark_new(const struct env *env)
{
	struct sockmark	*b;

	if ((b = calloc(1, sizeof(*b))) == NULL)
		return NULL;
	b->base = env->base;
	b->number = env->set.sockmark;
	b->sock[0] = b->sock[1] = -1;
	TAILQ_INIT(&b->listeners);
	if (fd_packet_pair(b->sock) == -1)
		goto fail;
	io_init(&b->ev, b->base, b->sock[0], EV_READ | EV_PERSIST,
	    sockmark_on_sock, b);
	if (io_start(&b->ev) == -1)
		goto fail;
	return b;
 fail:
	sockmark_free(&b);
	return NULL;
}

int
sockmark_for(struct sockmark **bp, const struct env *env, const struct nsset *v,
    int *sock_out)
{
	struct sockmark	*b = *bp;

	*sock_out = -1;
	if (v == NULL || v->net_off || env->set.sockmark == 0)
		return 0;
	if (env->set.sockmark_unread) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (b == NULL && (b = *bp = sockmark_new(env)) == NULL) {
		errno = ENOMEM;
		return -1;
	}
	/* Receive pending ones first: their socket buffer is small. */
	sockmark_on_sock(b);
	*sock_out = b->sock[1];
	return 0;
}
