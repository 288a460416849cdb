/*
 * worker/template.c: a name service that ends the process that asks it is the
 * end of no template.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <check.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/template.h"

static bool	 is_broken;

/* In the place of the name service. */
struct passwd *
getpwuid(uid_t uid)
{
	static struct passwd	 pw;

	if (is_broken)
		_exit(99);
	pw.pw_uid = uid;
	return &pw;
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
	is_broken = false;
	ck_assert_int_eq(status_of_template(), 0);
}
END_TEST

START_TEST(test_name_service_ends_processes)
{
	is_broken = true;
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
	tcase_add_test(t, test_name_service_ends_processes);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
