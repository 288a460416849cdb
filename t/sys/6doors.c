/*
 * A probe of the sandbox (6probe.h): the listeners of the server that the
 * command runs under.  Keys: port, port6, of 127.0.0.1 and ::1; path, of its
 * Unix socket; link, another name of that.
 *
 * 6doors supervised PROGRAM [ARG...] runs a program about whose system calls
 * somebody is asked, as in some containers; none are asked about.
 */
#include "t/sys/6probe.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#define WAIT_MS		10000	/* for an answer */
#define PASSED		20	/* sockets that are passed on */

union address {
	struct sockaddr		 any;
	struct sockaddr_in	 in;
	struct sockaddr_in6	 in6;
	struct sockaddr_un	 un;
};

static const char	 hello[] =
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

static union address
at(int family, const char *host, const char *port)
{
	union address	 a;

	memset(&a, 0, sizeof(a));
	a.any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		a.in.sin_port = htons((uint16_t)atoi(key(port)));
		inet_pton(family, host, &a.in.sin_addr);
	} else {
		a.in6.sin6_port = htons((uint16_t)atoi(key(port)));
		inet_pton(family, host, &a.in6.sin6_addr);
	}
	return a;
}

static socklen_t
size_of(const union address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->in) :
	    a->any.sa_family == AF_INET6 ? sizeof(a->in6) : sizeof(a->un);
}

/* What the server says to a client: the status of its answer, or 0. */
static int
ask(int fd)
{
	struct pollfd	 p = { fd, POLLIN, 0 };
	char		 text[64];
	ssize_t		 n;

	if (send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL) == -1 ||
	    poll(&p, 1, WAIT_MS) != 1 ||
	    (n = recv(fd, text, sizeof(text) - 1, 0)) <= 0)
		return 0;
	text[n] = '\0';
	return strncmp(text, "HTTP/1.1 ", 9) == 0 ? atoi(text + 9) : 0;
}

static enum verdict
judge(int fd)
{
	int	 status = ask(fd);

	close(fd);
	return tell(status == 403 || status == 0 ? REFUSED : ESCAPED,
	    "status %d", status);
}

/* --- TCP --- */

