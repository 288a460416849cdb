/*
 * fs/copy on real folders.  Asked of the reference (0.169.0):
 *
 * - a file's copy gets exactly its permission bits, whatever the umask, also
 *   one that existed; set-ID bits do not last; a new folder gets 0777 less
 *   the umask, also the copy of a private one (here: no more than the source
 *   has), one that existed keeps its own;
 * - a file goes through a link at the destination, which may lead to nothing;
 *   a folder is merged through one to a folder, and is EEXIST on another;
 * - links are copied as they are, and EEXIST on whatever is there;
 * - devices and FIFOs inside a tree are left out without a word;
 * - it stops at the first error;
 * - a folder may be copied onto its own parent;
 * - inside a tree it writes through links at the destination, and merges into
 *   what they lead to.  Here that is ELOOP and EEXIST: see fscopy.c.
 */
#include "t/unit/fstree_help.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/limit.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))
#define MIB		(1024 * 1024)

static bool
is(const char *want, const char *cmd)
{
	char	*got = sh_out("%s", cmd);
	bool	 same = strcmp(got, want) == 0;

	if (!same)
		printf("%s:\n%s", cmd, got);
	free(got);
	return same;
}

/* --- one thing --- */

#define MADE	"echo one > a; chmod 640 a; echo two > b; mkdir d d/in e;" \
		"echo x > d/f; echo y > d/in/g; ln -s d tod; ln -s a toa;" \
		"ln -s no dangling; ln -s loop loop; mkfifo p; ln a hard;" \
		"ln -s new tonew; "

