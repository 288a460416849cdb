/*
 * worker/fs/ownproc.c: which files of procfs clients are kept from.  The
 * kernel's answers are ours.
 */
#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/fs/ownproc.h"

#define FD	55

static long		 fs_type;
static bool		 has_statfs;
static unsigned		 nstatfs;
static const char	*path;		/* of the file; NULL: cannot be read */
static const char	*exe, *target;	/* the link that is there, or NULL */
static ino_t		 ours, its;
static dev_t		 its_dev;

static ssize_t
give(const char *text, char *out, size_t size)
{
	size_t	 len;

	if (text == NULL) {
		errno = ENOENT;
		return -1;
	}
	len = strlen(text) < size ? strlen(text) : size;
	memcpy(out, text, len);
	return (ssize_t)len;
}

/* --- in the place of the kernel --- */

int
fstatfs(int fd, struct statfs *out)
{
	nstatfs += fd == FD;
	memset(out, 0, sizeof(*out));
	out->f_type = fs_type;
	return has_statfs ? 0 : -1;
}

ssize_t
readlink(const char *restrict name, char *restrict out, size_t size)
{
	if (strcmp(name, "/proc/self/fd/55") == 0)
		return give(path, out, size);
	return give(exe != NULL && strcmp(name, exe) == 0 ? target : NULL,
	    out, size);
}

int
stat(const char *restrict name, struct stat *restrict out)
{
	memset(out, 0, sizeof(*out));
	out->st_dev = 3;
	if (strcmp(name, "/proc/self/exe") == 0) {
		out->st_ino = ours;
		return ours == 0 ? -1 : 0;
	}
	out->st_ino = its;
	out->st_dev = its_dev;
	return exe != NULL && strcmp(name, exe) == 0 && its != 0 ? 0 : -1;
}

/* --- the tests --- */

static void
setup(void)
{
	fs_type = PROC_SUPER_MAGIC;
	has_statfs = true;
	nstatfs = 0;
	path = "/proc/12/mem";
	exe = "/proc/12/exe";
	target = "/usr/bin/cat";
	ours = 7;
	its = 7;
	its_dev = 3;
}

static bool
is_own(void)
{
	struct statx	 x;

	memset(&x, 0, sizeof(x));
	return is_ownproc(FD, &x);
}

/* Whether a file, whose process has this executable, is kept from clients. */
static bool
is_kept(const char *file, const char *of)
{
	path = file;
	exe = of;
	return is_own();
}

/* What has a device or blocks is on a disk, and is not asked for more. */
START_TEST(test_not_procfs)
{
	struct statx	 x;

	ck_assert(is_own());
	ck_assert_uint_eq(nstatfs, 1);
	memset(&x, 0, sizeof(x));
	x.stx_dev_major = 1;
	ck_assert(!is_ownproc(FD, &x));
	memset(&x, 0, sizeof(x));
	x.stx_blocks = 1;
	ck_assert(!is_ownproc(FD, &x));
	ck_assert_uint_eq(nstatfs, 1);
	has_statfs = false;
	ck_assert(!is_own());
	setup();
	fs_type = TMPFS_MAGIC;
	ck_assert(!is_own());
}
END_TEST

/* By the file, or by the name of ours. */
START_TEST(test_program)
{
	ck_assert(is_own());
	its = 8;
	ck_assert(!is_own());
	its = 7;
	its_dev = 4;
	ck_assert(!is_own());
	target = "/opt/execsrv-worker";
	ck_assert(is_own());
	target = "/execsrv";
	ck_assert(is_own());
	target = "/opt/execsrv/cat";
	ck_assert(!is_own());
	target = "/opt/my-execsrv";
	ck_assert(!is_own());
	target = "execsrv";		/* not a path: what is it? */
	ck_assert(!is_own());
	setup();
	its = 0;
	ck_assert(!is_own());
	setup();
	ours = 0;
	ck_assert(!is_own());
	/* Its other files cannot be read either. */
	setup();
	target = NULL;
	ck_assert(!is_own());
	target = "";
	ck_assert(!is_own());
}
END_TEST

/* Wherever procfs is mounted; a process has a number and files. */
START_TEST(test_path)
{
	ck_assert(is_kept("/proc/12/fd/3", "/proc/12/exe"));
	ck_assert(is_kept("/proc/12/task/13/maps", "/proc/12/exe"));
	ck_assert(is_kept("/proc/7/task/13/maps", "/proc/7/task/13/exe"));
	ck_assert(is_kept("/mnt/1/12/mem", "/mnt/1/12/exe"));
	ck_assert(is_kept("/12/mem", "/12/exe"));
	ck_assert(!is_kept("/proc/12", "/proc/12/exe"));
	ck_assert(!is_kept("/proc/12/", "/proc/12/exe"));
	ck_assert(!is_kept("/proc/12a/mem", "/proc/12a/exe"));
	ck_assert(!is_kept("/proc/a12/mem", "/proc/a12/exe"));
	ck_assert(!is_kept("/proc//mem", "/proc//exe"));
	ck_assert(!is_kept("/proc/self/mem", "/proc/self/exe"));
	ck_assert(!is_kept(NULL, "/proc/12/exe"));
	ck_assert(!is_kept("", "/proc/12/exe"));
}
END_TEST

/* A path that does not fit whole may be any; one a byte shorter is read. */
START_TEST(test_too_long)
{
	char	 of[PATH_MAX + 1];

	memset(of, 'a', sizeof(of));
	of[PATH_MAX] = '\0';
	ck_assert(is_kept(of, NULL));
	of[PATH_MAX - 1] = '\0';
	ck_assert(!is_kept(of, NULL));
}
END_TEST

/* The name of its program has to fit: with one byte more nothing is known. */
START_TEST(test_long_folder)
{
	char	 file[PATH_MAX], of[PATH_MAX + 8];
	size_t	 len, longest = PATH_MAX - sizeof("/exe");

	for (len = longest; len <= longest + 1; len++) {
		memset(file, 'a', sizeof(file));
		file[0] = file[len - 3] = '/';
		memcpy(file + len - 2, "12/m", sizeof("12/m"));
		memcpy(of, file, len);
		strcpy(of + len, "/exe");
		ck_assert_int_eq(is_kept(file, of), len == longest);
	}
}
END_TEST

static const char	*const harmless[] = {
	"/proc/12/cgroup", "/proc/12/mountinfo", "/proc/12/mounts",
	"/proc/12/mountstats", "/proc/12/net/tcp", "/proc/12/net",
	"/proc/12/status"
};
static const char	*const harmful[] = {
	"/proc/12/stat", "/proc/12/statusx", "/proc/12/mount",
	"/proc/12/environ", "/proc/12/root/net", "/proc/12/ns/net",
	"/proc/12/task/12/status"
};

START_TEST(test_harmless)
{
	size_t	 i;

	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		ck_assert_msg(!is_kept(harmless[i], "/proc/12/exe"), "%s",
		    harmless[i]);
	for (i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
		ck_assert_msg(is_kept(harmful[i], "/proc/12/exe"), "%s",
		    harmful[i]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ownproc");
	TCase	*t = tcase_create("ownproc");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_not_procfs);
	tcase_add_test(t, test_program);
	tcase_add_test(t, test_path);
	tcase_add_test(t, test_too_long);
	tcase_add_test(t, test_long_folder);
	tcase_add_test(t, test_harmless);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