static enum verdict
talk(int fd, const union address *a)
{
	if (connect(fd, &a->any, size_of(a)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return judge(fd);
}

static enum verdict
try_address(int socket_family, const union address *a)
{
	int	 fd = socket(socket_family, SOCK_STREAM, 0);

	if (fd == -1)
		return tell(SKIPPED, "%s", strerror(errno));
	return talk(fd, a);
}

static enum verdict
tcp(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port");

	return try_address(AF_INET, &a);
}

static enum verdict
tcp_any(void)
{
	union address	 a = at(AF_INET, "0.0.0.0", "port");

	return try_address(AF_INET, &a);
}

static enum verdict
tcp_mapped(void)
{
	union address	 a = at(AF_INET6, "::ffff:127.0.0.1", "port");

	return try_address(AF_INET6, &a);
}

static enum verdict
tcp6(void)
{
	union address	 a = at(AF_INET6, "::1", "port6");

	return try_address(AF_INET6, &a);
}

static enum verdict
tcp6_any(void)
{
	union address	 a = at(AF_INET6, "::", "port6");

	return try_address(AF_INET6, &a);
}

/* --- other ways to make or to use a socket --- */

/* To whom its socket() says that it is a connection already. */
static enum verdict
tcp_dissolved(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port"), none;
	int		 fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(&none, 0, sizeof(none));
	if (fd == -1 || connect(fd, &a.any, sizeof(a.in)) == -1 ||
	    connect(fd, &none.any, sizeof(none.in)) == -1)
		return tell(SKIPPED, "%s", strerror(errno));
	return talk(fd, &a);
}

static enum verdict
fast_open(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port");
	int		 fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd == -1)
		return tell(SKIPPED, "%s", strerror(errno));
	if (sendto(fd, "", 0, MSG_FASTOPEN | MSG_NOSIGNAL, &a.any,
	    sizeof(a.in)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return judge(fd);
}

/* What it is known by is set to what nobody has, and to that of others. */
static enum verdict
wash(void)
{
	static const unsigned long	 rates[] = { ~0UL, 1UL << 30, 0 };
	union address			 a = at(AF_INET, "127.0.0.1", "port");
	unsigned long			 high = 0xffffffff00000000UL;
	unsigned			 old = ~0U;
	size_t				 i;
	int				 fd;

	if ((fd = socket(AF_INET, SOCK_STREAM, 0)) == -1)
		return tell(SKIPPED, "%s", strerror(errno));
	for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rates[i],
		    sizeof(rates[i]));
	setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &old, sizeof(old));
	/* With more bits than setsockopt(2) looks at. */
	syscall(SYS_setsockopt, (long)fd, high | SOL_SOCKET,
	    high | SO_MAX_PACING_RATE, &rates[0], sizeof(rates[0]));
	return talk(fd, &a);
}

static enum verdict
mptcp(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port");
	int		 fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	return fd == -1 ? tell(REFUSED, "%s", strerror(errno)) : talk(fd, &a);
}

static enum verdict
smc(void)
{
	return must_fail(socket(AF_SMC, SOCK_STREAM, 0));
}

/* With more bits than socket(2) looks at. */
static enum verdict
wide(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port");
	long		 fd;

	fd = syscall(SYS_socket, 0xffffffff00000000UL | AF_INET,
	    0xffffffff00000000UL | SOCK_STREAM, 0UL);
	return fd == -1 ? tell(REFUSED, "%s", strerror(errno)) :
	    talk((int)fd, &a);
}

/* --- the Unix socket --- */

static int
dial(const union address *a)
{
	int	 fd = socket(a->any.sa_family, SOCK_STREAM, 0);

	if (fd != -1 && connect(fd, &a->any, size_of(a)) == -1) {
		close(fd);
		return -1;
	}
	return fd;
}

static union address
at_path(const char *path)
{
	union address	 a;

	memset(&a, 0, sizeof(a));
	a.un.sun_family = AF_UNIX;
	snprintf(a.un.sun_path, sizeof(a.un.sun_path), "%s", path);
	return a;
}

static enum verdict
local_by(const char *path)
{
	union address	 a = at_path(path);
	int		 fd = dial(&a);

	return fd == -1 ? tell(REFUSED, "%s", strerror(errno)) : judge(fd);
}

static enum verdict
local(void)
{
	return local_by(key("path"));
}

static enum verdict
local_link(void)
{
	return local_by(key("link"));
}

/* One that connects, and is gone before anybody may have looked at it. */
static int
dial_and_go(const union address *a)
{
	union {
		struct cmsghdr	 head;
		char		 room[CMSG_SPACE(sizeof(int))];
	}		 room;
	struct iovec	 iov = { &room, 1 };
	struct msghdr	 m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &room,
			    .msg_controllen = sizeof(room) };
	int		 pair[2], fd;
	pid_t		 pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1 ||
	    (pid = fork()) == -1)
		return -1;
	if (pid == 0) {
		memset(&room, 0, sizeof(room));
		room.head.cmsg_level = SOL_SOCKET;
		room.head.cmsg_type = SCM_RIGHTS;
		room.head.cmsg_len = CMSG_LEN(sizeof(int));
		if ((fd = dial(a)) == -1)
			_exit(1);
		memcpy(CMSG_DATA(&room.head), &fd, sizeof(fd));
		_exit(sendmsg(pair[1], &m, 0) == -1);
	}
	close(pair[1]);
	waitpid(pid, NULL, 0);
	fd = -1;
	if (recvmsg(pair[0], &m, MSG_DONTWAIT) > 0 &&
	    m.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(&room.head), sizeof(fd));
	close(pair[0]);
	return fd;
}

static enum verdict
passed(const union address *a)
{
	int	 fd, i, status = 0;

	for (i = 0; i < PASSED; i++) {
		if ((fd = dial_and_go(a)) == -1)
			return tell(REFUSED, "no connection");
		status = ask(fd);
		close(fd);
		if (status != 403 && status != 0)
			return tell(ESCAPED, "status %d", status);
	}
	return tell(REFUSED, "status %d", status);
}

static enum verdict
local_passed(void)
{
	union address	 a = at_path(key("link"));

	return passed(&a);
}

static enum verdict
tcp_passed(void)
{
	union address	 a = at(AF_INET, "127.0.0.1", "port");

	return passed(&a);
}

static const struct attack	 attacks[] = {
	{ "tcp", tcp },
	{ "tcp-any", tcp_any },
	{ "tcp-mapped", tcp_mapped },
	{ "tcp6", tcp6 },
	{ "tcp6-any", tcp6_any },
	{ "tcp-dissolved", tcp_dissolved },
	{ "tcp-passed", tcp_passed },
	{ "fast-open", fast_open },
	{ "wash", wash },
	{ "mptcp", mptcp },
	{ "smc", smc },
	{ "wide", wide },
	{ "local", local },
	{ "local-link", local_link },
	{ "local-passed", local_passed },
	{ NULL, NULL }
};

/* --- for tests --- */

static int
supervised(char **argv)
{
	static struct sock_filter	 all[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog		 prog = { 1, all };
	int				 pair[2], fd;
	char				 c;
	pid_t				 pid;

	if (pipe(pair) == -1 || (geteuid() != 0 &&
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1))
		return 1;
	if ((fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog)) == -1)
		return 1;
	/* Who has it lives as long as the program. */
	if ((pid = fork()) == 0) {
		close(pair[1]);
		_exit(read(pair[0], &c, 1) == 0 ? 0 : 1);
	}
	close(fd);
	close(pair[0]);
	execvp(argv[0], argv);
	return 1;
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "supervised") == 0)
		return supervised(argv + 2);
	return probe_main(argc, argv, attacks);
}
