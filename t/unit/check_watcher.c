/* master/adopt/watcher.c: who watches an upgrade, and how that ends. */
#include <sys/wait.h>

#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/adopt/watcher.h"

#define LIMIT_MS	20000

static struct handoff_program	 program;
static struct handoff_lines	 lines;
static int			 sock;
static pid_t			 pid;

static void
setup(void)
{
	struct watcher_task	 t = { .program = &program, .lines = &lines,
				    .asker = -1, .version = "1" };

	pid = watcher_start(&t, &sock);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_ne(sock, -1);
}

static void
await_end(int signal)
{
	int	 status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (signal != 0)
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signal);
	else
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The new program serves. */
START_TEST(test_serves)
{
	watcher_end(&sock);
	ck_assert_int_eq(sock, -1);
	await_end(0);
	watcher_end(&sock);
}
END_TEST

/* Nobody but the watcher has the other end: its death is seen. */
START_TEST(test_dies)
{
	struct pollfd	 p = { .fd = sock, .events = POLLIN };
	char		 byte;

	ck_assert_int_eq(poll(&p, 1, 0), 0);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	await_end(SIGKILL);
	ck_assert_int_eq(poll(&p, 1, LIMIT_MS), 1);
	ck_assert_int_eq(read(sock, &byte, 1), 0);
	close(sock);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("watcher");
	TCase	*t = tcase_create("watcher");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_serves);
	tcase_add_test(t, test_dies);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
