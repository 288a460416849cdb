/* master/auth/peer.c: who is at the other end, and who is nobody. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "common/net/sockdiag.h"
#include "master/auth/idmap.h"
#include "master/auth/peer.h"
#include "t/unit/left_out.h"

#define OTHER	4711u		/* no number of ours */

static struct idmap	 im;
static enum peer_way	 way;
static int		 diag = -1, listener, client, server;

static void
setup(void)
{
	struct sockaddr_in	 in;
	socklen_t		 len = sizeof(in);

	im = (struct idmap){ true, true, OTHER, OTHER };
	way = peer_find_way();
	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&in, &len),
	    0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&in, len), 0);
	ck_assert_int_ne(server = accept(listener, NULL, NULL), -1);
}

static void
teardown(void)
{
	close(listener);
	close(server);
	if (diag != -1)
		close(diag);
	diag = -1;
}

/*
 * One that is gone has no owner any more, and the kernel says that it is
 * root's; what it sent is there to be read all the same.
 */
START_TEST(test_gone)
{
	static const enum peer_way	 ways[] = { PEER_WAY_DIAG,
						PEER_WAY_TABLE };
	struct peer			 p;
	size_t				 i;

	if (way == PEER_WAY_NONE) {
		left_out("nothing tells whose a connection is");
		return;
	}
	if (way != PEER_WAY_DIAG)
		left_out("sock_diag");
	for (i = way != PEER_WAY_DIAG; i < 2; i++) {
		ck_assert_int_eq(peer_identify(server, ways[i], &diag, 0,
		    &im, &p),
		    0);
		ck_assert(p.known);
		ck_assert_uint_eq(p.uid, geteuid());
	}
	ck_assert_int_eq(send(client, "initialize", 10, 0), 10);
	close(client);
	for (i = way != PEER_WAY_DIAG; i < 2; i++) {
		ck_assert_int_eq(peer_identify(server, ways[i], &diag, 0,
		    &im, &p),
		    0);
		ck_assert_msg(!p.known, "uid %u", p.uid);
		ck_assert_str_eq(p.identity, "unknown");
	}
}
END_TEST

/* --- addresses --- */

/* What every machine has, and one that this machine has besides: TEST-NET. */
#define OURS	"192.0.2.1"

/* Be in a network of our own, with that address. */
static bool
make_network(void)
{
	struct ifreq	 lo, other;
	struct sockaddr_in	*in = (struct sockaddr_in *)(void *)
				    &other.ifr_addr;
	int		 fd;
	bool		 is_made;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1 ||
	    (fd = socket(AF_INET, SOCK_DGRAM, 0)) == -1)
		return false;
	memset(&lo, 0, sizeof(lo));
	memset(&other, 0, sizeof(other));
	strcpy(lo.ifr_name, "lo");
	strcpy(other.ifr_name, "lo:1");
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = inet_addr(OURS);
	is_made = ioctl(fd, SIOCSIFFLAGS, &lo) == 0 &&
	    ioctl(fd, SIOCSIFADDR, &other) == 0;
	close(fd);
	return is_made;
}

