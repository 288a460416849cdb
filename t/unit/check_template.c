/*
 * worker/template.c: it asks no name service, which may end the process that
 * does.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <check.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/template.h"

/* In the place of the name service. */
struct passwd *
getpwuid(uid_t uid)
{
	(void)uid;
	_exit(99);
}

/* Return how a template ends whose master closes its socket at once. */
static int
status_of_template(void)
{
	struct rlimit	 nofile;
	int		 pair[2], status;
	pid_t		 pid;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &nofile), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    pair), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		close(pair[0]);
		_exit(template_run(pair[1], &nofile, ""));
	}
	close(pair[1]);
	close(pair[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(test_works)
{
	ck_assert_int_eq(status_of_template(), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("template");
	TCase	*t = tcase_create("names");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_works);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
