#include "worker/forward/forward_sock.h"

#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define BACKLOG		128
#define DOOR_PREFIX	"execsrv-forward-"

union forward_rights {
	struct cmsghdr	 head;
	char		 room[CMSG_SPACE(TCPLISTEN_MAX * sizeof(int))];
};

/* Always -1. */
static int
sock_complain(const char *name, const char *why)
{
	fprintf(stderr, "%s: %s\n", name, why);
	return -1;
}

/* --- Unix sockets --- */

/* 0, or -1, having said why. */
static int
unix_address(const char *path, struct sockaddr_un *sun)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(sun->sun_path))
		return sock_complain(path, strerror(ENAMETOOLONG));
	strcpy(sun->sun_path, path);
	return 0;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un	 sun;
	int			 fd;

	if (unix_address(path, &sun) == -1)
		return -1;
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) != -1 &&
	    connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	sock_complain(path, strerror(errno));
	fd_close(&fd);
	return -1;
}

static int
listen_unix(const char *path)
{
	struct sockaddr_un	 sun;
	mode_t			 mask;
	int			 fd, r = -1;

	if (unix_address(path, &sun) == -1)
		return -1;
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) != -1) {
		mask = umask(0177);
		r = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
		umask(mask);
	}
	if (r == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	sock_complain(path, strerror(errno));
	fd_close(&fd);
	return -1;
}

/* --- TCP --- */

static int
connect_address(const struct addrinfo *a)
{
	int	 fd;

	if ((fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return -1;
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
		return fd;
	fd_close(&fd);
	return -1;
}

/* Always -1. */
static int
complain_at(const char *name, const char *port, const char *why)
{
	fprintf(stderr, "%s:%s: %s\n", name, port, why);
	return -1;
}

static int
connect_name(const char *name, const char *port)
{
	struct addrinfo	 hints, *list, *a;
	int		 fd = -1, r;

	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_NUMERICSERV;
	if ((r = getaddrinfo(name, port, &hints, &list)) != 0)
		return complain_at(name, port, gai_strerror(r));
	for (a = list; a != NULL && fd == -1; a = a->ai_next)
		fd = connect_address(a);
	if (fd == -1)
		complain_at(name, port, strerror(errno));
	freeaddrinfo(list);
	return fd;
}

int
forward_connect(const char *name, const char *port)
{
	return port == NULL ? connect_unix(name) : connect_name(name, port);
}

int
forward_listen(const char *name, const char *port, struct forward_listeners *l)
{
	const char	*why;

	if (port == NULL) {
		l->n = (l->fds[0] = listen_unix(name)) != -1;
		return l->n > 0 ? 0 : -1;
	}
	if ((l->n = tcplisten(name, port, l->fds, &why)) > 0)
		return 0;
	return complain_at(name, port, why);
}

/* --- lending listening sockets --- */

/* An abstract name: nothing is left of it, and there is no path to guard. */
static socklen_t
door_address(const char *token, struct sockaddr_un *sun)
{
	int	 n;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	n = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "%s%s",
	    DOOR_PREFIX, token);
	assert(n > 0 && (size_t)n < sizeof(sun->sun_path) - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
	    (size_t)n);
}

int
forward_open_door(char token[FORWARD_TOKEN])
{
	struct sockaddr_un	 sun;
	socklen_t		 len;
	uint8_t			 bytes[(FORWARD_TOKEN - 1) / 2];
	size_t			 i;
	int			 fd;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return sock_complain("token", strerror(errno));
	for (i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	len = door_address(token, &sun);
	if ((fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) != -1 &&
	    bind(fd, (struct sockaddr *)&sun, len) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	sock_complain("the listener", strerror(errno));
	fd_close(&fd);
	return -1;
}

/* Whether the other end is a process of our user. */
static bool
is_ours(int fd)
{
	struct ucred	 peer;
	socklen_t	 len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	    peer.uid == geteuid();
}

static void
lend_once(int door, const struct forward_listeners *l)
{
	struct msghdr	 m;
	struct iovec	 iov = { (void *)(uintptr_t)"", 1 };
	union forward_rights rights;
	int		 peer;

	if ((peer = accept4(door, NULL, NULL, SOCK_CLOEXEC)) == -1)
		return;
	memset(&m, 0, sizeof(m));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	fd_put_rights(&m, &rights, l->fds, l->n);
	if (is_ours(peer) && sendmsg(peer, &m, MSG_NOSIGNAL) == -1)
		sock_complain("lending", strerror(errno));
	fd_close(&peer);
}

/* What ends us, as a descriptor: the socket's path is removed first. */
static int
end_signals(void)
{
	sigset_t	 set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return sigprocmask(SIG_BLOCK, &set, NULL) == -1 ? -1 :
	    signalfd(-1, &set, SFD_CLOEXEC);
}

int
forward_lend(const struct forward_listeners *l, int door)
{
	struct pollfd	 p[] = { { STDIN_FILENO, POLLIN, 0 },
			    { door, POLLIN, 0 }, { -1, POLLIN, 0 } };
	char		 ignored[64];

	assert(l->n > 0 && door != -1);
	if ((p[2].fd = end_signals()) == -1)
		return sock_complain("signals", strerror(errno));
	for (;;) {
		if (poll(p, 3, -1) == -1)
			return sock_complain("poll", strerror(errno));
		if (p[2].revents != 0 || (p[0].revents != 0 &&
		    read(STDIN_FILENO, ignored, sizeof(ignored)) <= 0))
			return 0;
		if (p[1].revents != 0)
			lend_once(door, l);
	}
}

/* Ask for the listening sockets.  0, or -1. */
static int
borrow(const char *token, struct forward_listeners *l)
{
	struct sockaddr_un	 sun;
	socklen_t		 len;
	struct msghdr		 m;
	union forward_rights	 rights;
	char			 byte;
	struct iovec		 iov = { &byte, 1 };
	int			 sock;

	l->n = 0;
	if (strlen(token) != FORWARD_TOKEN - 1)
		return sock_complain(token, "not a token");
	len = door_address(token, &sun);
	memset(&m, 0, sizeof(m));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = rights.room;
	m.msg_controllen = sizeof(rights.room);
	if ((sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(sock, (struct sockaddr *)&sun, len) == -1 ||
	    !is_ours(sock) || recvmsg(sock, &m, MSG_CMSG_CLOEXEC) != 1 ||
	    (l->n = fd_take_rights(&m, l->fds, TCPLISTEN_MAX)) == 0)
		sock_complain("the listener", "it is not there any more");
	fd_close(&sock);
	return l->n > 0 ? 0 : -1;
}

/* A connection at one of them; -1 with EAGAIN: not yet. */
static int
accept_any(const struct forward_listeners *l)
{
	size_t	 i;
	int	 fd = -1;

	for (i = 0; i < l->n && fd == -1; i++)
		fd = accept4(l->fds[i], NULL, NULL, SOCK_CLOEXEC);
	return fd;
}

int
forward_accept(const char *token)
{
	struct pollfd			 p[1 + TCPLISTEN_MAX];
	struct forward_listeners	 l;
	size_t				 i;
	int				 fd = -1;

	if (borrow(token, &l) == -1)
		return -1;
	p[0] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
	for (i = 0; i < l.n; i++)
		p[1 + i] = (struct pollfd){ l.fds[i], POLLIN, 0 };
	while (fd == -1) {
		if ((poll(p, 1 + l.n, -1) == -1 && errno != EINTR) ||
		    p[0].revents != 0)
			break;
		fd = accept_any(&l);	/* unless another one got it */
	}
	while (l.n > 0)
		fd_close(&l.fds[--l.n]);
	return fd;
}
