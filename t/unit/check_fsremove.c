/*
 * fs/remove on real folders.  Asked of the reference (0.169.0): it stops at
 * the first error; takes away an empty folder also when recursive is false;
 * says EACCES of an unreadable folder with or without content (ours and rm(1)
 * remove it when it is empty); a link to nothing or a missing folder on the
 * way is ENOENT and so, with force, success; a file on the way is ENOTDIR.
 */
#include "t/unit/fstree_help.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

static bool
is_there(const char *path)
{
	struct stat	 st;
	char		 full[2048];

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return lstat(full, &st) == 0;
}

/* --- what is asked for --- */

enum { REC = 1, FORCE = 2, NOFOLLOW = 4 };

static const struct {
	const char	*path;
	int		 how;
	int		 result, nonblock;	/* without and with bounds */
	bool		 is_left;
} rows[] = {
	{ "f",		REC | FORCE,	0, 0, false },
	{ "f",		0,		0, 0, false },
	{ "full",	REC | FORCE,	0, EAGAIN, false },
	{ "full",	FORCE,		ENOTEMPTY, ENOTEMPTY, true },
	{ "empty",	REC,		0, 0, false },
	{ "empty",	0,		0, 0, false },
	{ "nope",	REC | FORCE,	0, 0, false },
	{ "nope",	REC,		ENOENT, ENOENT, false },
	{ "nope/x",	REC | FORCE,	0, 0, false },
	{ "nope/x",	0,		ENOENT, ENOENT, false },
	{ "f/x",	REC | FORCE,	ENOTDIR, ENOTDIR, false },
	{ "tofull",	REC | FORCE,	0, 0, false },
	{ "tofull",	0,		0, 0, false },
	{ "tofull",	FORCE | NOFOLLOW, ELOOP, ELOOP, true },
	{ "tofull/x",	FORCE | NOFOLLOW, ELOOP, ELOOP, true },
	{ "tofull/x",	FORCE,		0, 0, false },
	{ "full/x",	FORCE | NOFOLLOW, 0, 0, false },
	{ "dangling",	REC,		0, 0, false },
	{ "dangling/x",	REC | FORCE,	0, 0, false },
	{ "dangling/x",	REC,		ENOENT, ENOENT, false },
	{ "loop",	REC,		0, 0, false },
	{ "loop/x",	REC | FORCE,	ELOOP, ELOOP, false },
	{ "fifo",	REC | FORCE,	0, 0, false },
	{ "/",		REC | FORCE,	REFUSED(PROTECTED),
	    REFUSED(PROTECTED), true },
	{ "/proc",	REC | FORCE,	REFUSED(PROTECTED),
	    REFUSED(PROTECTED), true },
	{ "/proc",	0,		REFUSED(PROTECTED),
	    REFUSED(PROTECTED), true },
};

START_TEST(test_rows)
{
	struct fsop	 op;
	bool		 nonblock = _i >= (int)NROWS(rows);
	int		 i = _i % (int)NROWS(rows), want;

	sh("echo > f; mkdir empty full; echo > full/x; ln -s full tofull;"
	    "ln -s nowhere dangling; ln -s loop loop; mkfifo fifo");
	op_init(&op, FSOP_REMOVE, rows[i].path, NULL);
	op.recursive = (rows[i].how & REC) != 0;
	op.force = (rows[i].how & FORCE) != 0;
	op.nofollow = (rows[i].how & NOFOLLOW) != 0;
	want = nonblock ? rows[i].nonblock : rows[i].result;
	ck_assert_msg(op_run(&op, nonblock) == want, "row %d", i);
	if (rows[i].path[0] != '/')
		ck_assert_msg(is_there(rows[i].path) == (rows[i].is_left ||
		    (want == EAGAIN)), "row %d", i);
	/* Never what a link leads to. */
	if (strchr(rows[i].path, '/') == NULL &&
	    strcmp(rows[i].path, "full") != 0)
		ck_assert(is_there("full/x"));
}
END_TEST

/* --- trees --- */

START_TEST(test_tree)
{
	sh("mkdir -p out t/a/b/c t/.h t/e; echo keep > out/keep;"
	    "echo > t/a/f; echo > t/a/b/c/f; mkfifo t/a/p; ln -s ../../out"
	    " t/a/out; ln -s ../out/keep t/.h/l; ln t/a/f t/.h/hard;"
	    "touch \"t/a/$(printf 'n\\nl')\" \"t/a/$(printf '\\377')\"");
	ck_assert_int_eq(do_remove("t"), 0);
	ck_assert(!is_there("t"));
	ck_assert(is_there("out/keep"));
	ck_assert_int_eq(do_remove("t"), 0);
}
END_TEST

START_TEST(test_wide)
{
	sh("mkdir t; seq 1 40000 | (cd t; xargs touch)");
	ck_assert_int_eq(do_remove("t"), 0);
	ck_assert(!is_there("t"));
}
END_TEST

