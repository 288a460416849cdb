/*
 * worker/forward/forward_carry.c: all bytes in both directions, however little
 * is taken at once, what is said of the end, and holding.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/forward/forward_carry.h"

#define MUCH	3000

static int	 in, out, said;		/* what we are given, and say */
static int	 sock, peer;
static char	 data[2][MUCH];
static size_t	 most = SIZE_MAX;	/* bytes of a write */
static unsigned	 refusals;		/* writes that are, each once more */
static int	 refusal;		/* with this errno */
static unsigned	 waits;			/* calls of ppoll() */
static bool	 is_held;		/* the peer sends then */
static int	 unread;		/* bytes at the end of it */

/* --- in the place of the kernel --- */

ssize_t
write(int fd, const void *from, size_t n)
{
	if (fd == sock || fd == STDOUT_FILENO) {
		if (refusals > 0) {
			refusals--;
			errno = refusal;
			return -1;
		}
		n = n < most ? n : most;
	}
	return (ssize_t)syscall(SYS_write, fd, from, n);
}

static void
peer_sends(void)
{
	ck_assert_int_eq(write(peer, data[1], MUCH), MUCH);
	ck_assert_int_eq(shutdown(peer, SHUT_WR), 0);
}

int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *limit,
    const sigset_t *mask)
{
	char	 c[MUCH];

	ck_assert(limit == NULL && mask != NULL && n == 3);
	waits++;
	/* After the input, its end, and the signal. */
	if (is_held && waits == 4)
		peer_sends();
	if (is_held && waits >= 4 && waits < 8)
		return 0;
	if (is_held && waits == 8) {
		unread = (int)recv(sock, c, sizeof(c), MSG_PEEK);
		raise(SIGUSR2);
	}
	return (int)syscall(SYS_ppoll, p, n, NULL, mask, _NSIG / 8);
}

/* --- the tests --- */

static int
memory(const char *name)
{
	int	 fd = (int)syscall(SYS_memfd_create, name, 0);

	ck_assert_int_ne(fd, -1);
	return fd;
}

/* Input is a pipe that ends. */
static void
setup(void)
{
	int	 pair[2];
	size_t	 i;

	for (i = 0; i < MUCH; i++) {
		data[0][i] = (char)(i * 7);
		data[1][i] = (char)(i * 11);
	}
	ck_assert_int_eq(pipe(pair), 0);
	ck_assert_int_eq(write(pair[1], data[0], MUCH), MUCH);
	close(pair[1]);
	in = pair[0];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	sock = pair[0];
	peer = pair[1];
	out = memory("out");
	said = memory("said");
}

/* Carry, with our own input and output put aside. */
static int
carry(void)
{
	int	 aside[3], i, r;

	fflush(NULL);
	for (i = 0; i < 3; i++)
		ck_assert_int_ne(aside[i] = dup(i), -1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	r = forward_carry(sock);
	fflush(NULL);
	for (i = 0; i < 3; i++)
		dup2(aside[i], i);
	return r;
}

static void
ck_said(const char *what)
{
	char	 text[200];
	ssize_t	 n = pread(said, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_str_eq(text, what);
}

static void
ck_carried(void)
{
	char	 got[MUCH + 1];

	ck_assert_int_eq(pread(out, got, sizeof(got), 0), MUCH);
	ck_assert_mem_eq(got, data[1], MUCH);
	ck_assert_int_eq(recv(peer, got, sizeof(got), MSG_WAITALL), MUCH);
	ck_assert_mem_eq(got, data[0], MUCH);
	ck_said("eof 3000\n");
}

START_TEST(test_all)
{
	peer_sends();
	ck_assert_int_eq(carry(), 0);
	ck_carried();
}
END_TEST

/* Little by little; and not now, or interrupted. */
START_TEST(test_parts)
{
	peer_sends();
	most = 97;
	refusals = 3;
	refusal = _i == 0 ? EAGAIN : EINTR;
	ck_assert_int_eq(carry(), 0);
	ck_carried();
}
END_TEST

/* Nothing is read while it is held. */
START_TEST(test_held)
{
	ck_assert_int_eq(forward_signals(), 0);
	is_held = true;
	raise(SIGUSR1);
	ck_assert_int_eq(carry(), 0);
	ck_assert_int_eq(unread, MUCH);
	ck_carried();
}
END_TEST

/* Of two that are pending SIGUSR2 counts. */
START_TEST(test_both_signals)
{
	peer_sends();
	ck_assert_int_eq(forward_signals(), 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	ck_assert_int_eq(carry(), 0);
	ck_assert_uint_lt(waits, 4);
	ck_carried();
}
END_TEST

/* The peer takes no more, but has something to say. */
START_TEST(test_half)
{
	char	 got[MUCH + 1];

	peer_sends();
	ck_assert_int_eq(forward_signals(), 0);
	ck_assert_int_eq(shutdown(peer, SHUT_RD), 0);
	ck_assert_int_eq(carry(), 0);
	ck_assert_int_eq(pread(out, got, sizeof(got), 0), MUCH);
	ck_assert_mem_eq(got, data[1], MUCH);
	ck_said("eof 3000\n");
}
END_TEST

/* Nobody takes what the peer says. */
START_TEST(test_no_output)
{
	peer_sends();
	close(out);
	ck_assert_int_ne(out = open("/dev/full", O_WRONLY), -1);
	ck_assert_int_eq(carry(), -1);
	ck_said("No space left on device\n");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("forward_carry");
	TCase	*t = tcase_create("forward_carry");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_all);
	tcase_add_loop_test(t, test_parts, 0, 2);
	tcase_add_test(t, test_held);
	tcase_add_test(t, test_both_signals);
	tcase_add_test(t, test_half);
	tcase_add_test(t, test_no_output);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
