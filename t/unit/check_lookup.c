/* What is found without waiting, and what is not waited for. */
#include "t/unit/fstree_help.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include "common/fd.h"
#include "t/unit/left_out.h"
#include "worker/fs/localfs.h"
#include "worker/fs/lookup.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

enum { NOFOLLOW = 1, NOLAST = 2 };

static const struct {
	const char	*path;
	int		 flags;
	int		 result;
	mode_t		 type;
} rows[] = {
	{ "f", 0, 0, S_IFREG },
	{ "f", NOFOLLOW, 0, S_IFREG },
	{ "fl", 0, 0, S_IFREG },
	{ "fl", NOLAST, 0, S_IFLNK },
	{ "fl", NOFOLLOW, ELOOP, 0 },
	{ "dl/f", 0, 0, S_IFREG },
	{ "dl/f", NOLAST, 0, S_IFREG },
	{ "dl/f", NOFOLLOW, ELOOP, 0 },
	{ "abs/f", 0, 0, S_IFREG },
	{ "nope", 0, ENOENT, 0 },
	{ "nope/nope/nope", 0, ENOENT, 0 },
	{ "dangling", 0, ENOENT, 0 },
	{ "dangling", NOLAST, 0, S_IFLNK },
	{ "loop", 0, ELOOP, 0 },
	{ "loop", NOLAST, 0, S_IFLNK },
	{ "f/x", 0, ENOTDIR, 0 },
	{ "fifo", 0, 0, S_IFIFO },
	{ "/", 0, 0, S_IFDIR },
	{ "/proc/self/status", 0, 0, S_IFREG },
	{ "/proc/self/fd/0", 0, ELOOP, 0 },
	{ "/proc/self/exe", NOLAST, EACCES, 0 },
	{ "/proc/1/exe", NOLAST, 0, S_IFLNK },
	{ "/proc/self", 0, 0, S_IFDIR },
	{ "/proc/self/maps", 0, EACCES, 0 },
	{ "/proc/self/maps", NOFOLLOW, ELOOP, 0 },
	{ "/proc/thread-self/maps", 0, EACCES, 0 },
	{ "/proc/self/fd", 0, EACCES, 0 },
	{ "/proc/self/map_files", 0, EACCES, 0 },
	{ "/proc/self/task", 0, EACCES, 0 },
	{ "/proc/mounts", 0, 0, S_IFREG },
	{ "/proc/net/tcp", 0, 0, S_IFREG },
	{ "to-maps", 0, EACCES, 0 },
	{ "/dev/fd", 0, EACCES, 0 },
	{ "/dev/fd/0", 0, ELOOP, 0 },
	{ "/proc/self/root/etc", 0, ELOOP, 0 },
	{ "/dev/null", 0, 0, S_IFCHR },
};

static int
find(const char *path, const struct lookup *how, struct statx *x)
{
	char	 full[4096];
	int	 fd;

	snprintf(full, sizeof(full), "%s%s%s", path[0] == '/' ? "" : base,
	    path[0] == '/' ? "" : "/", path);
	if ((fd = lookup(full, how, x)) == -1)
		return errno;
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd_close(&fd);
	return 0;
}

START_TEST(test_rows)
{
	struct lookup	 how = { 0 };
	struct statx	 x;
	int		 i = _i % (int)NROWS(rows), rv, tries;

	how.nonblock = _i >= (int)NROWS(rows);
	how.nofollow = (rows[i].flags & NOFOLLOW) != 0;
	how.nofollow_last = (rows[i].flags & NOLAST) != 0;
	sh("printf x > f; ln -s f fl; mkdir d; touch d/f; ln -s d dl;"
	    "ln -s \"$PWD/d\" abs; ln -s nowhere dangling; ln -s loop loop;"
	    "mkfifo fifo; ln -s /proc/self/maps to-maps");
	rv = find(rows[i].path, &how, &x);
	for (tries = 0; how.nonblock && rv == EAGAIN && tries < 1000;
	    tries++) {
		/*
		 * An absolute link that is not in the caches: then it is, but
		 * for a rename or an exit elsewhere at the same time.
		 */
		how.nonblock = false;
		ck_assert_int_eq(find(rows[i].path, &how, &x),
		    rows[i].result);
		how.nonblock = true;
		rv = find(rows[i].path, &how, &x);
	}
	ck_assert_msg(rv == rows[i].result, "row %d (%s): %d", i,
	    rows[i].path, rv);
	if (rv == 0)
		ck_assert_uint_eq(x.stx_mode & S_IFMT, rows[i].type);
}
END_TEST

