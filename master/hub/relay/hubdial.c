#include "master/hub/relay/hubdial.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "common/fd.h"

static int
hubdial_address(const char *host, uint16_t port, struct sockaddr_storage *ss,
    socklen_t *len)
{
	struct sockaddr_in	*in = (void *)ss;
	struct sockaddr_in6	*in6 = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		*len = sizeof(*in);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return -1;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	*len = sizeof(*in6);
	return 0;
}

int
hubdial(struct hubconn_loop *conns, const char *host, uint16_t port,
    struct hubconn **out)
{
	struct sockaddr_storage	 ss;
	socklen_t		 len;
	static const int	 on = 1;
	int			 fd;

	errno = EINVAL;
	if (hubdial_address(host, port, &ss, &len) == -1 ||
	    (fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0)) == -1)
		return -1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1 ||
	    (connect(fd, (struct sockaddr *)&ss, len) == -1 &&
	    errno != EINPROGRESS) || (*out = hubconn_new(conns, fd, NULL)) ==
	    NULL) {
		fd_close(&fd);
		return -1;
	}
	return 0;
}
