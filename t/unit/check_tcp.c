/* common/net/tcp.c: what the sockets of connections are set to. */
#include <check.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/endpoint.h"
#include "common/net/tcp.h"

/* The address that a URL stands for; its length. */
static socklen_t
address(union endpoint_address *a, const char *url)
{
	struct endpoint	 ep;

	ck_assert_int_eq(endpoint_parse(&ep, url), ENDPOINT_OK);
	return endpoint_address(&ep, a);
}

START_TEST(test_loopback)
{
	static const struct {
		const char	*url;
		bool		 is;
	} rows[] = {
		{ "ws://127.0.0.1:80", true },
		{ "ws://127.255.3.2:80", true },
		{ "ws://126.255.255.255:80", false },
		{ "ws://128.0.0.1:80", false },
		{ "ws://0.0.0.0:80", false },
		{ "ws://[::1]:80", true },
		{ "ws://[::]:80", false },
		{ "ws://[::2]:80", false },
		{ "unix:/run/127.0.0.1", false },
	};
	union endpoint_address	 a;
	struct endpoint		 ep;

	address(&a, rows[_i].url);
	ck_assert_msg(tcp_is_loopback(&a.any) == rows[_i].is, "%s",
	    rows[_i].url);
	/* What is of a Unix socket is of here, too. */
	ck_assert_int_eq(endpoint_parse(&ep, rows[_i].url), ENDPOINT_OK);
	ck_assert_msg(ep.is_local == (rows[_i].is || strncmp(rows[_i].url,
	    "unix:", 5) == 0), "%s", rows[_i].url);
}
END_TEST

static void
get_congestion(int fd, char name[16])
{
	socklen_t	 len = 15;

	memset(name, 0, 16);
	ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
	    &len), 0);
}

static void
assert_prompt(int fd)
{
	int		 on = 0;
	socklen_t	 len = sizeof(on);

	ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len),
	    0);
	ck_assert_int_ne(on, 0);
}

/* What listens hands both on; who connects has them, too. */
START_TEST(test_local)
{
	union endpoint_address	 a;
	socklen_t		 len = address(&a, "ws://127.0.0.1:0");
	char			 name[16];
	int			 fd[3];

	for (int i = 0; i < 2; i++) {
		ck_assert((fd[i] = socket(AF_INET, SOCK_STREAM, 0)) != -1);
		ck_assert_int_eq(tcp_tune(fd[i], &a.any), 0);
	}
	ck_assert_int_eq(bind(fd[0], &a.any, len), 0);
	ck_assert_int_eq(listen(fd[0], 1), 0);
	ck_assert_int_eq(getsockname(fd[0], &a.any, &len), 0);
	ck_assert_int_eq(connect(fd[1], &a.any, len), 0);
	ck_assert((fd[2] = accept(fd[0], NULL, NULL)) != -1);
	for (int i = 1; i < 3; i++) {
		get_congestion(fd[i], name);
		ck_assert_str_eq(name, "reno");
		assert_prompt(fd[i]);
	}
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}
END_TEST

/* What goes over a network is left to the system's administrator. */
START_TEST(test_network)
{
	union endpoint_address	 a;
	char			 before[16], after[16];
	int			 fd;

	address(&a, "ws://192.0.2.1:80");
	ck_assert((fd = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	get_congestion(fd, before);
	ck_assert_int_eq(tcp_tune(fd, &a.any), 0);
	get_congestion(fd, after);
	ck_assert_str_eq(after, before);
	assert_prompt(fd);
	close(fd);
}
END_TEST

START_TEST(test_no_socket)
{
	union endpoint_address	 a;

	address(&a, "ws://127.0.0.1:80");
	ck_assert_int_eq(tcp_tune(-1, &a.any), -1);
}
END_TEST

int
main(void)
{
	SRunner	*r;
	Suite	*s = suite_create("tcp");
	TCase	*t = tcase_create("all");
	int	 failed;

	tcase_add_loop_test(t, test_loopback, 0, 9);
	tcase_add_test(t, test_local);
	tcase_add_test(t, test_network);
	tcase_add_test(t, test_no_socket);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