static const struct {
	const char	*from, *to;
	bool		 recursive;
	int		 result, nonblock;
	const char	*cmd, *want;	/* what is there then */
} rows[] = {
	/* Files. */
	{ "a", "n", false, 0, 0, "cat n; stat -c %a n", "one\n640\n" },
	{ "a", "n", true, 0, 0, "cat n; stat -c %a n", "one\n640\n" },
	{ "a", "b", false, 0, 0, "cat b; stat -c %a b", "one\n640\n" },
	{ "b", "hard", false, 0, 0, "cat a; stat -c %a a", "two\n644\n" },
	{ "b", "toa", false, 0, 0, "cat a; readlink toa", "two\na\n" },
	{ "b", "tonew", false, 0, EAGAIN, NULL, NULL },
	{ "a", "a", false, REFUSED(ONTO_ITSELF), REFUSED(ONTO_ITSELF),
	    "cat a", "one\n" },
	{ "a", "hard", false, REFUSED(ONTO_ITSELF), REFUSED(ONTO_ITSELF),
	    "cat a", "one\n" },
	{ "a", "toa", false, REFUSED(ONTO_ITSELF), REFUSED(ONTO_ITSELF),
	    "cat a", "one\n" },
	{ "a", "d", false, EISDIR, EISDIR, NULL, NULL },
	{ "a", "tod", false, EISDIR, EISDIR, NULL, NULL },
	{ "a", "/", false, EISDIR, EISDIR, NULL, NULL },
	{ "a", "p", false, REFUSED(NOT_REGULAR), REFUSED(NOT_REGULAR),
	    NULL, NULL },
	{ "a", "/dev/null", false, REFUSED(NOT_REGULAR),
	    REFUSED(NOT_REGULAR), NULL, NULL },
	{ "a", "x/n", false, ENOENT, ENOENT, "ls -d x 2>&1 | wc -l", "1\n" },
	{ "a", "b/n", false, ENOTDIR, ENOTDIR, NULL, NULL },
	{ "a", "loop", false, ELOOP, ELOOP, NULL, NULL },
	{ "no", "n", false, ENOENT, ENOENT, NULL, NULL },
	{ "a/x", "n", false, ENOTDIR, ENOTDIR, NULL, NULL },
	{ "/proc/version", "n", false, 0, EAGAIN, NULL, NULL },
	/* Links. */
	{ "tod", "n", false, 0, 0, "readlink n", "d\n" },
	{ "tod", "n", true, 0, 0, "readlink n", "d\n" },
	{ "dangling", "n", false, 0, 0, "readlink n", "no\n" },
	{ "toa", "b", false, EEXIST, EEXIST, "cat b", "two\n" },
	{ "toa", "tod", false, EEXIST, EEXIST, "readlink tod", "d\n" },
	{ "toa", "toa", false, EEXIST, EEXIST, "cat a", "one\n" },
	{ "toa", "x/n", false, ENOENT, ENOENT, NULL, NULL },
	{ "toa", "/", false, EEXIST, EEXIST, NULL, NULL },
	/* What is not copied. */
	{ "p", "n", false, REFUSED(NOT_COPIED), REFUSED(NOT_COPIED),
	    NULL, NULL },
	{ "/dev/zero", "n", true, REFUSED(NOT_COPIED), REFUSED(NOT_COPIED),
	    NULL, NULL },
	{ "d", "n", false, REFUSED(NEEDS_RECURSIVE),
	    REFUSED(NEEDS_RECURSIVE), "ls -d n 2>&1 | wc -l", "1\n" },
	/* Folders. */
	{ "d", "n", true, 0, EAGAIN, NULL, NULL },
	{ "d", "e", true, 0, EAGAIN, NULL, NULL },
	{ "d", "x/y/n", true, 0, EAGAIN, NULL, NULL },
	{ "d/in", "d", true, 0, EAGAIN, NULL, NULL },
	{ "d", "b", true, EEXIST, EAGAIN, "cat b", "two\n" },
	{ "d", "b/n", true, ENOTDIR, EAGAIN, NULL, NULL },
	{ "d", "dangling", true, EEXIST, EAGAIN, "readlink dangling",
	    "no\n" },
	{ "d", "d", true, REFUSED(INTO_ITSELF), EAGAIN, NULL, NULL },
	{ "d", "tod", true, REFUSED(INTO_ITSELF), EAGAIN, NULL, NULL },
	{ "d", "d/n", true, REFUSED(INTO_ITSELF), EAGAIN, "ls d",
	    "f\nin\n" },
	{ "d", "d/x/y/n", true, REFUSED(INTO_ITSELF), EAGAIN, "ls d",
	    "f\nin\n" },
	{ "d", "tod/in/n", true, REFUSED(INTO_ITSELF), EAGAIN, "ls d/in",
	    "g\n" },
	{ "/", "n", true, REFUSED(INTO_ITSELF), EAGAIN, NULL, NULL },
};

START_TEST(test_rows)
{
	struct fsop	 op;
	bool		 nonblock = _i >= (int)NROWS(rows);
	int		 i = _i % (int)NROWS(rows), want, got;

	sh(MADE);
	op_init(&op, FSOP_COPY, rows[i].from, rows[i].to);
	op.recursive = rows[i].recursive;
	want = nonblock ? rows[i].nonblock : rows[i].result;
	got = op_run(&op, nonblock);
	ck_assert_msg(got == want, "row %d: %d", i, got);
	if (rows[i].cmd != NULL)
		ck_assert_msg(is(rows[i].want, rows[i].cmd), "row %d", i);
	/* The source is as it was, unless it is the destination. */
	if (got == EAGAIN)
		ck_assert(is("a\nb\nd\ndangling\ne\nhard\nloop\np\ntoa\n"
		    "tod\ntonew\n", "LC_ALL=C ls"));
}
END_TEST

