/*
 * common/process/program.c: where our programs are.  The calling program is
 * this one, as a copy in a folder of the test's own.
 */
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/process/program.h"
#include "config.h"
#include "t/unit/left_out.h"

#define NOBODY	65534

static char	 dir[64], finder[96], beside[96], answer[PATH_MAX];

static void
copy_self(mode_t mode)
{
	char	 buf[65536];
	int	 in, out;
	ssize_t	 n;

	ck_assert_int_ne(in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), -1);
	ck_assert_int_ne(out = open(finder, O_WRONLY | O_CREAT | O_CLOEXEC,
	    0700), -1);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		ck_assert_int_eq(write(out, buf, (size_t)n), n);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(fchmod(out, mode), 0);
	close(in);
	close(out);
}

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");
	int		 fd;

	snprintf(dir, sizeof(dir), "%.40s/program.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	snprintf(finder, sizeof(finder), "%s/finder", dir);
	snprintf(beside, sizeof(beside), "%s/execsrv-x", dir);
	ck_assert_int_ne(fd = open(beside, O_WRONLY | O_CREAT | O_CLOEXEC,
	    0755), -1);
	close(fd);
}

static void
teardown(void)
{
	unlink(finder);
	unlink(beside);
	ck_assert_int_eq(rmdir(dir), 0);
}

/* What the copy finds, run by that user; -1: by us. */
static void
find(int uid)
{
	int	 out[2], status;
	ssize_t	 n;
	pid_t	 pid;

	ck_assert_int_eq(pipe(out), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		if (dup2(out[1], STDOUT_FILENO) != -1 && (uid == -1 ||
		    (setgroups(0, NULL) == 0 && setgid((gid_t)uid) == 0 &&
		    setuid((uid_t)uid) == 0)))
			execl(finder, finder, "execsrv-x", (char *)NULL);
		_exit(1);
	}
	close(out[1]);
	n = read(out[0], answer, sizeof(answer) - 1);
	ck_assert_int_gt(n, 0);
	answer[n] = '\0';
	close(out[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(test_beside)
{
	copy_self(0755);
	find(-1);
	ck_assert_str_eq(answer, beside);
	ck_assert_int_eq(unlink(beside), 0);
	find(-1);
	ck_assert_str_eq(answer, EXECSRV_LIBEXECDIR "/execsrv-x");
}
END_TEST

/* Anyone may put programs beside a set-user-ID one, by a hard link to it. */
START_TEST(test_set_user_id)
{
	struct statvfs	 fs;

	ck_assert_int_eq(statvfs(dir, &fs), 0);
	if (geteuid() != 0 || (fs.f_flag & ST_NOSUID) != 0) {
		left_out("no set-user-ID program can be made");
		return;
	}
	copy_self(04755);
	find(0);
	ck_assert_str_eq(answer, beside);
	find(NOBODY);
	ck_assert_str_eq(answer, EXECSRV_LIBEXECDIR "/execsrv-x");
}
END_TEST

int
main(int argc, char **argv)
{
	Suite	*s;
	TCase	*t;
	SRunner	*r;
	int	 failed;

	if (argc == 2) {
		program_find(argv[1], answer, sizeof(answer));
		return fputs(answer, stdout) == EOF;
	}
	s = suite_create("program");
	t = tcase_create("program");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_beside);
	tcase_add_test(t, test_set_user_id);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