/* Deeper than any path, deeper than descriptors; wide where it turns back. */
START_TEST(test_deep)
{
	char	 name[256];
	int	 i, dir;

	memset(name, 'n', 255);
	name[255] = '\0';
	dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 2500; i++) {
		dir = make_and_enter(dir, i == 0 ? "t" : name);
		ck_assert_int_eq(mkdirat(dir, "a", 0777), 0);
		ck_assert_int_eq(mkdirat(dir, "z", 0777), 0);
		ck_assert_int_eq(symlinkat("..", dir, "l"), 0);
	}
	close(dir);
	ck_assert_int_eq(do_remove("t"), 0);
	ck_assert(!is_there("t"));
}
END_TEST

/* --- permissions, as an ordinary user --- */

static int
unreadable(void)
{
	/* Empty: gone.  With content: refused, and it is left. */
	sh("mkdir e t t/a t/a/b; echo > t/a/f; chmod 000 e t/a");
	NEED(do_remove("e") == 0 && !is_there("e"));
	NEED(do_remove("t") == EACCES && is_there("t/a"));
	NEED(do_remove("t/a") == EACCES);
	NEED(do_remove("t/a/f") == EACCES);
	sh("chmod 555 t/a");
	NEED(do_remove("t") == EACCES && is_there("t/a/b") &&
	    is_there("t/a/f"));
	sh("chmod 755 t/a");
	NEED(do_remove("t") == 0 && !is_there("t"));
	return 0;
}

START_TEST(test_unreadable)
{
	ck_assert_int_eq(as_user(unreadable), 0);
}
END_TEST

/* Nobody waits any more. */
START_TEST(test_cancelled)
{
	struct fsop	 op;

	sh("mkdir -p t/a; touch t/a/f");
	op_init(&op, FSOP_REMOVE, "t", NULL);
	ck_assert_int_eq(op_run_unwaited(&op), ECANCELED);
	ck_assert(is_there("t/a/f"));
}
END_TEST

/* --- mounts --- */

static int
mount_at(const char *path)
{
	char	 full[2048];

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return mount("none", full, "tmpfs", 0, "size=64k");
}

/* A mount of a folder or file that is elsewhere. */
static int
bind_at(const char *from, const char *path)
{
	char	 a[2048], b[2048];

	snprintf(a, sizeof(a), "%s/%s", base, from);
	snprintf(b, sizeof(b), "%s/%s", base, path);
	return mount(a, b, NULL, MS_BIND, NULL);
}

/* -1: this may not be done here. */
static int
set_up_mounts(void)
{
	if (own_mounts() == -1)
		return -1;
	sh("mkdir -p m t/a/m t/z 'b b'; echo > t/f");
	return mount_at("m");
}

static int
tmpfs_below(void)
{
	struct fsop	 op;

	if (set_up_mounts() == -1)
		return -1;
	NEED(mount_at("t/a/m") == 0);
	sh("echo > t/a/m/keep; echo > m/keep");
	NEED(do_remove("m") == REFUSED(PROTECTED));
	op_init(&op, FSOP_REMOVE, "m", NULL);
	NEED(op_run(&op, true) == REFUSED(PROTECTED));
	op.recursive = false;
	NEED(op_run(&op, false) == REFUSED(PROTECTED));
	/* Also below: then nothing around it is touched. */
	NEED(do_remove("t") == REFUSED(PROTECTED));
	NEED(is_there("t/f") && is_there("t/z"));
	NEED(is_there("t/a/m/keep") && is_there("m/keep"));
	/* What is in a mount goes. */
	NEED(do_remove("m/keep") == 0 && !is_there("m/keep"));
	return 0;
}

/* Of the same file system, with a name that mountinfo has to escape. */
static int
bind_below(void)
{
	if (set_up_mounts() == -1)
		return -1;
	sh("mkdir src 'b b/m'; echo > src/keep; echo > 'b b/f'");
	NEED(bind_at("src", "b b/m") == 0);
	NEED(do_remove("b b") == REFUSED(PROTECTED));
	NEED(is_there("b b/f") && is_there("src/keep"));
	NEED(do_remove("b b/m") == REFUSED(PROTECTED));
	return 0;
}

static int
on_a_file(void)
{
	if (set_up_mounts() == -1)
		return -1;
	sh("echo > src; echo > t/z/f");
	NEED(bind_at("src", "t/z/f") == 0);
	NEED(do_remove("t/z/f") == REFUSED(PROTECTED));
	NEED(do_remove("t") == REFUSED(PROTECTED));
	NEED(is_there("t/z/f") && is_there("src") && is_there("t/f"));
	return 0;
}

