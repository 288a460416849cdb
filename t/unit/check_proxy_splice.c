/* worker/proxy/helper/proxy_splice.c: bytes that go from socket to socket. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/proxy/helper/proxy_splice.h"

/* A sender, the two sides of the proxy, and a receiver. */
static struct {
	struct proxy_side	 from, to;
	int			 sender, receiver, pipe[2];
	char			*scratch, *sent, *got;
} s;

static void
setup(void)
{
	int	 a[2], b[2];

	signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    a), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    b), 0);
	ck_assert_int_eq(pipe2(s.pipe, O_NONBLOCK), 0);
	proxy_side_clear(&s.from);
	proxy_side_clear(&s.to);
	s.sender = a[0];
	s.from.fd = a[1];
	s.to.fd = b[0];
	s.receiver = b[1];
	s.scratch = malloc(LIMIT_NET_BUFFER);
	s.sent = malloc(LIMIT_NET_BUFFER);
	s.got = malloc(LIMIT_NET_BUFFER);
	ck_assert(s.scratch != NULL && s.sent != NULL && s.got != NULL);
	for (size_t i = 0; i < LIMIT_NET_BUFFER; i++)
		s.sent[i] = (char)(i * 7 + i / 256);
}

static void
teardown(void)
{
	int	 left = -1;

	/* Whatever happened, the next one finds it empty. */
	ck_assert_int_eq(ioctl(s.pipe[0], FIONREAD, &left), 0);
	ck_assert_int_eq(left, 0);
	close(s.sender);
	close(s.from.fd);
	close(s.to.fd);
	close(s.receiver);
	close(s.pipe[0]);
	close(s.pipe[1]);
	buf_fini(&s.to.out);
	free(s.scratch);
	free(s.sent);
	free(s.got);
}

static ssize_t
move(void)
{
	return proxy_splice(&s.from, &s.to, s.pipe, s.scratch);
}

START_TEST(test_moved)
{
	ck_assert_int_eq(send(s.sender, s.sent, 30000, 0), 30000);
	ck_assert_int_eq(move(), 30000);
	ck_assert_uint_eq(s.to.out.len, 0);
	ck_assert_int_eq(recv(s.receiver, s.got, LIMIT_NET_BUFFER, 0), 30000);
	ck_assert_mem_eq(s.got, s.sent, 30000);
	ck_assert_int_eq(move(), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(shutdown(s.sender, SHUT_WR), 0);
	ck_assert_int_eq(move(), 0);
}
END_TEST

/* One that does not read: nothing is lost, and all stays in order. */
START_TEST(test_full)
{
	size_t	 filled = 0, at = 0;
	ssize_t	 n;

	while ((n = send(s.to.fd, s.sent, 1000, 0)) > 0)
		filled += (size_t)n;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(send(s.sender, s.sent, 30000, 0), 30000);
	ck_assert_int_eq(move(), 30000);
	ck_assert_uint_gt(s.to.out.len, 0);
	while (at < filled + 30000) {
		if ((n = recv(s.receiver, s.got, LIMIT_NET_BUFFER, 0)) == -1) {
			ck_assert_int_eq(errno, EAGAIN);
			ck_assert_uint_gt(s.to.out.len, 0);
			ck_assert_int_eq(proxy_side_send(&s.to, NULL, 0), 0);
			continue;
		}
		ck_assert_int_gt(n, 0);
		for (ssize_t i = 0; i < n; i++, at++)
			ck_assert_int_eq(s.got[i], at < filled ?
			    s.sent[at % 1000] : s.sent[at - filled]);
	}
	ck_assert_uint_eq(s.to.out.len, 0);
	ck_assert_int_eq(recv(s.receiver, s.got, 1, 0), -1);
}
END_TEST

START_TEST(test_gone)
{
	ck_assert_int_eq(send(s.sender, s.sent, 30000, 0), 30000);
	close(s.receiver);
	s.receiver = -1;
	ck_assert_int_eq(move(), -1);
	ck_assert(errno == EPIPE || errno == ECONNRESET);
	ck_assert_uint_eq(s.to.out.len, 0);
}
END_TEST

/* More than may be queued, as an owner that asks too early has it. */
START_TEST(test_queue_full)
{
	ck_assert_int_eq(buf_put(&s.to.out, s.sent, LIMIT_NET_BUFFER), 0);
	s.to.out.max = LIMIT_NET_BUFFER + 100;
	while (send(s.to.fd, s.sent, 1000, 0) > 0)
		continue;
	while (send(s.to.fd, s.sent, 1, 0) > 0)
		continue;
	ck_assert_int_eq(send(s.sender, s.sent, 30000, 0), 30000);
	ck_assert_int_eq(move(), -1);
	ck_assert_int_ne(errno, EAGAIN);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("proxy_splice");
	TCase	*t = tcase_create("proxy_splice");
	SRunner	*sr = srunner_create(suite);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_moved);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_gone);
	tcase_add_test(t, test_queue_full);
	suite_add_tcase(suite, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
