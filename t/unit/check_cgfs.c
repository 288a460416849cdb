/* common/linux/cgfs.c: where a group is, and what is done there. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/linux/cgfs.h"
#include "t/unit/left_out.h"

#define V1	"4:memory:/a\n1:name=systemd:/b\n"
#define PROC	"22 20 0:5 / /proc rw - proc proc rw\n"
#define MOUNT(root, point) \
	"36 35 0:33 " root " " point " rw shared:9 - cgroup2 cgroup2 rw\n"
#define V1_MOUNT "31 30 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup " \
	"rw,memory\n"

static const struct {
	const char	*cgroup, *mountinfo;
	const char	*path;		/* NULL: none, errno ENOENT */
} rows[] = {
	{ "0::/\n", PROC MOUNT("/", "/sys/fs/cgroup"), "/sys/fs/cgroup" },
	{ "0::/a/b c\n", PROC MOUNT("/", "/sys/fs/cgroup"),
	    "/sys/fs/cgroup/a/b c" },
	{ V1 "0::/user.slice\n", V1_MOUNT
	    MOUNT("/", "/sys/fs/cgroup/unified"),
	    "/sys/fs/cgroup/unified/user.slice" },
	/* a mount of a part: the part's path is cut off */
	{ "0::/a/b\n", MOUNT("/a", "/mnt"), "/mnt/b" },
	{ "0::/a\n", MOUNT("/a", "/mnt"), "/mnt" },
	{ "0::/ab\n", MOUNT("/a", "/mnt"), NULL },
	{ "0::/\n", MOUNT("/a", "/mnt"), NULL },
	{ "0::/x/y\n", MOUNT("/a", "/one") MOUNT("/x", "/two") MOUNT("/",
	    "/three"), "/two/y" },
	/* escapes */
	{ "0::/a\n", MOUNT("/", "/mnt/a\\040b\\134\\011"), "/mnt/a b\\\t/a" },
	{ "0::/a b/c\n", MOUNT("/a\\040b", "/mnt"), "/mnt/c" },
	/* outside of the namespace; no such mount; no such group */
	{ "0::/../x\n", MOUNT("/", "/sys/fs/cgroup"), NULL },
	{ "0::/a\n", PROC V1_MOUNT, NULL },
	{ V1, MOUNT("/", "/sys/fs/cgroup"), NULL },
	{ "", "", NULL },
	{ "10::/a\n", MOUNT("/", "/sys/fs/cgroup"), NULL },
	/* lines that are none */
	{ "0::/a", "1 2 3 - cgroup2 x\n- cgroup2 \n\n 4 - cgroup2 \n", NULL },
	{ "0::/a", MOUNT("/", "/mnt"), "/mnt/a" },
};

START_TEST(test_parse)
{
	char	 out[PATH_MAX];
	int	 r;

	errno = 0;
	r = cgfs_parse(rows[_i].cgroup, rows[_i].mountinfo, NULL, out,
	    sizeof(out));
	if (rows[_i].path == NULL) {
		ck_assert_int_eq(r, -1);
		ck_assert_int_eq(errno, ENOENT);
	} else {
		ck_assert_int_eq(r, 0);
		ck_assert_str_eq(out, rows[_i].path);
	}
}
END_TEST

static const struct {
	const char	*cgroup, *mountinfo, *controller;
	const char	*path;		/* NULL: none */
} v1_rows[] = {
	{ V1, V1_MOUNT, "memory", "/sys/fs/cgroup/memory/a" },
	{ V1, V1_MOUNT, "mem", NULL },
	{ V1, V1_MOUNT, "pids", NULL },
	{ "3:cpu,cpuacct:/x\n0::/\n", "31 30 0:26 / /m rw - cgroup cgroup "
	    "rw,cpu,cpuacct\n", "cpuacct", "/m/x" },
	{ "3:cpu,cpuacct:/x\n", "31 30 0:26 /x /m rw - cgroup none "
	    "rw,cpuacct,cpu\n", "cpu", "/m" },
	{ "3:cpuacct:/x\n", V1_MOUNT, "cpu", NULL },
	{ "0::/x\n", MOUNT("/", "/m"), "memory", NULL },
	{ "4:memory:/../x\n", V1_MOUNT, "memory", NULL },
	{ "4:memory:x\n", V1_MOUNT, "memory", NULL },
	{ "4:memory\nmemory:/a\n:", V1_MOUNT, "memory", NULL },
	{ "", "", "memory", NULL },
};

START_TEST(test_parse_v1)
{
	char	 out[PATH_MAX];
	int	 r;

	r = cgfs_parse(v1_rows[_i].cgroup, v1_rows[_i].mountinfo,
	    v1_rows[_i].controller, out, sizeof(out));
	ck_assert_int_eq(r, v1_rows[_i].path == NULL ? -1 : 0);
	if (r == 0)
		ck_assert_str_eq(out, v1_rows[_i].path);
}
END_TEST

