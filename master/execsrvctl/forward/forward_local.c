#include "master/execsrvctl/forward/forward_local.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define BACKLOG		128
#define KIND		(SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)

static void
local_complain(const struct forward_end *e, const char *why)
{
	char	 text[FORWARD_TEXT];

	forward_end_text(e, text);
	fprintf(stderr, "execsrvctl: %s: %s\n", text, why);
}

/* 0, or -1 with errno. */
static int
path_address(const char *path, struct sockaddr_un *sun)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (strlen(path) < sizeof(sun->sun_path)) {
		strcpy(sun->sun_path, path);
		return 0;
	}
	errno = ENAMETOOLONG;
	return -1;
}

/* Listen at a path, for this user alone.  A descriptor, or -1 with errno. */
static int
listen_path(const char *path)
{
	struct sockaddr_un	 sun;
	mode_t			 mask;
	int			 fd, r;

	if (path_address(path, &sun) == -1 ||
	    (fd = socket(AF_UNIX, KIND, 0)) == -1)
		return -1;
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(mask);
	if (r == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	fd_close(&fd);
	return -1;
}

static struct addrinfo *
find_addresses(const struct forward_end *e, const char **why_out)
{
	struct addrinfo	 hints, *list;
	int		 r;

	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_NUMERICSERV;
	*why_out = NULL;
	if ((r = getaddrinfo(e->name, e->port, &hints, &list)) == 0)
		return list;
	*why_out = gai_strerror(r);
	return NULL;
}

size_t
forward_local_listen(struct forward_end *from, int fds[TCPLISTEN_MAX])
{
	const char	*why;
	size_t		 n;

	if (from->port[0] == '\0') {
		if ((fds[0] = listen_path(from->name)) != -1)
			return 1;
		local_complain(from, strerror(errno));
		return 0;
	}
	if ((n = tcplisten(from->name, from->port, fds, &why)) == 0)
		local_complain(from, why);
	else
		snprintf(from->port, sizeof(from->port), "%u",
		    tcplisten_port(fds[0]));
	return n;
}

static int
connect_socket(int family, const struct sockaddr *a, socklen_t len)
{
	int	 fd;

	if ((fd = socket(family, KIND, 0)) == -1)
		return -1;
	if (connect(fd, a, len) == 0 || errno == EINPROGRESS)
		return fd;
	fd_close(&fd);
	return -1;
}

int
forward_local_connect(const struct forward_end *to, size_t number,
    const char **why_out)
{
	struct sockaddr_un	 sun;
	struct addrinfo		*list, *a;
	int			 fd = -1, saved = ENOENT;

	*why_out = NULL;
	if (to->port[0] == '\0' && number > 0) {
		errno = ENOENT;
		return -1;
	}
	if (to->port[0] == '\0')
		return path_address(to->name, &sun) == -1 ? -1 :
		    connect_socket(AF_UNIX, (struct sockaddr *)&sun,
		    sizeof(sun));
	if ((list = find_addresses(to, why_out)) == NULL) {
		errno = ENOENT;
		return -1;
	}
	for (a = list; a != NULL && number > 0; a = a->ai_next)
		number--;
	if (a != NULL) {
		fd = connect_socket(a->ai_family, a->ai_addr, a->ai_addrlen);
		saved = errno;
	}
	freeaddrinfo(list);
	errno = saved;
	return fd;
}
