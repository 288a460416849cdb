#include "common/net/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

bool
tcp_is_loopback(const struct sockaddr *a)
{
	struct sockaddr_in6	 in6;
	struct sockaddr_in	 in;

	switch (a->sa_family) {
	case AF_INET:
		memcpy(&in, a, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		memcpy(&in6, a, sizeof(in6));
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
	default:
		return false;
	}
}

int
tcp_no_delay(int fd)
{
	const int	 on = 1;

	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int
tcp_tune(int fd, const struct sockaddr *at)
{
	static const char	 unpaced[] = "reno";

	/*
	 * An optimization only: bbr, the default of some systems, paces with
	 * timers; reno never waits if nothing is lost, and anybody may use it.
	 */
	if (tcp_is_loopback(at))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, unpaced,
		    sizeof(unpaced) - 1);
	return tcp_no_delay(fd);
}