/* Where mountinfo does not help: the kernel stops it at the mount. */
static int
unseen_folder(void)
{
	if (set_up_mounts() == -1)
		return -1;
	sh("mkdir src; echo > src/keep");
	NEED(bind_at("src", "t/a/m") == 0);
	NEED(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
	NEED(do_remove("t") == REFUSED(PROTECTED));
	NEED(is_there("src/keep") && is_there("t/a/m/keep"));
	return 0;
}

static int
unseen_file(void)
{
	if (set_up_mounts() == -1)
		return -1;
	sh("echo > src; echo > t/z/f");
	NEED(bind_at("src", "t/z/f") == 0);
	NEED(mount("none", "/proc", "tmpfs", 0, NULL) == 0);
	NEED(do_remove("t") == REFUSED(PROTECTED));
	NEED(is_there("t/z/f") && is_there("src"));
	return 0;
}

/* As what a sandbox protects. */
static int
read_only(void)
{
	char	 full[2048];

	if (set_up_mounts() == -1)
		return -1;
	snprintf(full, sizeof(full), "%s/m", base);
	NEED(mount("none", full, NULL, MS_REMOUNT | MS_RDONLY, "size=64k")
	    == 0);
	NEED(do_remove("m") == EROFS);
	NEED(is_there("m"));
	return 0;
}

static int	 (*const mount_tests[])(void) = {
	read_only, tmpfs_below, bind_below, on_a_file, unseen_folder,
	unseen_file
};

/* In a child: the mounts go with it. */
static int	 chosen;

static int
mount_test(void)
{
	return mount_tests[chosen]();
}

START_TEST(test_mounts)
{
	chosen = _i;
	with_own_mounts(mount_test);
}
END_TEST

/* --- others at work --- */

static void
fill(void)
{
	static unsigned int	 n;
	char			 path[2048];
	int			 fd;

	snprintf(path, sizeof(path), "%s/t/a/%u", base, n++ % 64);
	if ((fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) != -1)
		close(fd);
}

/* It ends, one way or the other. */
START_TEST(test_filled)
{
	int	 i, fd, pid, rv;

	pid = again_and_again(fill, &fd);
	for (i = 0; i < 50; i++) {
		sh("mkdir -p t/a/b");
		rv = do_remove("t");
		ck_assert_msg(rv == 0 || rv == ENOTEMPTY, "%d", rv);
	}
	enough(pid, fd);
	ck_assert_int_eq(do_remove("t"), 0);
}
END_TEST

static bool
is_link(const char *path)
{
	struct stat	 st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* t/a/x/x, and the link beside t; whatever the last round has left of them. */
static void
set_up_swap(void)
{
	char	 path[4096];

	if (!is_link(outside) && !is_link(inside)) {
		/* The link went with the tree; the other is in its place. */
		snprintf(path, sizeof(path), "%s/x", outside);
		(void)rmdir(path);
		(void)rmdir(outside);
		snprintf(path, sizeof(path), "%s/canary", base);
		(void)!symlink(path, outside);
	}
	snprintf(path, sizeof(path), "%s/t", base);
	(void)mkdir(path, 0777);
	strcat(path, "/a");
	(void)mkdir(path, 0777);
	(void)mkdir(inside, 0777);
	strcat(path, "/x/x");
	(void)mkdir(path, 0777);
}

/* A folder of the tree is now and then a link to what must stay. */
START_TEST(test_swapped)
{
	int	 i, fd, pid, rv, ok = 0, linked = 0;

	set_swapped("t/a/x", "spare");
	sh("mkdir -p canary/x; echo keep > canary/keep;"
	    "echo keep > canary/x/keep");
	pid = again_and_again(swap, &fd);
	for (i = 0; i < 8000; i++) {
		set_up_swap();
		rv = do_remove("t");
		ck_assert_msg(rv == 0 || rv == ENOTEMPTY || rv == ENOTDIR ||
		    rv == EISDIR, "%d", rv);
		ok += rv == 0;
		linked += !is_link(outside);
		ck_assert(is_there("canary/keep") &&
		    is_there("canary/x/keep"));
	}
	enough(pid, fd);
	/* Both ways it went. */
	ck_assert_int_gt(ok, 0);
	ck_assert_int_gt(linked, 0);
	ck_assert_int_lt(linked, i);
}
END_TEST

static TCase *
in_memory(void)
{
	TCase	*t = tcase_create("memory");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, tree_memory_begin, tree_memory_end);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_filled);
	tcase_add_test(t, test_swapped);
	return t;
}

int
main(void)
{
	Suite	*s = suite_create("fsremove");
	TCase	*t = tcase_create("fsremove");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_loop_test(t, test_rows, 0, 2 * (int)NROWS(rows));
	tcase_add_test(t, test_tree);
	tcase_add_test(t, test_wide);
	tcase_add_test(t, test_unreadable);
	tcase_add_test(t, test_cancelled);
	tcase_add_loop_test(t, test_mounts, 0, (int)NROWS(mount_tests));
	suite_add_tcase(s, t);
	suite_add_tcase(s, in_memory());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
