/*
 * fs/walk on real folders.  Asked of the reference (0.169.0):
 *
 * - every name counts towards maxEntries, also a FIFO or link that is not
 *   listed (but not a link to nothing; here that counts, too, for it is not
 *   looked at); the limit is met by the first name too many, and ends it;
 * - a folder that is too deep, hidden (when pruned) or met before does not
 *   count towards maxDirectories; one too many sets truncated, and the walk
 *   goes on with those that wait;
 * - a link to a folder met before is listed, but not entered; one to nothing is
 *   left out without an error; below a link entries have its path, and so have
 *   those of a root reached by one;
 * - names in a folder that is readable but not searchable become errors;
 * - the text of an error is "Permission denied (os error 13)";
 * - an entry costs the length of its URI and 64, up to 4194304 in all;
 * - pruning is of no account for the root;
 * - a root that is a link to nothing is ENOENT also when not followed.
 *
 * Names that are not UTF-8 or have a line feed, which become errors there, are
 * listed here.
 */
#include "t/unit/fstree_help.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/limit.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

/* In the place of libc's: a file system that does not tell types. */
static bool	 tells_no_types;

ssize_t
getdents64(int fd, void *to, size_t size)
{
	ssize_t		 n = syscall(SYS_getdents64, fd, to, size), at;
	struct dirent64	*de;

	for (at = 0; tells_no_types && at < n; at += de->d_reclen) {
		de = (void *)((char *)to + at);
		de->d_type = DT_UNKNOWN;
	}
	return n;
}

static void
expect(const struct fsop *op, const char *want, const char *what)
{
	char	*got;

	got = op_walk(op, false);
	ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s", what, got);
	free(got);
	/* It is all here, and little: the same in bounds. */
	got = op_walk(op, true);
	ck_assert_msg(strcmp(got, want) == 0, "%s, bounded:\n%s", what, got);
	free(got);
	tells_no_types = true;
	got = op_walk(op, false);
	ck_assert_msg(strcmp(got, want) == 0, "%s, no types:\n%s", what, got);
	free(got);
	tells_no_types = false;
}

/* --- rules --- */

enum { FOLLOW = 1, PRUNE = 2 };

#define K	"mkdir k k/a k/b k/a/x; touch k/f; mkfifo k/p; ln -s a k/la;" \
		"ln -s .. k/a/up; ln -s ../a k/b/toa; ln -s f k/lf;"
#define W	"mkdir w w/a w/a/b w/.h; touch w/f w/a/x w/.h/y;" \
		"ln -s a w/la; ln -s a w/.la; ln -s .h w/lh;" \
		"ln -s no w/dl; ln -s w lw; ln -s w/f lf; mkfifo w/p; "
#define ROOT_K	"d k/a\nd k/b\nf k/f\n"
#define ROOT_KL	"d k/a\nd k/b\nf k/f\nd k/la\n"

