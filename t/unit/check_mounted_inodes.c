/*
 * worker/fs/mounted_inodes.c: which files may not be replaced; other processes
 * know.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/fs/mounted_inodes.h"

static const struct mounted_inodes	 files[] = { { 1, 2 }, { 3, 4 } };

static bool
has(uint64_t dev, uint64_t ino)
{
	struct stat	 st = { .st_dev = dev, .st_ino = ino };

	return mounted_inodes_has(&st);
}

START_TEST(test_lists)
{
	ck_assert(!has(1, 2));
	ck_assert_int_eq(mounted_inodes_init(), 0);
	ck_assert(!has(1, 2));
	mounted_inodes_begin();
	ck_assert(has(9, 9));		/* nobody knows now */
	mounted_inodes_add(files, 2);
	mounted_inodes_add(NULL, 0);
	mounted_inodes_end();
	ck_assert(has(1, 2) && has(3, 4) && !has(1, 4) && !has(0, 0));
	mounted_inodes_begin();
	mounted_inodes_add(files + 1, 1);
	mounted_inodes_end();
	ck_assert(!has(1, 2) && has(3, 4));
	mounted_inodes_begin();
	mounted_inodes_all();
	mounted_inodes_end();
	ck_assert(has(1, 2) && has(9, 9));
	mounted_inodes_begin();
	mounted_inodes_end();
	ck_assert(!has(3, 4));
}
END_TEST

/* More than there is room for: it may be any. */
START_TEST(test_many)
{
	static struct mounted_inodes	 many[6000];
	size_t			 i;

	ck_assert_int_eq(mounted_inodes_init(), 0);
	for (i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = (struct mounted_inodes){ 7, i };
	mounted_inodes_begin();
	mounted_inodes_add(many, i);
	mounted_inodes_end();
	ck_assert(has(7, i - 1) && !has(7, i));
	mounted_inodes_begin();
	mounted_inodes_add(many, i);
	mounted_inodes_add(many, i);
	mounted_inodes_end();
	ck_assert(has(7, i));
}
END_TEST

/* A process that was made before hears of it, and writes nothing itself. */
START_TEST(test_processes)
{
	int	 down[2], status;
	char	 c;
	pid_t	 pid;

	ck_assert_int_eq(mounted_inodes_init(), 0);
	ck_assert_int_eq(pipe(down), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		if (mounted_inodes_seal() == -1 || close(down[1]) == -1 ||
		    read(down[0], &c, 1) != 0)
			_exit(1);
		_exit(has(1, 2) && !has(5, 6) ? 0 : 2);
	}
	close(down[0]);
	mounted_inodes_begin();
	mounted_inodes_add(files, 2);
	mounted_inodes_end();
	close(down[1]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("mounted_inodes");
	TCase	*t = tcase_create("mounted_inodes");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_lists);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_processes);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