/* Of those rows the ones that make something larger. */
START_TEST(test_made)
{
	sh(MADE);
	ck_assert_int_eq(do_copy("b", "tonew"), 0);
	ck_assert(is("two\nnew\n644\n",
	    "cat new; readlink tonew; stat -c %a new"));
	ck_assert_int_eq(do_copy("/proc/version", "v"), 0);
	sh("cmp v /proc/version");
	ck_assert_int_eq(do_copy("d", "x/y/n"), 0);
	sh("diff -r d x/y/n");
	sh("ln -s e toe");
	ck_assert_int_eq(do_copy("d", "toe"), 0);
	sh("diff -r d e");
	ck_assert_int_eq(do_copy("d/in", "d"), 0);
	ck_assert(is("f\ng\nin\n", "ls d"));
	/* A folder that copies itself one up, on and on, comes to an end. */
	sh("mkdir -p q/q/q/q; touch q/q/1 q/q/q/2 q/q/q/q/3");
	ck_assert_int_eq(do_copy("q/q", "q"), 0);
	ck_assert(is("1\n2\nq\n", "ls q/q"));
}
END_TEST

/* --- trees --- */

START_TEST(test_tree)
{
	sh("mkdir -p s/a/b/c s/.h s/empty out; echo 1 > s/a/f;"
	    "echo 2 > s/a/b/c/f; ln -s ../../out s/a/out; mkfifo s/a/p;"
	    "ln -s /nowhere s/.h/l; : > s/.h/zero; chmod 4751 s/a/f;"
	    "echo > \"s/a/$(printf 'n\\nl')\";"
	    "echo > \"s/a/$(printf '\\377')\"");
	ck_assert_int_eq(do_copy("s", "t"), 0);
	sh("rm s/a/p; diff -r --no-dereference s t");
	ck_assert(is("751 f\n", "cd t/a; stat -c '%a %n' f"));
	/* Once more, over what is there: the links are in the way. */
	ck_assert_int_eq(do_copy("s", "t"), EEXIST);
	sh("rm s/a/out s/.h/l; echo 3 > s/a/f; chmod 600 s/a/f");
	ck_assert_int_eq(do_copy("s", "t"), 0);
	ck_assert(is("3\n600\n", "cat t/a/f; stat -c %a t/a/f"));
}
END_TEST

static const struct {
	const char	*make;
	int		 result;
	const char	*cmd, *want;
} merges[] = {
	{ "mkdir s/x; echo > t/x", EEXIST, "ls -F t", "x\n" },
	{ "mkdir t/x; echo > s/x", EISDIR, "ls -F t", "x/\n" },
	{ "ln -s a s/x; echo > t/x", EEXIST, "ls -F t", "x\n" },
	{ "ln -s a s/x; mkdir t/x", EEXIST, "ls -F t", "x/\n" },
	{ "ln -s a s/x; ln -s b t/x", EEXIST, "readlink t/x", "b\n" },
	{ "echo > s/x; mkfifo t/x", REFUSED(NOT_REGULAR), "ls -F t", "x|\n" },
	/* Not through links: nothing outside is touched. */
	{ "echo > s/x; echo old > out; ln -s ../out t/x", ELOOP,
	    "cat out", "old\n" },
	{ "echo > s/x; ln -s ../out t/x", ELOOP, "ls", "s\nt\n" },
	{ "mkdir s/x out; echo > s/x/f; ln -s ../out t/x", EEXIST,
	    "ls out", "" },
	/* Hard links to each other are what they would become. */
	{ "echo 1 > s/x; ln s/x t/x; echo 2 > s/y", 0,
	    "cat s/x t/x t/y", "1\n1\n2\n" },
	/* Others keep theirs. */
	{ "echo 1 > s/x; echo 2 > t/x; ln t/x t/y", 0,
	    "cat t/y", "1\n" },
};

START_TEST(test_merge)
{
	int	 got;

	sh("mkdir s t; %s", merges[_i].make);
	got = do_copy("s", "t");
	ck_assert_msg(got == merges[_i].result, "row %d: %d", _i, got);
	ck_assert_msg(is(merges[_i].want, merges[_i].cmd), "row %d", _i);
}
END_TEST