static const struct {
	const char	*make;
	const char	*path;
	int		 how;
	int		 depth, dirs, entries;	/* -1: as many as may be */
	const char	*want;
} rows[] = {
	{ W, "w", 0, -1, -1, -1, "d w/.h\nd w/a\nf w/f\nf w/.h/y\n"
	    "d w/a/b\nf w/a/x\n" },
	{ W, "w", PRUNE, -1, -1, -1, "d w/.h\nd w/a\nf w/f\nd w/a/b\n"
	    "f w/a/x\n" },
	{ W, "w/.h", PRUNE, -1, -1, -1, "f w/.h/y\n" },
	{ W, "w", FOLLOW, -1, -1, -1, "d w/.h\nd w/.la\nd w/a\nf w/f\n"
	    "d w/la\nd w/lh\nf w/.h/y\nd w/.la/b\nf w/.la/x\n" },
	{ W, "w", FOLLOW | PRUNE, -1, -1, -1, "d w/.h\nd w/.la\nd w/a\n"
	    "f w/f\nd w/la\nd w/lh\nd w/a/b\nf w/a/x\nf w/lh/y\n" },
	/* Roots. */
	{ W, "lw", 0, -1, -1, -1, "" },
	{ W, "lw", FOLLOW, 0, -1, -1, "d lw/.h\nd lw/.la\nd lw/a\nf lw/f\n"
	    "d lw/la\nd lw/lh\n" },
	{ W, "lw/a", 0, -1, -1, -1, "d lw/a/b\nf lw/a/x\n" },
	{ W, "w/f", 0, -1, -1, -1, "" },
	{ W, "lf", FOLLOW, -1, -1, -1, "" },
	{ W, "w/p", 0, -1, -1, -1, "" },
	{ W, "w/dl", 0, -1, -1, -1, "error 2\n" },
	{ W, "w/dl", FOLLOW, -1, -1, -1, "error 2\n" },
	{ W, "no", 0, -1, -1, -1, "error 2\n" },
	{ W, "w/f/x", 0, -1, -1, -1, "error 20\n" },
	/* Depth. */
	{ K, "k", 0, 0, -1, -1, ROOT_K },
	{ K, "k", 0, 0, 1, -1, ROOT_K },
	{ K, "k", 0, 1, -1, -1, ROOT_K "d k/a/x\n" },
	{ "mkdir -p k/a/b/c/d", "k", 0, 2, -1, -1,
	    "d k/a\nd k/a/b\nd k/a/b/c\n" },
	/* Folders. */
	{ K, "k", 0, -1, 1, -1, ROOT_K "truncated\n" },
	{ K, "k", 0, -1, 2, -1, ROOT_K "d k/a/x\ntruncated\n" },
	{ K, "k", 0, -1, 3, -1, ROOT_K "d k/a/x\ntruncated\n" },
	{ K, "k", 0, -1, 4, -1, ROOT_K "d k/a/x\n" },
	{ K, "k", 0, 1, 3, -1, ROOT_K "d k/a/x\n" },
	{ "mkdir -p pr/.h/x pr/a", "pr", PRUNE, -1, 2, -1,
	    "d pr/.h\nd pr/a\n" },
	{ "mkdir -p dd/a; ln -s a dd/b; ln -s a dd/c", "dd", FOLLOW, -1, 2, -1,
	    "d dd/a\nd dd/b\nd dd/c\n" },
	{ "mkdir -p dd/a; ln -s a dd/b; ln -s a dd/c", "dd", FOLLOW, -1, 1, -1,
	    "d dd/a\nd dd/b\nd dd/c\ntruncated\n" },
	/* Names. */
	{ K, "k", 0, -1, -1, 1, "d k/a\ntruncated\n" },
	{ K, "k", 0, -1, -1, 3, ROOT_K "truncated\n" },
	{ K, "k", 0, -1, -1, 7, ROOT_K "truncated\n" },
	{ K, "k", 0, -1, -1, 8, ROOT_K "d k/a/x\ntruncated\n" },
	{ K, "k", 0, -1, -1, 9, ROOT_K "d k/a/x\n" },
	{ K, "k", FOLLOW, -1, -1, 6, ROOT_KL "truncated\n" },
	{ K, "k", FOLLOW, -1, -1, 7, ROOT_KL "d k/a/up\ntruncated\n" },
	{ K, "k", FOLLOW, -1, -1, 9, ROOT_KL "d k/a/up\nd k/a/x\n"
	    "d k/b/toa\n" },
	/* Loops. */
	{ "mkdir r; touch r/z; ln -s . r/self; ln -s r/../r r/x;"
	    "ln -s loop r/loop", "r", FOLLOW, -1, -1, -1,
	    "d r/self\nf r/z\n" },
	{ "mkdir -p r/a s/b; ln -s ../../s r/a/s; ln -s ../../r s/b/r", "r",
	    FOLLOW, -1, -1, -1, "d r/a\nd r/a/s\nd r/a/s/b\nd r/a/s/b/r\n" },
	/* By byte, not by language; a name that another begins with. */
	{ "mkdir n; touch n/B n/a n/aa n/a.b n/_ \"n/$(printf '\\377')\" n/~ "
	    "\"n/$(printf '1\\n2')\"", "n", 0, -1, -1, -1,
	    "f n/1\n2\nf n/B\nf n/_\nf n/a\nf n/a.b\nf n/aa\nf n/~\n"
	    "f n/\377\n" },
};

START_TEST(test_rows)
{
	struct fsop	 op;
	char		 what[16];

	snprintf(what, sizeof(what), "row %d", _i);
	sh("%s", rows[_i].make);
	op_init(&op, FSOP_WALK, rows[_i].path, NULL);
	op.follow_dirs = (rows[_i].how & FOLLOW) != 0;
	op.prune_hidden = (rows[_i].how & PRUNE) != 0;
	if (rows[_i].depth != -1)
		op.max_depth = (uint32_t)rows[_i].depth;
	if (rows[_i].dirs != -1)
		op.max_dirs = (uint32_t)rows[_i].dirs;
	if (rows[_i].entries != -1)
		op.max_entries = (uint32_t)rows[_i].entries;
	expect(&op, rows[_i].want, what);
}
END_TEST

START_TEST(test_root)
{
	struct fsop	 op;
	char		*got;

	op_init(&op, FSOP_WALK, "/", NULL);
	op.max_depth = 0;
	got = op_walk(&op, false);
	ck_assert_ptr_nonnull(strstr(got, "d /proc\n"));
	ck_assert_ptr_null(strstr(got, "//"));
	free(got);
}
END_TEST

