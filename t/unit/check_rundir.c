/* master/rundir.c: which folders are trusted, and whose they are. */
#include <sys/stat.h>

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/rundir.h"
#include "t/unit/left_out.h"

#define OTHER	4711		/* no user of ours */

static char		 top[96], path[112];
static struct handoff	 handed;	/* nothing, mostly */

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");
	size_t		 i;

	for (i = 0; i < HANDOFF_KINDS; i++)
		handed.fd[i] = -1;
	snprintf(top, sizeof(top), "%.60s/check_rundir.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(path, sizeof(path), "%s/run", top);
}

static void
teardown(void)
{
	char	 command[128];

	snprintf(command, sizeof(command), "rm -r %s", top);
	ck_assert_int_eq(system(command), 0);
}

static bool
is_taken(void)
{
	char	*dir = NULL;
	int	 lock = -1;
	bool	 is;

	is = rundir_open(path, &handed, &dir, &lock) == 0;
	ck_assert_int_eq(is, dir != NULL && lock != -1);
	if (is)
		ck_assert_str_eq(dir, path);
	free(dir);
	fd_close(&lock);
	return is;
}

/* What the master before had locked stays so, if that is still wanted. */
START_TEST(test_handed)
{
	char	*dir, *again = NULL, *other;
	int	 lock, got = -1;

	ck_assert_int_eq(rundir_open(path, &handed, &dir, &lock), 0);
	handed.fd[HANDOFF_LOCK] = lock;
	handed.text[HANDOFF_LOCK] = dir;
	ck_assert_int_eq(rundir_open(path, &handed, &again, &got), 0);
	ck_assert_str_eq(again, path);
	ck_assert_int_eq(got, lock);
	ck_assert_int_eq(handed.fd[HANDOFF_LOCK], -1);
	ck_assert(!is_taken());
	/* Another is wanted now: this one is let go. */
	handed.fd[HANDOFF_LOCK] = got;
	ck_assert_int_ne(asprintf(&other, "%s-2", path), -1);
	free(again);
	ck_assert_int_eq(rundir_open(other, &handed, &again, &got), 0);
	ck_assert_str_eq(again, other);
	ck_assert(is_taken());
	rundir_close(&again, &got);
	free(other);
	free(dir);
}
END_TEST

/* What is not there is made; only one has it at a time. */
START_TEST(test_made)
{
	struct stat	 st;
	char		*dir;
	int		 lock;

	ck_assert_int_eq(rundir_open(path, &handed, &dir, &lock), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_uid, geteuid());
	ck_assert_uint_eq(st.st_mode & 07777, geteuid() == 0 ? 0755 : 0700);
	ck_assert(!is_taken());
	rundir_close(&dir, &lock);
	ck_assert_ptr_null(dir);
	ck_assert_int_eq(lock, -1);
	ck_assert_int_eq(stat(path, &st), -1);
	ck_assert(is_taken());
	ck_assert(is_taken());		/* its lock is stale */
}
END_TEST

START_TEST(test_modes)
{
	static const struct {
		mode_t	 mode;
		bool	 is_good;
	} cases[] = {
		{ 0700, true }, { 0755, true }, { 0770, false },
		{ 0720, false }, { 0702, false }, { 01777, false },
	};
	size_t	 i;

	ck_assert_int_eq(mkdir(path, 0700), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(chmod(path, cases[i].mode), 0);
		ck_assert_msg(is_taken() == cases[i].is_good, "mode %o",
		    cases[i].mode);
	}
}
END_TEST

START_TEST(test_link)
{
	char	 real[112];

	snprintf(real, sizeof(real), "%s/real", top);
	ck_assert_int_eq(mkdir(real, 0700), 0);
	ck_assert_int_eq(symlink(real, path), 0);
	ck_assert(!is_taken());
}
END_TEST

/* Whose it is could put other files there, whatever its mode. */
START_TEST(test_others)
{
	if (geteuid() != 0) {
		left_out("a folder of another user");
		return;
	}
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(chown(path, OTHER, (gid_t)-1), 0);
	ck_assert(!is_taken());
	ck_assert_int_eq(chown(path, 0, OTHER), 0);
	ck_assert(is_taken());
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("rundir");
	TCase	*t = tcase_create("rundir");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_made);
	tcase_add_test(t, test_handed);
	tcase_add_test(t, test_modes);
	tcase_add_test(t, test_link);
	tcase_add_test(t, test_others);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