static int
bound(const char *address)
{
	struct sockaddr_in	 in;
	int			 fd;

	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_addr.s_addr = inet_addr(address);
	ck_assert_int_ne(fd = socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

/* Whether a client at one address is known to a server at another. */
static bool
is_known(const char *from, const char *to)
{
	struct sockaddr_in	 in;
	socklen_t		 len = sizeof(in);
	struct peer		 p;
	int			 door = bound(to), here = bound(from), there;

	ck_assert_int_eq(listen(door, 1), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&in, &len), 0);
	ck_assert_int_eq(connect(here, (struct sockaddr *)&in, len), 0);
	ck_assert_int_ne(there = accept(door, NULL, NULL), -1);
	ck_assert_int_eq(peer_identify(there, way, &diag, 0,
		    &im, &p), 0);
	ck_assert_str_eq(p.address, from);
	close(door);
	close(here);
	close(there);
	return p.known;
}

/* Both ends have to be on loopback: what else there is others may reach. */
START_TEST(test_loopback)
{
	close(client);
	if (way == PEER_WAY_NONE || !make_network()) {
		left_out("a network of our own");
		return;
	}
	ck_assert(is_known("127.0.0.1", "127.0.0.1"));
	ck_assert(is_known("127.0.0.1", "127.1.2.3"));
	ck_assert(!is_known(OURS, OURS));
	ck_assert(!is_known(OURS, "127.0.0.1"));
	ck_assert(!is_known("127.0.0.1", OURS));
}
END_TEST

/*
 * The same link-local address may be on each interface: the kernel wants to
 * know on which, or a command in a sandbox is taken for anybody.
 */
START_TEST(test_link_local)
{
	struct in6_ifreq	 req = { .ifr6_prefixlen = 64 };
	struct sockaddr_in6	 in = { .sin6_family = AF_INET6 }, from;
	struct sockdiag		 d;
	socklen_t		 len = sizeof(in);
	int			 door, here, sock = -1;

	close(client);
	ck_assert_int_eq(inet_pton(AF_INET6, "fe80::7", &in.sin6_addr), 1);
	req.ifr6_addr = in.sin6_addr;
	if (way != PEER_WAY_DIAG || !make_network() ||
	    (req.ifr6_ifindex = (int)if_nametoindex("lo")) == 0 ||
	    (sock = socket(AF_INET6, SOCK_DGRAM, 0)) == -1 ||
	    ioctl(sock, SIOCSIFADDR, &req) == -1) {
		left_out("sock_diag, or link-local addresses");
		return;
	}
	close(sock);
	in.sin6_scope_id = (uint32_t)req.ifr6_ifindex;
	ck_assert_int_ne(door = socket(AF_INET6, SOCK_STREAM, 0), -1);
	ck_assert_int_ne(here = socket(AF_INET6, SOCK_STREAM, 0), -1);
	/* The kernel takes the address into use a moment later. */
	while (bind(door, (struct sockaddr *)&in, len) == -1) {
		ck_assert_int_eq(errno, EADDRNOTAVAIL);
		sched_yield();
	}
	ck_assert_int_eq(listen(door, 1), 0);
	ck_assert_int_eq(getsockname(door, (struct sockaddr *)&in, &len), 0);
	ck_assert_int_eq(connect(here, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(getsockname(here, (struct sockaddr *)&from, &len),
	    0);
	ck_assert_int_ne(diag = sockdiag_open(), -1);
	ck_assert_int_eq(sockdiag_find(diag, (struct sockaddr *)&in,
	    (struct sockaddr *)&from, &d), 0);
	ck_assert(d.is_found);
	close(door);
	close(here);
}
END_TEST

/* Who has no number here is nobody, and who is in a group that has none. */
START_TEST(test_unmapped)
{
	struct peer	 p;
	int		 pair[2];

	close(client);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(peer_identify(pair[0], way, &diag, 0,
		    &im, &p), 0);
	ck_assert(p.known && p.has_gid);
	ck_assert_uint_eq(p.gid, getegid());
	im.has_all_groups = false;
	ck_assert_int_eq(peer_identify(pair[0], way, &diag, 0,
		    &im, &p), 0);
	ck_assert(p.known);
	im.overflow_gid = getegid();
	ck_assert_int_eq(peer_identify(pair[0], way, &diag, 0,
		    &im, &p), 0);
	ck_assert(!p.known && !p.has_gid);
	ck_assert_str_eq(p.identity, "unknown");
	im.has_all_groups = true;
	im.has_all_users = false;
	ck_assert_int_eq(peer_identify(pair[0], way, &diag, 0,
		    &im, &p), 0);
	ck_assert(p.known);
	im.overflow_uid = geteuid();
	ck_assert_int_eq(peer_identify(pair[0], way, &diag, 0,
		    &im, &p), 0);
	ck_assert(!p.known);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("peer");
	TCase	*t = tcase_create("peer");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_gone);
	tcase_add_test(t, test_loopback);
	tcase_add_test(t, test_link_local);
	tcase_add_test(t, test_unmapped);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