START_TEST(test_modes)
{
	/* With umask 022. */
	static const struct {
		int	 file, new_file, folder, new_folder;
	} modes[] = {
		{ 0644, 0644, 0755, 0755 },
		{ 0600, 0600, 0700, 0700 },
		{ 0666, 0666, 0777, 0755 },
		{ 0444, 0444, 0555, 0755 },
		{ 07777, 0777, 07777, 0755 },
		{ 0710, 0710, 0710, 0710 },
		{ 0400, 0400, 0500, 0700 },
	};
	char	 want[64];
	size_t	 i;

	for (i = 0; i < NROWS(modes); i++) {
		sh("mkdir s; echo > s/f; echo > o; chmod %o s/f; chmod %o s",
		    modes[i].file, modes[i].folder);
		ck_assert_int_eq(do_copy("s", "t"), 0);
		ck_assert_int_eq(do_copy("s/f", "n"), 0);
		ck_assert_int_eq(do_copy("s/f", "o"), 0);
		snprintf(want, sizeof(want), "%o\n%o\n%o\n%o\n",
		    modes[i].new_folder, modes[i].new_file,
		    modes[i].new_file, modes[i].new_file);
		ck_assert_msg(is(want, "stat -c %a t t/f n o"), "row %zu", i);
		sh("chmod 700 s; rm -rf s t n o");
	}
	/* Below the destination too, and what exists keeps its own. */
	sh("mkdir -p s/a s/b t/b; chmod 700 s/a s/b; chmod 711 t/b");
	ck_assert_int_eq(do_copy("s", "t"), 0);
	ck_assert(is("700\n711\n", "stat -c %a t/a t/b"));
}
END_TEST

START_TEST(test_deep)
{
	char	 name[256];
	int	 i, dir;

	memset(name, 'n', 255);
	name[255] = '\0';
	dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 2200; i++) {
		dir = make_and_enter(dir, i == 0 ? "s" : name);
		ck_assert_int_eq(mkdirat(dir, "a", 0777), 0);
		ck_assert_int_eq(symlinkat("..", dir, "z"), 0);
	}
	close(dir);
	ck_assert_int_eq(do_copy("s", "t"), 0);
	/* Names only: all paths together are gigabytes. */
	sh("for d in s t; do test $(find $d -printf . | wc -c) = 6600; done");
	ck_assert_int_eq(do_remove("s"), 0);
	ck_assert_int_eq(do_remove("t"), 0);
}
END_TEST

/* --- content --- */

START_TEST(test_sizes)
{
	static const long	 sizes[] = {
		0, 1, 4095, 4096, 131072, 1048576, 1048577, 4194304,
		4194305, 20 * MIB + 3
	};
	struct fsop	 op;
	size_t		 i;

	for (i = 0; i < NROWS(sizes); i++) {
		sh("head -c %ld /dev/urandom > f; echo old old old > g",
		    sizes[i]);
		op_init(&op, FSOP_COPY, "f", "n");
		ck_assert_int_eq(op_run(&op, true), sizes[i] >
		    LIMIT_FILE_QUICK / 2 ? EAGAIN : 0);
		ck_assert_int_eq(op_run(&op, false), 0);
		ck_assert_int_eq(do_copy("f", "g"), 0);
		sh("cmp f n; cmp f g; rm n");
	}
}
END_TEST

/* As large as it says, as small as it is. */
START_TEST(test_sparse)
{
	sh("truncate -s 1T f || exit 0;"
	    "echo a | dd of=f conv=notrunc status=none;"
	    "echo b | dd of=f bs=1M seek=500000 conv=notrunc status=none");
	ck_assert_int_eq(do_copy("f", "g"), 0);
	sh("test $(stat -c %%s f) = $(stat -c %%s g);"
	    "test $(du -k g | cut -f1) -lt 100;"
	    "test $(head -c 2 g) = a;"
	    "test $(dd if=g bs=1M skip=500000 count=1 status=none |"
	    "head -c 2) = b");
	/* Over one with content where the hole is. */
	sh("truncate -s 8M h; echo x >> h; head -c 9M /dev/urandom > g");
	ck_assert_int_eq(do_copy("h", "g"), 0);
	sh("cmp h g; test $(du -k g | cut -f1) -lt 100");
}
END_TEST