/* Long and deep paths, of which nothing is in the caches. */
START_TEST(test_long_paths)
{
	struct lookup	 how = { .nonblock = true };
	struct statx	 x;
	char		 path[5000];
	size_t		 i;

	for (i = 0; i + 2 < 4096; i += 2)
		memcpy(path + i, "/n", 2);
	path[i] = '\0';
	ck_assert_int_eq(find(path, &how, &x), ENOENT);
	how.nofollow = true;
	ck_assert_int_eq(find(path, &how, &x), ENOENT);
}
END_TEST

START_TEST(test_at)
{
	struct lookup	 how = { .nonblock = _i != 0 };
	struct statx	 x;
	int		 dir, fd;

	sh("printf x > f; ln -s f fl; ln -s /proc/version away");
	ck_assert_int_ne(dir = open(base, O_PATH | O_CLOEXEC), -1);
	ck_assert_int_ne(fd = lookup_at(dir, "fl", &how, &x), -1);
	ck_assert_uint_eq(x.stx_size, 1);
	ck_assert(lookup_is_local(fd));
	fd_close(&fd);
	/* On another mount: only when that is in the caches. */
	if ((fd = lookup_at(dir, "away", &how, &x)) == -1)
		ck_assert(how.nonblock && errno == EAGAIN);
	fd_close(&fd);
	ck_assert_int_eq(lookup_at(dir, "nope", &how, &x), -1);
	ck_assert_int_eq(errno, ENOENT);
	how.nofollow = true;
	ck_assert_int_eq(lookup_at(dir, "fl", &how, &x), -1);
	ck_assert_int_eq(errno, ELOOP);
	fd_close(&dir);
}
END_TEST