/* --- permissions, as an ordinary user --- */

#define DENIED	": Permission denied (os error 13)\n"

static bool
is_walk(const char *path, bool follow, uint32_t max_dirs, const char *want)
{
	struct fsop	 op;
	char		*got;
	bool		 is;

	op_init(&op, FSOP_WALK, path, NULL);
	op.follow_dirs = follow;
	op.max_dirs = max_dirs;
	got = op_walk(&op, false);
	if (!(is = strcmp(got, want) == 0))
		printf("%s", got);
	free(got);
	return is;
}

static int
unreadable(void)
{
	sh("mkdir u u/a u/b u/c r x x/d; touch u/b/f u/c/f x/f;"
	    "ln -s u/b lu; mkdir o; ln -s ../u/b o/l; ln -s ../u/b/q o/q;"
	    "chmod 000 u/b r; chmod 444 x");
	NEED(is_walk("u", false, 9, "d u/a\nd u/b\nd u/c\n! u/b" DENIED
	    "f u/c/f\n"));
	NEED(is_walk("u", false, 3, "d u/a\nd u/b\nd u/c\n! u/b" DENIED
	    "truncated\n"));
	NEED(is_walk("r", false, 9, "! r" DENIED));
	NEED(is_walk("x", false, 9, "! x/d" DENIED "! x/f" DENIED));
	NEED(is_walk("lu", true, 9, "! lu" DENIED));
	NEED(is_walk("o", true, 9, "d o/l\n! o/l" DENIED));
	NEED(is_walk("u/b/f", true, 9, "error 13\n"));
	return 0;
}

START_TEST(test_unreadable)
{
	ck_assert_int_eq(as_user(unreadable), 0);
}
END_TEST

/* What /proc has of us is not entered. */
START_TEST(test_ourselves)
{
	struct fsop	 op;
	char		 path[64], *got;

	snprintf(path, sizeof(path), "/proc/%ld", (long)getpid());
	op_init(&op, FSOP_WALK, path, NULL);
	got = op_walk(&op, false);
	ck_assert_msg(strstr(got, "map_files" DENIED) != NULL &&
	    strstr(got, "/fd" DENIED) != NULL &&
	    strstr(got, "/fd/") == NULL, "%s", got);
	free(got);
}
END_TEST

/* --- much --- */

static int
walk(const struct fsop *op, struct fsop_result *r, bool nonblock, size_t max)
{
	struct fsop_how	 how = { .nonblock = nonblock,
		.max_out = max, .cancel_fd = -1 };

	fsop_result_init(r);
	fsop_run(op, &how, r);
	return r->error;
}

static size_t
count(const struct fsop_result *r)
{
	struct fsop_record	 rec;
	const char		*name, *text;
	size_t			 n = 0, off = 0;

	while (fsop_next_record(&r->payload, &off, &rec, &name, &text))
		n++;
	return n;
}

/*
 * 4 MiB.  A path costs what its URI is long: an e with accent six.
 */
START_TEST(test_full)
{
	struct fsop_result	 r;
	struct fsop		 op;
	size_t			 each;

	/* 40 times two bytes and five digits. */
	sh("mkdir n; cd n; e=$(printf '\\303\\251%%.0s' $(seq 40));"
	    "seq -f \"$e%%05.0f\" 12500 | xargs touch");
	op_init(&op, FSOP_WALK, "n", NULL);
	ck_assert_int_eq(walk(&op, &r, false, 0), 0);
	ck_assert(r.truncated);
	each = strlen("file://") + strlen(op.path) + 1 + 40 * 6 + 5 + 64;
	ck_assert_uint_eq(count(&r), 4 * 1024 * 1024 / each);
	fsop_result_fini(&r);
}
END_TEST

/* Where the bounds are. */
START_TEST(test_bounded)
{
	struct fsop_result	 r;
	struct fsop		 op;

	sh("mkdir n d; cd n; seq %d | xargs touch; cd ../d; seq %d |"
	    "xargs mkdir", LIMIT_QUICK_ENTRIES, LIMIT_QUICK_FOLDERS - 1);
	op_init(&op, FSOP_WALK, "n", NULL);
	ck_assert_int_eq(walk(&op, &r, true, 1024 * 1024), 0);
	ck_assert_uint_eq(count(&r), LIMIT_QUICK_ENTRIES);
	fsop_result_fini(&r);
	ck_assert_int_eq(walk(&op, &r, true, 1024), EAGAIN);
	ck_assert_uint_eq(r.payload.len, 0);
	sh("touch n/more");
	ck_assert_int_eq(walk(&op, &r, true, 1024 * 1024), EAGAIN);
	/* A limit of the request's own below that is none of these. */
	op.max_entries = 5;
	ck_assert_int_eq(walk(&op, &r, true, 1024 * 1024), 0);
	ck_assert_uint_eq(count(&r), 5);
	fsop_result_fini(&r);
	op_init(&op, FSOP_WALK, "d", NULL);
	ck_assert_int_eq(walk(&op, &r, true, 1024 * 1024), 0);
	fsop_result_fini(&r);
	sh("mkdir d/more");
	ck_assert_int_eq(walk(&op, &r, true, 1024 * 1024), EAGAIN);
	ck_assert_int_eq(walk(&op, &r, false, 0), 0);
	ck_assert_uint_eq(count(&r), LIMIT_QUICK_FOLDERS);
	fsop_result_fini(&r);
}
END_TEST