static char	 growing[2048];

static void
grow(void)
{
	static char	 piece[65536];
	struct stat	 st;
	int		 fd;

	if ((fd = open(growing, O_WRONLY | O_APPEND | O_CLOEXEC)) == -1)
		return;
	if (fstat(fd, &st) == 0 && st.st_size < 16 * MIB)
		(void)!write(fd, piece, sizeof(piece));
	close(fd);
}

/* Up to where it was when it began. */
START_TEST(test_growing)
{
	int	 i, fd, pid;

	sh("head -c 4M /dev/urandom > f");
	snprintf(growing, sizeof(growing), "%s/f", base);
	pid = again_and_again(grow, &fd);
	for (i = 0; i < 20; i++) {
		/* It grows from there, in each round anew. */
		ck_assert_int_eq(truncate(growing, 4 * MIB), 0);
		ck_assert_int_eq(do_copy("f", "g"), 0);
		sh("test $(stat -c %%s g) -ge 4194304;"
		    "cmp -n $(stat -c %%s g) f g");
	}
	enough(pid, fd);
}
END_TEST

/* A limit for the size of files is the simplest full disk. */
static int
too_large(void)
{
	struct rlimit	 rl = { MIB, MIB };

	signal(SIGXFSZ, SIG_IGN);
	NEED(setrlimit(RLIMIT_FSIZE, &rl) == 0);
	sh("mkdir t");
	NEED(do_copy("big", "new") == EFBIG);
	NEED(do_copy("big", "t/new") == EFBIG);
	NEED(do_copy("s", "t") == EFBIG);
	NEED(is("", "ls t"));
	NEED(is("big\ns\nt\n", "ls"));
	/* What is there stays. */
	sh("echo old > f; echo older > t/big; ln -s f l");
	NEED(do_copy("big", "f") == EFBIG);
	NEED(do_copy("big", "l") == EFBIG);
	NEED(do_copy("s", "t") == EFBIG);
	NEED(is("old\nolder\n", "cat f t/big"));
	NEED(is("big\nf\nl\ns\nt\nbig\n", "ls -A; ls -A t"));
	return 0;
}

START_TEST(test_no_room)
{
	sh("mkdir s; head -c 2M /dev/urandom > big; cp big s/big;"
	    "chmod 777 s");
	ck_assert_int_eq(as_user(too_large), 0);
}
END_TEST

/* --- permissions, as an ordinary user --- */

static bool
is_mine(const char *path)
{
	char		 full[2048];
	struct stat	 st;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return stat(full, &st) == 0 && st.st_uid == geteuid();
}

static int
denied(void)
{
	sh("echo 1 > f; echo 2 > ro; chmod 444 ro; echo 3 > un; chmod 0 un;"
	    "mkdir nd nd/in s s/in; chmod 000 nd s/in; echo > s/f;"
	    "mkdir ro.d; chmod 555 ro.d");
	NEED(do_copy("f", "ro") == EACCES);
	NEED(is("2\n444\n", "cat ro; stat -c %a ro"));
	NEED(do_copy("un", "n") == EACCES);
	NEED(do_copy("nd", "n") == EACCES);
	NEED(do_copy("f", "ro.d/n") == EACCES);
	NEED(do_copy("f", "ro.d/n/x") == ENOENT);
	NEED(do_copy("s", "t") == EACCES);
	NEED(is("", "ls -d n 2> /dev/null || :"));
	/* Root's: it may be written, but not given other bits. */
	NEED(is_mine("theirs") || do_copy("f", "theirs") == EPERM);
	NEED(is("old\n", "cat theirs"));
	return 0;
}

START_TEST(test_denied)
{
	sh("echo old > theirs; chmod 666 theirs");
	ck_assert_int_eq(as_user(denied), 0);
}
END_TEST

