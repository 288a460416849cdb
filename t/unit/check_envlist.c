#include "common/process/envlist.h"

#include <sys/wait.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

static char	 a[] = "A=1", ab[] = "AB=2", empty[] = "B=", bare[] = "C",
		 twice[] = "A=3";
static char	*env[] = { a, ab, empty, bare, twice, NULL };

static void
ck_list(char **got, ...)
{
	va_list	 ap;
	size_t	 i = 0;
	char	*want;

	ck_assert_ptr_nonnull(got);
	va_start(ap, got);
	while ((want = va_arg(ap, char *)) != NULL)
		ck_assert_ptr_eq(got[i++], want);
	va_end(ap);
	ck_assert_ptr_null(got[i]);
	free(got);
}

/* Whole names, in their order; the strings are the same. */
START_TEST(test_filter)
{
	static const char *const	 names[] = { "C", "A", "D" };

	ck_list(envlist_filter(env, names, 3, true), a, bare, twice, NULL);
	ck_list(envlist_filter(env, names, 3, false), ab, empty, NULL);
	ck_list(envlist_filter(env, names, 0, true), NULL);
	ck_list(envlist_filter(env, names, 0, false), a, ab, empty, bare,
	    twice, NULL);
	ck_list(envlist_filter(NULL, names, 3, false), NULL);
}
END_TEST

/* Nothing that is not for it. */
START_TEST(test_network)
{
	static char	 proxy[] = "https_proxy=p", secret[] = "SECRET=s",
			 upper[] = "HTTP_PROXY=p", path[] = "PATH=/";
	static char	*ours[] = { secret, proxy, upper, path, NULL };
	char		**saved = environ;

	environ = ours;
	ck_list(envlist_network(), proxy, NULL);
	environ = saved;
}
END_TEST

/* Nothing of it is for sessions of other users but what they begin with. */
START_TEST(test_worker)
{
	static char	 lang[] = "LANG=C", libs[] = "LD_LIBRARY_PATH=/l",
			 key[] = "API_KEY=s", home[] = "HOME=/root";
	static char	*ours[] = { key, lang, home, libs, NULL };
	char		**saved = environ;

	environ = ours;
	ck_list(envlist_worker(), lang, libs, NULL);
	ck_list(envlist_locale(), lang, NULL);
	environ = saved;
}
END_TEST

START_TEST(test_secrets)
{
	ck_assert(envlist_is_secret("NOTIFY_SOCKET=/x"));
	ck_assert(envlist_is_secret("LISTEN_FDS"));
	ck_assert(!envlist_is_secret("LISTEN_FDSX=1"));
	ck_assert(!envlist_is_secret(""));
}
END_TEST

/* What one process puts down another one has; its children do not. */
START_TEST(test_file)
{
	static char	 socket[] = "NOTIFY_SOCKET=/x", none[] = "NONE=",
			 key[] = "API_KEY=s";
	static char	*ours[] = { none, socket, key, NULL }, *nothing[] = {
			 NULL };
	char		**saved = environ;
	int		 fd, status;
	pid_t		 pid;

	environ = ours;
	ck_assert_int_ne(fd = envlist_to_file(), -1);
	environ = nothing;
	ck_assert_int_eq(envlist_from_file(fd), 0);
	ck_assert_str_eq(environ[0], "NONE=");
	ck_assert_str_eq(environ[1], "API_KEY=s");
	ck_assert_ptr_null(environ[2]);
	if ((pid = fork()) == 0)
		_exit(environ[0] == NULL && getenv("API_KEY") == NULL ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(getenv("API_KEY"), "s");
	ck_assert_int_eq(write(fd, "", 1), -1);
	close(fd);

	environ = nothing;
	ck_assert_int_ne(fd = envlist_to_file(), -1);
	ck_assert_int_eq(envlist_from_file(fd), 0);
	ck_assert_ptr_null(environ[0]);
	ck_assert_int_eq(setenv("A", "1", 1), 0);
	ck_assert_str_eq(getenv("A"), "1");
	close(fd);
	environ = saved;
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("envlist");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_filter);
	tcase_add_test(t, test_network);
	tcase_add_test(t, test_worker);
	tcase_add_test(t, test_secrets);
	tcase_add_test(t, test_file);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
