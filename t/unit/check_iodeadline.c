/* worker/conn/iodeadline.c: ready in time, sent whole, read to the end. */
#include <sys/socket.h>
#include <sys/wait.h>

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "worker/conn/iodeadline.h"

#define LONG_MS	30000
#define MUCH	(4u << 20)	/* more than a socket holds */

static int	 ends[2];

static void
setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
}

static void
teardown(void)
{
	close(ends[0]);
	close(ends[1]);
}

START_TEST(test_wait)
{
	uint64_t	 began = clock_ms();

	ck_assert(!iodeadline(ends[0], POLLIN, began));
	ck_assert(!iodeadline(ends[0], POLLIN, began + 20));
	ck_assert_uint_ge(clock_ms(), began + 20);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert(iodeadline(ends[0], POLLIN, clock_ms() + LONG_MS));
	/* Too late is too late, whatever is there. */
	ck_assert(!iodeadline(ends[0], POLLIN, clock_ms()));
}
END_TEST

/* Read all that comes until the other end is closed: its length. */
static size_t
read_all(int fd)
{
	char	 part[5000];
	size_t	 sum = 0;
	ssize_t	 n, i;

	while ((n = read(fd, part, sizeof(part))) > 0)
		for (i = 0; i < n; i++, sum++)
			if (part[i] != (char)(sum % 251))
				return 0;
	return n == 0 ? sum : 0;
}

START_TEST(test_send_all)
{
	char	*data = malloc(MUCH);
	size_t	 i;
	pid_t	 pid;
	int	 status;

	ck_assert(data != NULL);
	for (i = 0; i < MUCH; i++)
		data[i] = (char)(i % 251);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		close(ends[0]);
		_exit(read_all(ends[1]) == MUCH ? 0 : 1);
	}
	close(ends[1]);
	ck_assert_int_eq(iodeadline_send(ends[0], data, MUCH,
	    clock_ms() + LONG_MS), 0);
	close(ends[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	free(data);
}
END_TEST

START_TEST(test_send_fails)
{
	char		*data = calloc(1, MUCH);
	uint64_t	 began = clock_ms();

	ck_assert(data != NULL);
	/* Nobody reads. */
	ck_assert_int_eq(iodeadline_send(ends[0], data, MUCH, began + 20), -1);
	ck_assert_uint_ge(clock_ms(), began + 20);
	/* Nobody is there: an error, no signal. */
	close(ends[1]);
	ck_assert_int_eq(iodeadline_send(ends[0], "x", 1,
	    clock_ms() + LONG_MS), -1);
	free(data);
}
END_TEST

/* What the peer has sent is read up to its end; it is told ours first. */
START_TEST(test_linger)
{
	uint64_t	 began;
	char		 byte;

	do {
		teardown();
		setup();
		ck_assert_int_eq(write(ends[1], "more", 4), 4);
		ck_assert_int_eq(shutdown(ends[1], SHUT_WR), 0);
		began = clock_ms();
		iodeadline_linger(ends[0]);
	} while (clock_ms() >= began + 500);	/* we stood still */
	ck_assert_int_eq(recv(ends[0], &byte, 1, MSG_DONTWAIT), 0);
	ck_assert_int_eq(recv(ends[1], &byte, 1, MSG_DONTWAIT), 0);
}
END_TEST

/* A peer that says nothing is not waited for for ever. */
START_TEST(test_linger_ends)
{
	uint64_t	 began = clock_ms();

	iodeadline_linger(ends[0]);
	ck_assert_uint_ge(clock_ms(), began + 500);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("iodeadline");
	TCase	*t = tcase_create("iodeadline");
	SRunner	*r = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_wait);
	tcase_add_test(t, test_send_all);
	tcase_add_test(t, test_send_fails);
	tcase_add_test(t, test_linger);
	tcase_add_test(t, test_linger_ends);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