START_TEST(test_cancelled)
{
	static const char *const	 from[] = { "s", "big" };
	struct fsop			 op;
	int				 i;

	sh("mkdir s; head -c 5M /dev/zero > big; echo > s/f");
	for (i = 0; i < 2; i++) {
		op_init(&op, FSOP_COPY, from[i], i == 0 ? "t" : "n");
		ck_assert_int_eq(op_run_unwaited(&op), ECANCELED);
	}
	/* No half of a file. */
	ck_assert(is("big\ns\nt\n", "ls; ls t"));
	sh("echo old > f");
	op_init(&op, FSOP_COPY, "big", "f");
	ck_assert_int_eq(op_run_unwaited(&op), ECANCELED);
	ck_assert(is("old\n", "cat f"));
}
END_TEST

/* --- mounts: the same folder by another name --- */

static int
bound(void)
{
	char	 a[2048], b[2048];

	if (own_mounts() == -1)
		return -1;
	sh("mkdir -p s/x other; echo > s/f");
	snprintf(a, sizeof(a), "%s/s/x", base);
	snprintf(b, sizeof(b), "%s/other", base);
	if (mount(a, b, NULL, MS_BIND, NULL) == -1)
		return -1;
	/* No folder above other/n is s: it is met on the way. */
	NEED(do_copy("s", "other/n") == REFUSED(INTO_ITSELF));
	NEED(do_copy("s/x", "other") == REFUSED(INTO_ITSELF));
	/* The other way round: from one file system to another. */
	if (mount("none", b, "tmpfs", 0, "size=64k") == -1)
		return -1;
	NEED(do_copy("s/f", "other/f") == 0);
	sh("cmp s/f other/f; head -c 1M /dev/zero > s/big");
	NEED(do_copy("s/big", "other/big") == ENOSPC);
	NEED(is("f\n", "ls other"));
	NEED(do_copy("s/big", "other/f") == ENOSPC);
	NEED(is("f\n", "ls -A other; cmp s/f other/f"));
	return 0;
}

START_TEST(test_bound)
{
	with_own_mounts(bound);
}
END_TEST

/* --- others at work --- */

static bool
exists(const char *path)
{
	char		 full[2048];
	struct stat	 st;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return lstat(full, &st) == 0;
}

static bool
is_link(const char *path)
{
	char		 full[2048];
	struct stat	 st;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	return lstat(full, &st) == 0 && S_ISLNK(st.st_mode);
}

#define RACE	"mkdir -p s/a/x canary; echo 1 > s/a/x/f; echo 2 > s/a/g;" \
		"echo secret > canary/f; echo secret > canary/secret; "

/* A folder of the source is now and then a link to secrets. */
START_TEST(test_source_swapped)
{
	int	 i, fd, pid, rv, entered = 0;

	sh(RACE "ln -s '%s/canary' spare", base);
	set_swapped("s/a/x", "spare");
	pid = again_and_again(swap, &fd);
	for (i = 0; i < 1200; i++) {
		rv = do_copy("s", "t");
		ck_assert_msg(rv == 0 || rv == EEXIST || rv == ENOTDIR ||
		    rv == ELOOP || rv == EXDEV, "%d", rv);
		entered += exists("t/a/x/f");
		ck_assert(is_link("t/a/x") || !exists("t/a/x/secret"));
		ck_assert_int_eq(do_remove("t"), 0);
	}
	enough(pid, fd);
	ck_assert_int_gt(entered, 0);
}
END_TEST

/* The same with a file of the source, and with a FIFO. */
START_TEST(test_file_swapped)
{
	static const char *const	 with[] = {
		"ln -s ../../canary/secret spare", "mkfifo spare"
	};
	int	 i, fd, pid, rv;

	sh(RACE "%s", with[_i]);
	set_swapped("s/a/g", "spare");
	pid = again_and_again(swap, &fd);
	for (i = 0; i < 1200; i++) {
		rv = do_copy("s/a", "t");
		ck_assert_msg(rv == 0, "%d", rv);
		if (i % 100 == 0)
			ck_assert(is("", "grep -rlD skip secret t || :"));
		ck_assert_int_eq(do_remove("t"), 0);
	}
	enough(pid, fd);
}
END_TEST