/* 64 folders deep with the longest names: 16 KiB of path. */
START_TEST(test_deep)
{
	struct fsop_result	 r;
	struct fsop		 op;
	char			 name[256];
	int			 i, dir;

	memset(name, 'n', 255);
	name[255] = '\0';
	sh("mkdir t");
	op_init(&op, FSOP_WALK, "t", NULL);
	dir = open(op.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 70; i++) {
		dir = make_and_enter(dir, name);
	}
	close(dir);
	for (i = 0; i < 2; i++) {
		op.follow_dirs = i == 1;
		ck_assert_int_eq(walk(&op, &r, false, 0), 0);
		ck_assert(!r.truncated);
		ck_assert_uint_eq(count(&r), 65);
		fsop_result_fini(&r);
	}
	ck_assert_int_eq(do_remove("t"), 0);
}
END_TEST

START_TEST(test_cancelled)
{
	struct fsop	 op;

	sh("mkdir t");
	op_init(&op, FSOP_WALK, "t", NULL);
	ck_assert_int_eq(op_run_unwaited(&op), ECANCELED);
}
END_TEST

/* --- mounts --- */

static int
mounted(void)
{
	struct fsop	 op;
	char		 full[2048];
	char		*got;

	if (own_mounts() == -1)
		return -1;
	sh("mkdir -p t/a/m");
	snprintf(full, sizeof(full), "%s/t/a/m", base);
	if (mount("none", full, "tmpfs", 0, NULL) == -1)
		return -1;
	sh("touch t/a/m/f; ln -s a/m t/l");
	NEED(is_walk("t", false, 9, "d t/a\nd t/a/m\nf t/a/m/f\n"));
	NEED(is_walk("t", true, 9, "d t/a\nd t/l\nd t/a/m\nf t/l/f\n"));
	/* In bounds it never goes there. */
	op_init(&op, FSOP_WALK, "t", NULL);
	NEED(strcmp(got = op_walk(&op, true), "error 11\n") == 0);
	free(got);
	op.max_depth = 1;
	NEED(strcmp(got = op_walk(&op, true), "d t/a\nd t/a/m\n") == 0);
	free(got);
	op.follow_dirs = true;
	NEED(strcmp(got = op_walk(&op, true), "error 11\n") == 0);
	free(got);
	return 0;
}

START_TEST(test_mounted)
{
	with_own_mounts(mounted);
}
END_TEST

/* --- others at work --- */

/* A folder is now and then a link to one with a secret. */
START_TEST(test_swapped)
{
	struct fsop	 op;
	char		*got;
	int		 i, fd, pid, entered = 0;

	set_swapped("t/a/x", "spare");
	sh("mkdir -p t/a/x/y canary/y; touch t/a/x/y/f canary/secret"
	    " canary/y/secret; ln -s '%s/canary' spare", base);
	op_init(&op, FSOP_WALK, "t", NULL);
	pid = again_and_again(swap, &fd);
	for (i = 0; i < 5000; i++) {
		got = op_walk(&op, i % 2 == 0);
		ck_assert_msg(strstr(got, "secret") == NULL, "%s", got);
		ck_assert_msg(strstr(got, "error") == NULL ||
		    strstr(got, "! t/a/x") != NULL || (i % 2 == 0 &&
		    strcmp(got, "error 11\n") == 0), "%s", got);
		entered += strstr(got, "t/a/x/y/f") != NULL;
		free(got);
	}
	enough(pid, fd);
	ck_assert_int_gt(entered, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fswalk");
	TCase	*t = tcase_create("fswalk");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_loop_test(t, test_rows, 0, (int)NROWS(rows));
	tcase_add_test(t, test_root);
	tcase_add_test(t, test_unreadable);
	tcase_add_test(t, test_ourselves);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_bounded);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_cancelled);
	tcase_add_test(t, test_mounted);
	tcase_add_test(t, test_swapped);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