START_TEST(test_unknown_mount)
{
	int	 fds[2];

	ck_assert(!mount_is_local(UINT64_MAX));
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert(!lookup_is_local(fds[0]));
	ck_assert(!lookup_is_local(-1));
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* --- mounts that come and go; one whose server never answers --- */

static double
now(void)
{
	struct timespec	 t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
mounts_come_and_go(void)
{
	struct lookup	 how = { .nonblock = true };
	struct statx	 x;
	char		 point[4096], data[64];
	double		 began;
	int		 fuse;

	NEED(unshare(CLONE_NEWNS) == 0);
	NEED(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(point, sizeof(point), "%s/m", base);
	NEED(find("m", &how, &x) == 0);
	NEED(mount("t", point, "tmpfs", 0, NULL) == 0);
	NEED(find("m", &how, &x) == 0);
	NEED(find("m/nope", &how, &x) == ENOENT);
	NEED(umount(point) == 0);
	NEED((fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC)) != -1);
	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=0,"
	    "group_id=0,allow_other", fuse);
	NEED(mount("dead", point, "fuse.dead", 0, data) == 0);
	began = now();
	NEED(find("m", &how, &x) == EAGAIN);
	NEED(find("m/nope", &how, &x) == EAGAIN);
	NEED(find("m/a/b/c", &how, &x) == EAGAIN);
	NEED(find("l", &how, &x) == EAGAIN);
	NEED(find("l/x", &how, &x) == EAGAIN);
	NEED(find("f", &how, &x) == 0);
	NEED(now() - began < 1);
	NEED(umount2(point, MNT_DETACH) == 0);
	NEED(find("m", &how, &x) == 0);
	close(fuse);
	return 0;
}

/* Not in a chroot: then "/" cannot be made private. */
static bool
root_is_mounted(void)
{
	struct statx	 x;

	return statx(AT_FDCWD, "/", 0, 0, &x) == 0 &&
	    (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* A table that could not be read is read at the next look. */
static int
unread_table(void)
{
	struct rlimit	 one = { 1, 1 }, before;
	struct statx	 x;
	char		 point[4096];

	NEED(unshare(CLONE_NEWNS) == 0);
	NEED(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(point, sizeof(point), "%s/m", base);
	NEED(statx(AT_FDCWD, base, 0, STATX_MNT_ID, &x) == 0);
	NEED(mount_is_local(x.stx_mnt_id));
	NEED(mount("t", point, "tmpfs", 0, NULL) == 0);
	NEED(getrlimit(RLIMIT_NOFILE, &before) == 0);
	one.rlim_max = before.rlim_max;
	NEED(setrlimit(RLIMIT_NOFILE, &one) == 0);
	NEED(!mount_is_local(x.stx_mnt_id));
	NEED(!mount_is_local(x.stx_mnt_id));
	NEED(setrlimit(RLIMIT_NOFILE, &before) == 0);
	NEED(mount_is_local(x.stx_mnt_id));
	NEED(umount(point) == 0);
	return 0;
}

START_TEST(test_unread_table)
{
	if (geteuid() != 0 || !root_is_mounted()) {
		left_out("mounts take root, and a root that is one");
		return;
	}
	sh("mkdir m");
	ck_assert_int_eq(as_self(unread_table), 0);
}
END_TEST

/*
 * In a chroot the root's mount is in no table that a process can read.  Other
 * mounts that are not are never asked: one may be that of a dead server.
 */
static int
unlisted_root(void)
{
	struct lookup	 how = { .nonblock = true };
	struct statx	 x, away;
	char		 point[4096];
	int		 fd;

	NEED(unshare(CLONE_NEWNS) == 0);
	NEED(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(point, sizeof(point), "%s/m", base);
	NEED(mount("t", point, "tmpfs", 0, NULL) == 0);
	NEED((fd = open(point, O_PATH | O_CLOEXEC)) != -1);
	NEED(statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &away) == 0);
	snprintf(point, sizeof(point), "%s/root", base);
	NEED(chroot(point) == 0 && chdir("/") == 0);
	NEED(mount("p", "/proc", "proc", 0, NULL) == 0);
	NEED(find("/etc/f", &how, &x) == 0);
	NEED(find("/nope", &how, &x) == ENOENT);
	NEED(find("/proc/version", &how, &x) == 0);
	NEED(mount_is_local(x.stx_mnt_id));
	NEED(!mount_is_local(away.stx_mnt_id));
	close(fd);
	return 0;
}

START_TEST(test_unlisted_root)
{
	if (geteuid() != 0 || !root_is_mounted())
		return;
	sh("mkdir -p m root/proc root/etc; touch root/etc/f");
	ck_assert_int_eq(as_self(unlisted_root), 0);
}
END_TEST

START_TEST(test_dead_mount)
{
	if (geteuid() != 0 || !root_is_mounted() ||
	    access("/dev/fuse", R_OK | W_OK) == -1) {
		left_out("a mount that hangs takes root and FUSE");
		return;
	}
	sh("mkdir m; ln -s m l; touch f");
	ck_assert_int_eq(as_self(mounts_come_and_go), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("lookup");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_loop_test(t, test_rows, 0, 2 * (int)NROWS(rows));
	tcase_add_test(t, test_long_paths);
	tcase_add_loop_test(t, test_at, 0, 2);
	tcase_add_test(t, test_unknown_mount);
	tcase_add_test(t, test_unread_table);
	tcase_add_test(t, test_unlisted_root);
	tcase_add_test(t, test_dead_mount);
	tcase_set_timeout(t, 30);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
