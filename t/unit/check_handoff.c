/*
 * master/adopt/handoff.c: what one master hands to the next, line by line, and
 * what becomes of lines that are none.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "master/adopt/handoff.h"

#define FDS	(INHERITED_MAX + ACTIVATION_MAX + HANDOFF_KINDS)

static struct handoff		 h;
static struct handoff_lines	 lines;
static struct handoff_program	 program;
static struct inherited		 in;
static struct activation	 passed;

static void
setup(void)
{
	memset(&h, 0, sizeof(h));
	memset(&in, 0, sizeof(in));
	memset(&passed, 0, sizeof(passed));
	log_init("t", LOG_LEVEL_ERROR, "stderr");
	unsetenv(HANDOFF_VARIABLE);
	handoff_lines_init(&lines);
}

static void
teardown(void)
{
	handoff_lines_fini(&lines);
}

static int
some_fd(void)
{
	int	 fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ne(fd, -1);
	return fd;
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

static bool
stays(int fd)
{
	int	 flags = fcntl(fd, F_GETFD);

	ck_assert_int_ne(flags, -1);
	return (flags & FD_CLOEXEC) == 0;
}

/* --- giving --- */

START_TEST(test_put)
{
	int	 fd = some_fd();
	char	 want[100];

	ck_assert_int_eq(handoff_put(&lines, HANDOFF_LISTEN, fd, "a b"), 0);
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_FAILED, -1, ""), 0);
	ck_assert(stays(fd));
	snprintf(want, sizeof(want), "listen %d a b\nfailed -1 \n", fd);
	ck_assert_uint_eq(lines.text.len, strlen(want));
	ck_assert_mem_eq(buf_data(&lines.text), want, strlen(want));
	ck_assert_uint_eq(lines.n, 1);
	handoff_lines_fini(&lines);
	ck_assert(!stays(fd));
	close(fd);
	handoff_lines_init(&lines);
}
END_TEST

/* A line is one line; there is an end to both. */
START_TEST(test_put_refused)
{
	char	*text = calloc(1, HANDOFF_MAX);
	int	 fd = some_fd();

	ck_assert_int_eq(handoff_put(&lines, HANDOFF_PROGRAM, fd, "a\nb"), -1);
	ck_assert_int_eq(errno, E2BIG);
	ck_assert(!stays(fd));
	ck_assert_uint_eq(lines.n + lines.text.len, 0);
	lines.n = FDS;
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_PROGRAM, fd, "a"), -1);
	ck_assert_int_eq(errno, E2BIG);
	lines.n = FDS - 1;
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_PROGRAM, -1, "a"), 0);
	lines.n = 0;
	ck_assert_ptr_nonnull(text);
	memset(text, 'x', HANDOFF_MAX - 1);
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_PROGRAM, fd, text), -1);
	ck_assert_uint_eq(lines.n, 0);
	ck_assert(!stays(fd));
	/* One that is not open. */
	close(fd);
	handoff_lines_fini(&lines);
	handoff_lines_init(&lines);
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_PROGRAM, fd, "a"), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_uint_eq(lines.n, 0);
	free(text);
}
END_TEST

/* --- taking --- */

static int
take(const char *text)
{
	setenv(HANDOFF_VARIABLE, text, 1);
	return handoff_take_env(&h, &in, &passed);
}

START_TEST(test_take)
{
	int	 fd[6], i;
	char	 text[300];

	ck_assert_int_eq(handoff_take_env(&h, &in, &passed), 0);
	ck_assert(!h.is_any && !handoff_is_upgrade(&h));
	for (i = 0; i < HANDOFF_KINDS; i++)
		ck_assert_int_eq(h.fd[i], -1);
	for (i = 0; i < 6; i++) {
		fd[i] = some_fd();
		ck_assert_int_eq(fd_cloexec(fd[i], 0), 0);
	}
	snprintf(text, sizeof(text), "listen %d a b\nmetrics %d m\npassed %d "
	    "p\n\nlock %d /x\nlater %d x\nlock %d /y z\nprogram -1 /p", fd[0],
	    fd[1], fd[2], fd[3], fd[4], fd[5]);
	ck_assert_int_eq(take(text), 0);
	ck_assert(h.is_any && getenv(HANDOFF_VARIABLE) == NULL);
	ck_assert_uint_eq(in.n, 2);
	ck_assert(in.list[0].fd == fd[0] && !in.list[0].is_metrics);
	ck_assert_str_eq(in.list[0].spec, "a b");
	ck_assert(in.list[1].fd == fd[1] && in.list[1].is_metrics);
	ck_assert_uint_eq(passed.n, 1);
	ck_assert_int_eq(passed.fd[0], fd[2]);
	ck_assert_str_eq(passed.name[0], "p");
	/* The last one counts, and of what is not known nothing is kept. */
	ck_assert(!is_open(fd[3]) && !is_open(fd[4]));
	ck_assert_int_eq(h.fd[HANDOFF_LOCK], fd[5]);
	ck_assert_str_eq(h.text[HANDOFF_LOCK], "/y z");
	ck_assert_str_eq(h.text[HANDOFF_PROGRAM], "/p");
	ck_assert(!stays(fd[0]) && !stays(fd[1]) && !stays(fd[2]) &&
	    !stays(fd[5]));
	ck_assert_int_eq(handoff_take(&h, HANDOFF_PROGRAM), -1);
	ck_assert_int_eq(handoff_take(&h, HANDOFF_LOCK), fd[5]);
	ck_assert_int_eq(handoff_take(&h, HANDOFF_LOCK), -1);
	handoff_fini(&h);
	ck_assert(is_open(fd[5]));
	ck_assert_ptr_null(h.text[HANDOFF_LOCK]);
	close(fd[5]);
	inherited_fini(&in);
	activation_fini(&passed);
	ck_assert(!is_open(fd[0]) && !is_open(fd[1]) && !is_open(fd[2]));
}
END_TEST

