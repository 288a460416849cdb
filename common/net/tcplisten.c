#include "common/net/tcplisten.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/fd.h"

#define BACKLOG		128
#define KIND		(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)
#define TRIES		20	/* for a port that is free everywhere */

/* A descriptor, or -1 with errno. */
static int
listen_address(const struct addrinfo *a)
{
	int	 fd, one = 1;

	if ((fd = socket(a->ai_family, KIND, 0)) == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    (a->ai_family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6,
	    IPV6_V6ONLY, &one, sizeof(one)) == 0) &&
	    bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	fd_close(&fd);
	return -1;
}

/* Where the port of an Internet address is, in network order; or NULL. */
static in_port_t *
port_of(struct sockaddr *sa)
{
	return sa->sa_family == AF_INET6 ?
	    &((struct sockaddr_in6 *)(void *)sa)->sin6_port :
	    sa->sa_family == AF_INET ?
	    &((struct sockaddr_in *)(void *)sa)->sin_port : NULL;
}

unsigned
tcplisten_port(int fd)
{
	struct sockaddr_storage	 s;
	socklen_t		 len = sizeof(s);
	in_port_t		*port;

	memset(&s, 0, sizeof(s));
	if (getsockname(fd, (struct sockaddr *)&s, &len) == -1)
		return 0;
	port = port_of((struct sockaddr *)&s);
	return port == NULL ? 0 : ntohs(*port);
}

/*
 * Later addresses take the port of the first.  Return how many, or 0 with
 * errno; EADDRINUSE: of any of them.
 */
static size_t
listen_addresses(const struct addrinfo *list, int fds[TCPLISTEN_MAX])
{
	const struct addrinfo	*a;
	in_port_t		*port;
	size_t			 n = 0;
	int			 error = EADDRNOTAVAIL;

	for (a = list; a != NULL && n < TCPLISTEN_MAX; a = a->ai_next) {
		if ((port = port_of(a->ai_addr)) == NULL)
			continue;
		if (n > 0)
			*port = htons((uint16_t)tcplisten_port(fds[0]));
		if ((fds[n] = listen_address(a)) != -1)
			n++;
		else if ((error = errno) == EADDRINUSE)
			break;
	}
	while (n > 0 && n < TCPLISTEN_MAX && a != NULL)
		fd_close(&fds[--n]);
	errno = error;
	return n;
}

size_t
tcplisten(const char *name, const char *port, int fds[TCPLISTEN_MAX],
    const char **why_out)
{
	struct addrinfo	 hints, *list;
	size_t		 n = 0;
	bool		 is_local = strcasecmp(name, "localhost") == 0;
	int		 r, tries = strcmp(port, "0") == 0 ? TRIES : 1;

	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	/* Loopback in any case, RFC 6761 section 6.3: of no name it is. */
	hints.ai_flags = AI_NUMERICSERV | (is_local ? 0 : AI_PASSIVE);
	while (n == 0 && tries-- > 0) {
		if ((r = getaddrinfo(is_local ? NULL : name, port, &hints,
		    &list)) != 0) {
			*why_out = gai_strerror(r);
			return 0;
		}
		n = listen_addresses(list, fds);
		*why_out = strerror(errno);
		freeaddrinfo(list);
		if (n == 0 && errno != EADDRINUSE)
			break;
	}
	return n;
}