START_TEST(test_parse_too_long)
{
	char	 out[8];

	ck_assert_int_eq(cgfs_parse("0::/abc\n", MOUNT("/", "/mnt"), NULL, out,
	    sizeof(out)), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	ck_assert_int_eq(cgfs_parse("0::/ab\n", MOUNT("/", "/mnt"), NULL, out,
	    sizeof(out)), 0);
}
END_TEST

/* --- with real groups, if this machine lets us --- */

static int	 top = -1;
static char	 name[64];

/*
 * A group of the test's own in ours; false: there cannot be one.  Its name does
 * not begin as a daemon's: one that starts meanwhile would remove it as stale.
 */
static bool
make_group(void)
{
	char	 path[PATH_MAX];

	snprintf(name, sizeof(name), "check-cgfs-%ld", (long)getpid());
	return cgfs_own(NULL, path, sizeof(path)) == 0 &&
	    (top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) != -1 &&
	    mkdirat(top, name, 0755) == 0;
}

static void
make_below(const char *sub)
{
	char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", name, sub);
	ck_assert_int_eq(mkdirat(top, path, 0755), 0);
}

START_TEST(test_remove)
{
	unsigned	 budget;

	if (!make_group()) {
		left_out("no control group can be made");
		return;
	}
	make_below("a");
	make_below("a/b");
	make_below("a/c");
	make_below("d");
	budget = 2;
	ck_assert_int_eq(cgfs_remove(top, name, &budget), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_uint_eq(budget, 0);
	budget = 100;
	ck_assert_int_eq(cgfs_remove(top, name, &budget), 0);
	ck_assert_uint_eq(budget, 97);
	ck_assert_int_eq(faccessat(top, name, F_OK, 0), -1);
	/* Gone is gone, whoever did it. */
	ck_assert_int_eq(cgfs_remove(top, name, &budget), 0);
	close(top);
}
END_TEST

/* A folder that is no control group is not emptied. */
START_TEST(test_no_group)
{
	const char	*tmp = getenv("TMPDIR");
	char		 dir[64], below[72];
	unsigned	 budget = 100;

	snprintf(dir, sizeof(dir), "%.40s/cgfs.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(below, sizeof(below), "%s/a", dir);
	ck_assert_int_eq(mkdir(below, 0755), 0);
	ck_assert_int_eq(cgfs_remove(AT_FDCWD, dir, &budget), -1);
	ck_assert_int_eq(errno, ENOTEMPTY);
	ck_assert_int_eq(rmdir(below), 0);
	ck_assert_int_eq(cgfs_remove(AT_FDCWD, dir, &budget), 0);
}
END_TEST

/* Whoever makes them deep does not make us go as deep. */
START_TEST(test_deep)
{
	char		 path[256] = "a";
	unsigned	 budget = 1000, i;

	if (!make_group()) {
		left_out("no control group can be made");
		return;
	}
	make_below(path);
	for (i = 1; i < 40; i++) {
		strcat(path, "/a");
		make_below(path);
	}
	ck_assert_int_eq(cgfs_remove(top, name, &budget), -1);
	ck_assert_int_eq(errno, ELOOP);
	for (i = 0; i < 40; i++) {
		char	 whole[PATH_MAX];

		snprintf(whole, sizeof(whole), "%s/%s", name, path);
		ck_assert_int_eq(unlinkat(top, whole, AT_REMOVEDIR), 0);
		path[strlen(path) - (i < 39 ? 2 : 1)] = '\0';
	}
	ck_assert_int_eq(cgfs_remove(top, name, &budget), 0);
	close(top);
}
END_TEST

/* A process below it: nothing can be removed until it is killed. */
START_TEST(test_kill)
{
	char		 file[PATH_MAX];
	unsigned	 budget = 100;
	int		 ready[2], status, i;
	char		 byte;
	pid_t		 pid;

	if (!make_group()) {
		left_out("no control group can be made");
		return;
	}
	make_below("a");
	snprintf(file, sizeof(file), "%s/a/cgroup.procs", name);
	ck_assert_int_eq(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		if (cgfs_write(top, file, "0") == 0 &&
		    write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1) {
		ck_assert_int_eq(cgfs_remove(top, name, &budget), -1);
		ck_assert_int_eq(errno, EBUSY);
		ck_assert_int_eq(cgfs_kill(top, name), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
	} else {
		waitpid(pid, &status, 0);	/* may not be entered */
	}
	for (i = 0; i < 20000 && cgfs_remove(top, name, &budget) == -1; i++)
		usleep(1000);
	ck_assert_int_eq(faccessat(top, name, F_OK, 0), -1);
	ck_assert_int_eq(cgfs_kill(top, name), -1);
	ck_assert_int_eq(errno, ENOENT);
	close(top);
	close(ready[0]);
}
END_TEST

/* A name that is cut short would be another process's. */
START_TEST(test_claim_too_long)
{
	char	 path[] = "/tmp/check_cgfs.XXXXXX";
	int	 dir;

	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_ne(dir = open(path, O_RDONLY | O_DIRECTORY), -1);
	errno = 0;
	ck_assert_int_eq(cgfs_claim(dir, "execsrv-", name, 9), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	close(dir);
	/* Nothing was made. */
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("cgfs");
	TCase	*t = tcase_create("cgfs");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_parse, 0,
	    (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_loop_test(t, test_parse_v1, 0,
	    (int)(sizeof(v1_rows) / sizeof(v1_rows[0])));
	tcase_add_test(t, test_parse_too_long);
	tcase_add_test(t, test_claim_too_long);
	tcase_add_test(t, test_remove);
	tcase_add_test(t, test_no_group);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_kill);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