START_TEST(test_take_refused)
{
	static const char	*const bad[] = { "lock", "lock ", " ",
				    "lock 999999 /x", "later 999999 x" };
	size_t			 i;
	int			 fd = some_fd();
	char			 text[100];

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(take(bad[i]), -1);
		ck_assert_int_eq(errno, i < 3 ? EINVAL : EBADF);
		ck_assert(getenv(HANDOFF_VARIABLE) == NULL && h.is_any);
		handoff_fini(&h);
	}
	/* Nothing is taken of what is behind it. */
	snprintf(text, sizeof(text), "lock\nlock %d /x", fd);
	ck_assert_int_eq(take(text), -1);
	ck_assert_int_eq(h.fd[HANDOFF_LOCK], -1);
	handoff_fini(&h);
	/* What is not taken out is closed. */
	snprintf(text, sizeof(text), "lock %d /x", fd);
	ck_assert_int_eq(take(text), 0);
	handoff_fini(&h);
	ck_assert(!is_open(fd));
}
END_TEST

START_TEST(test_upgrade)
{
	ck_assert_int_eq(take("former -1 1.2"), 0);
	ck_assert(handoff_is_upgrade(&h));
	handoff_fini(&h);
	ck_assert_int_eq(take("failed -1 why"), 0);
	ck_assert(handoff_is_upgrade(&h));
	handoff_fini(&h);
	ck_assert_int_eq(take("control -1 "), 0);
	ck_assert(!handoff_is_upgrade(&h));
	ck_assert_str_eq(h.text[HANDOFF_CONTROL], "");
	handoff_fini(&h);
}
END_TEST

/* --- the program --- */

static bool
has_variable(const char *text)
{
	char	**e;

	for (e = program.env; *e != NULL; e++)
		if (strcmp(*e, text) == 0)
			return true;
	return false;
}

/* What is about one process or its descriptors is not for the next one. */
START_TEST(test_program)
{
	static const char	*const former[] = { HANDOFF_VARIABLE,
				    "LISTEN_FDS", "LISTEN_PID",
				    "LISTEN_FDNAMES", "WATCHDOG_PID" };
	char			*argv[] = { NULL }, text[60];
	char			 own[PATH_MAX] = "";
	size_t			 i;

	for (i = 0; i < 5; i++)
		setenv(former[i], "1", 1);
	setenv("LISTEN_FD", "1", 1);
	setenv("WATCHDOG_USEC", "1", 1);
	handoff_program_init(&program, argv);
	for (i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "%s=1", former[i]);
		ck_assert_msg(!has_variable(text), "%s", text);
		unsetenv(former[i]);
	}
	ck_assert(has_variable("LISTEN_FD=1"));
	ck_assert(has_variable("WATCHDOG_USEC=1"));
	ck_assert_ptr_eq(program.argv, argv);
	ck_assert_int_eq(program.credential, -1);
	ck_assert(!stays(program.dir));
	ck_assert_int_ne(readlink("/proc/self/exe", own, sizeof(own) - 1), -1);
	ck_assert_str_eq(program.path, own);
	handoff_program_fini(&program);
	ck_assert_int_eq(program.dir, -1);
	ck_assert_ptr_null(program.env);
}
END_TEST

/* It cannot be executed: all is as before. */
START_TEST(test_exec)
{
	char	*argv[] = { NULL }, before[PATH_MAX], after[PATH_MAX];
	int	 fd = some_fd(), dir;

	handoff_program_init(&program, argv);
	strcpy(program.path, "/proc/self/none");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
	ck_assert_int_eq(handoff_put(&lines, HANDOFF_LOCK, fd, "/x"), 0);
	handoff_exec(&program, &lines);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_nonnull(getcwd(after, sizeof(after)));
	ck_assert_str_eq(after, before);
	ck_assert_ptr_null(getenv(HANDOFF_VARIABLE));
	/* Where it was started it cannot go. */
	dir = program.dir;
	program.dir = fd;
	handoff_exec(&program, &lines);
	ck_assert_int_eq(errno, ENOTDIR);
	program.dir = dir;
	ck_assert_int_eq(fchdir(dir), 0);
	handoff_program_fini(&program);
	handoff_lines_fini(&lines);
	handoff_lines_init(&lines);
	ck_assert(!stays(fd));
	close(fd);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("handoff");
	TCase	*t = tcase_create("handoff");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_put);
	tcase_add_test(t, test_put_refused);
	tcase_add_test(t, test_take);
	tcase_add_test(t, test_take_refused);
	tcase_add_test(t, test_upgrade);
	tcase_add_test(t, test_program);
	tcase_add_test(t, test_exec);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