/* A folder, and a file, of the destination is now and then a link. */
START_TEST(test_destination_swapped)
{
	static const struct {
		const char	*make, *inside;
	} how[] = {
		{ "mkdir -p t/a/x; ln -s ../../canary spare", "t/a/x" },
		{ "mkdir -p t/a/x; echo > t/a/x/f;"
		    "ln -s ../../../canary/secret spare", "t/a/x/f" },
	};
	int	 i, fd, pid, rv, copied = 0;

	sh(RACE "%s", how[_i].make);
	set_swapped(how[_i].inside, "spare");
	pid = again_and_again(swap, &fd);
	for (i = 0; i < 3000; i++) {
		rv = do_copy("s", "t");
		ck_assert_msg(rv == 0 || rv == EEXIST || rv == ELOOP, "%d",
		    rv);
		copied += rv == 0;
	}
	enough(pid, fd);
	ck_assert_int_gt(copied, 0);
	ck_assert(is("f\nsecret\nsecret\nsecret\n",
	    "ls canary; cat canary/*"));
}
END_TEST

/* The destination goes into the source while that is copied. */
static void
move(void)
{
	static bool	 there;

	if (renameat2(AT_FDCWD, there ? inside : outside, AT_FDCWD,
	    there ? outside : inside, RENAME_NOREPLACE) == 0)
		there = !there;
}

START_TEST(test_moved)
{
	int	 i, fd, pid, rv;

	sh("mkdir -p s/a/b s/z t; echo > s/a/b/f");
	set_swapped("s/z/t", "t");
	pid = again_and_again(move, &fd);
	for (i = 0; i < 1000; i++) {
		rv = do_copy("s", "t");
		ck_assert_msg(rv == 0 || rv == REFUSED(INTO_ITSELF) ||
		    rv == ENOENT || rv == EEXIST, "%d", rv);
	}
	enough(pid, fd);
}
END_TEST

/* What /proc has of us is no file of anybody's. */
START_TEST(test_ourselves)
{
	char	 path[64];

	snprintf(path, sizeof(path), "/proc/%ld", (long)getpid());
	ck_assert_int_eq(do_copy(path, "n"), EACCES);
	ck_assert(is("", "find n -type f | sed /status/d"));
}
END_TEST

static void
add_tests(TCase *t)
{
	tcase_add_loop_test(t, test_rows, 0, 2 * (int)NROWS(rows));
	tcase_add_test(t, test_made);
	tcase_add_test(t, test_tree);
	tcase_add_loop_test(t, test_merge, 0, (int)NROWS(merges));
	tcase_add_test(t, test_modes);
	tcase_add_test(t, test_sizes);
	tcase_add_test(t, test_sparse);
	tcase_add_test(t, test_growing);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_denied);
	tcase_add_test(t, test_cancelled);
	tcase_add_test(t, test_bound);
	tcase_add_test(t, test_ourselves);
}

static TCase *
in_memory(void)
{
	TCase	*t = tcase_create("memory");

	tcase_set_timeout(t, 120);
	tcase_add_unchecked_fixture(t, tree_memory_begin, tree_memory_end);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_test(t, test_deep);
	tcase_add_test(t, test_source_swapped);
	tcase_add_loop_test(t, test_file_swapped, 0, 2);
	tcase_add_loop_test(t, test_destination_swapped, 0, 2);
	tcase_add_test(t, test_moved);
	return t;
}

int
main(void)
{
	Suite	*s = suite_create("fscopy");
	TCase	*t = tcase_create("fscopy");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	add_tests(t);
	suite_add_tcase(s, t);
	suite_add_tcase(s, in_memory());
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
