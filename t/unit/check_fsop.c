/*
 * File operations on one path: nonblocking ones do the same as others or say
 * EAGAIN, before anything was changed.
 */
#include "t/unit/fstree_help.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/limit.h"
#include "t/unit/left_out.h"
#include "worker/fs/mounted_inodes.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))
#define SAME		(-1)

static struct fsop_result	 res;
static bool			 is_overtaken;

/* Somebody else may rename something to that name just before. */
int
renameat2(int from_dir, const char *from, int to_dir, const char *to,
    unsigned flags)
{
	char	 other[2048];

	if (is_overtaken) {
		is_overtaken = false;
		snprintf(other, sizeof(other), "%s/o", base);
		ck_assert_int_eq(renameat(AT_FDCWD, other, to_dir, to), 0);
	}
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* Like op_run(), but what came of it stays in res. */
static int
ask(const struct fsop *op, bool nonblock)
{
	struct fsop_how	 how = { .nonblock = nonblock,
		.max_out = LIMIT_FILE_QUICK, .cancel_fd = -1 };

	fsop_result_fini(&res);
	fsop_result_init(&res);
	fsop_run(op, &how, &res);
	if (res.why != FSWHY_NONE || res.error != 0)
		ck_assert_uint_eq(res.payload.len, 0);
	return res.why != FSWHY_NONE ? 1000 + (int)res.why : res.error;
}

static void
setup(void)
{
	tree_setup();
	fsop_result_init(&res);
}

static void
teardown(void)
{
	fsop_result_fini(&res);
	tree_teardown();
}

static void
has_text(const char *path, const char *want)
{
	char	*text = sh_out("cat '%s'", path);

	ck_assert_str_eq(text, want);
	free(text);
}

/* --- all of them, on all kinds of paths --- */

#define TREE "printf hello > f; mkdir d; ln -s f fl; ln -s d dl;" \
	"ln -s nowhere dangling; ln -s loop loop; mkfifo fifo;" \
	"truncate -s 3M big; truncate -s 50266113 long; truncate -s 600M huge;"\
	"truncate -s 0 d/x"

enum { NOFOLLOW = 1, REPLACE = 2, REC = 4 };

static const struct {
	enum fsop_kind	 kind;
	const char	*path;
	int		 flags;
	int		 result;
	int		 nonblock;	/* SAME, or EAGAIN */
} rows[] = {
	{ FSOP_READ, "f", 0, 0, SAME },
	{ FSOP_READ, "fl", 0, 0, SAME },
	{ FSOP_READ, "fl", NOFOLLOW, ELOOP, SAME },
	{ FSOP_READ, "dl/x", 0, 0, SAME },
	{ FSOP_READ, "dl/x", NOFOLLOW, ELOOP, SAME },
	{ FSOP_READ, "nope", 0, ENOENT, SAME },
	{ FSOP_READ, "dangling", 0, ENOENT, SAME },
	{ FSOP_READ, "loop", 0, ELOOP, SAME },
	{ FSOP_READ, "f/x", 0, ENOTDIR, SAME },
	{ FSOP_READ, "d", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_READ, "fifo", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_READ, "/dev/zero", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_READ, "/proc/self/status", 0, 0, SAME },
	{ FSOP_READ, "/proc/self/exe", 0, ELOOP, SAME },
	{ FSOP_READ, "big", 0, 0, EAGAIN },
	{ FSOP_READ, "long", 0, REFUSED(TOO_LONG), SAME },
	{ FSOP_READ, "huge", 0, REFUSED(TOO_LARGE), SAME },
	{ FSOP_WRITE, "f", 0, 0, SAME },
	{ FSOP_WRITE, "fl", 0, 0, SAME },
	{ FSOP_WRITE, "fl", NOFOLLOW, ELOOP, SAME },
	{ FSOP_WRITE, "new", 0, 0, SAME },
	{ FSOP_WRITE, "new", NOFOLLOW, 0, SAME },
	{ FSOP_WRITE, "dl/new", 0, 0, SAME },
	{ FSOP_WRITE, "dl/new", NOFOLLOW, ELOOP, SAME },
	{ FSOP_WRITE, "no/new", 0, ENOENT, SAME },
	{ FSOP_WRITE, "f/x", 0, ENOTDIR, SAME },
	{ FSOP_WRITE, "d", 0, EISDIR, SAME },
	{ FSOP_WRITE, "/", 0, EISDIR, SAME },
	{ FSOP_WRITE, "fifo", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_WRITE, "/dev/null", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_WRITE, "loop", 0, ELOOP, SAME },
	{ FSOP_WRITE, "dangling", 0, 0, EAGAIN },
	{ FSOP_WRITE, "dangling", NOFOLLOW, ELOOP, SAME },
	{ FSOP_MKDIR, "new", 0, 0, SAME },
	{ FSOP_MKDIR, "new/er", 0, ENOENT, SAME },
	{ FSOP_MKDIR, "d", 0, EEXIST, SAME },
	{ FSOP_MKDIR, "/", 0, EEXIST, SAME },
	{ FSOP_MKDIR, "/", REC, 0, SAME },
	{ FSOP_MKDIR, "new/er", REC, 0, SAME },
	{ FSOP_MKDIR, "d", REC, 0, SAME },
	{ FSOP_MKDIR, "dl", REC, 0, SAME },
	{ FSOP_MKDIR, "dl", REC | NOFOLLOW, ELOOP, SAME },
	{ FSOP_MKDIR, "dl/new/er", REC, 0, SAME },
	{ FSOP_MKDIR, "dl/new/er", REC | NOFOLLOW, ELOOP, SAME },
	{ FSOP_MKDIR, "f", REC, EEXIST, SAME },
	{ FSOP_MKDIR, "f/x", REC, ENOTDIR, SAME },
	{ FSOP_MKDIR, "loop/x", REC, ELOOP, SAME },
	{ FSOP_STAT, "f", 0, 0, SAME },
	{ FSOP_STAT, "fl", 0, 0, SAME },
	{ FSOP_STAT, "fl", NOFOLLOW, ELOOP, SAME },
	{ FSOP_STAT, "dangling", 0, ENOENT, SAME },
	{ FSOP_STAT, "dangling", NOFOLLOW, ELOOP, SAME },
	{ FSOP_STAT, "fifo", 0, 0, SAME },
	{ FSOP_STAT, "/dev/tty", 0, 0, SAME },
	{ FSOP_STAT, "nope/x", 0, ENOENT, SAME },
	{ FSOP_STAT, "/proc/self/fd/0", 0, EACCES, SAME },
	{ FSOP_CANON, "dl/x", 0, 0, SAME },
	{ FSOP_CANON, "nope", 0, ENOENT, SAME },
	{ FSOP_CANON, "loop", 0, ELOOP, SAME },
	{ FSOP_LIST, "d", 0, 0, SAME },
	{ FSOP_LIST, "dl", 0, 0, SAME },
	{ FSOP_LIST, "f", 0, ENOTDIR, SAME },
	{ FSOP_LIST, "fifo", 0, ENOTDIR, SAME },
	{ FSOP_LIST, "nope", 0, ENOENT, SAME },
	{ FSOP_OPEN, "f", 0, 0, SAME },
	{ FSOP_OPEN, "huge", 0, 0, SAME },
	{ FSOP_OPEN, "d", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_OPEN, "fifo", 0, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_OPEN, "fifo", REPLACE, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_OPEN, "/dev/null", REPLACE, REFUSED(NOT_REGULAR), SAME },
	{ FSOP_OPEN, "nope", 0, ENOENT, SAME },
	{ FSOP_OPEN, "new", REPLACE, 0, SAME },
	{ FSOP_OPEN, "fl", REPLACE, 0, SAME },
	{ FSOP_OPEN, "fl", REPLACE | NOFOLLOW, ELOOP, SAME },
	{ FSOP_OPEN, "no/new", REPLACE, ENOENT, SAME },
	{ FSOP_OPEN, "dangling", REPLACE, 0, EAGAIN },
};

START_TEST(test_rows)
{
	struct fsop	 op;
	bool		 nonblock = _i >= (int)NROWS(rows);
	int		 i = _i % (int)NROWS(rows), rv, want;
	char		*before, *after;

	sh(TREE);
	before = sh_out("stat -c '%%n %%i %%s %%y' * d/*");
	op_init(&op, rows[i].kind, rows[i].path, NULL);
	op.recursive = (rows[i].flags & REC) != 0;
	op.nofollow = (rows[i].flags & NOFOLLOW) != 0;
	op.replace = (rows[i].flags & REPLACE) != 0;
	op.data = "new";
	op.len = 3;
	rv = ask(&op, nonblock);
	want = nonblock && rows[i].nonblock != SAME ? rows[i].nonblock :
	    rows[i].result;
	ck_assert_msg(rv == want, "row %d (%s): %d, not %d", i, rows[i].path,
	    rv, want);
	ck_assert_msg((res.fd != -1) == (rv == 0 &&
	    rows[i].kind == FSOP_OPEN), "row %d", i);
	after = sh_out("stat -c '%%n %%i %%s %%y' * d/*");
	if (rv != 0)
		ck_assert_str_eq(before, after);
	free(before);
	free(after);
}
END_TEST

/* --- reading --- */

START_TEST(test_read)
{
	struct fsop	 op;

	sh("printf 'a\\0b' > f; head -c 2097152 /dev/urandom > exact;"
	    "head -c 2097153 /dev/zero > more");
	op_init(&op, FSOP_READ, "f", NULL);
	ck_assert_int_eq(ask(&op, true), 0);
	ck_assert_uint_eq(res.payload.len, 3);
	ck_assert_mem_eq(buf_data(&res.payload), "a\0b", 3);
	op_init(&op, FSOP_READ, "exact", NULL);
	ck_assert_int_eq(ask(&op, true), 0);
	ck_assert_uint_eq(res.payload.len, 2097152);
	op_init(&op, FSOP_READ, "more", NULL);
	ck_assert_int_eq(ask(&op, true), EAGAIN);
	ck_assert_int_eq(ask(&op, false), 0);
	ck_assert_uint_eq(res.payload.len, 2097153);
}
END_TEST

/* What a sandbox has mounted is not replaced by a rename. */
START_TEST(test_mounted)
{
	struct mounted_inodes	 f;
	struct stat		 st;
	struct fsop		 op;
	char			 path[PATH_MAX];

	sh("printf old > f; printf new > g");
	snprintf(path, sizeof(path), "%s/f", base);
	ck_assert_int_eq(stat(path, &st), 0);
	f = (struct mounted_inodes){ st.st_dev, st.st_ino };
	ck_assert_int_eq(mounted_inodes_init(), 0);
	mounted_inodes_begin();
	mounted_inodes_add(&f, 1);
	mounted_inodes_end();
	op_init(&op, FSOP_RENAME, "g", "f");
	ck_assert_int_eq(ask(&op, _i), EBUSY);
	has_text(path, "old");
	op_init(&op, FSOP_RENAME, "f", "h");
	ck_assert_int_eq(ask(&op, _i), 0);
	op_init(&op, FSOP_RENAME, "g", "f");
	ck_assert_int_eq(ask(&op, _i), 0);
	has_text(path, "new");
}
END_TEST

static uint64_t	 held[4];
static size_t	 nheld;

/* The file grows while its reader waits. */
static int
hold_and_grow(int peer, uint64_t bytes)
{
	ck_assert_int_eq(peer, -1);
	ck_assert_uint_lt(nheld, 4);
	held[nheld++] = bytes;
	if (nheld == 1)
		sh("head -c 200000 /dev/zero | tr '\\0' y >> f");
	return 0;
}

static int
hold_never(int peer, uint64_t bytes)
{
	(void)peer;
	(void)bytes;
	errno = ECANCELED;
	return -1;
}

/* What is long is asked for: once, and anew with the most if it grew. */
START_TEST(test_held)
{
	struct fsop_how	 how = { .cancel_fd = -1, .reserve = hold_and_grow };
	struct fsop	 op;

	sh("head -c 3000000 /dev/zero | tr '\\0' x > f;"
	    "head -c 2000000 /dev/zero > short");
	nheld = 0;
	op_init(&op, FSOP_READ, "short", NULL);
	fsop_run(&op, &how, &res);
	ck_assert_int_eq(res.error, 0);
	ck_assert_uint_eq(nheld, 0);
	ck_assert_uint_eq(res.payload.len, 2000000);
	fsop_result_fini(&res);
	op_init(&op, FSOP_READ, "f", NULL);
	fsop_run(&op, &how, &res);
	ck_assert_int_eq(res.error, 0);
	ck_assert_uint_eq(nheld, 2);
	ck_assert_uint_eq(held[0], 3000001);
	ck_assert_uint_eq(held[1], LIMIT_FILE_ANSWER + 1);
	ck_assert_uint_eq(res.payload.len, 3200000);
	ck_assert_mem_eq(buf_data(&res.payload), "xxx", 3);
	ck_assert_mem_eq((char *)buf_data(&res.payload) + 2999999, "xyy", 3);
	fsop_result_fini(&res);
	how.reserve = hold_never;
	fsop_run(&op, &how, &res);
	ck_assert_int_eq(res.error, ECANCELED);
	ck_assert_uint_eq(res.payload.len, 0);
}
END_TEST

/* What was opened elsewhere may not be what it was said to be. */
START_TEST(test_read_opened)
{
	struct fsop_result	 r;
	struct fsop		 op;

	fsop_result_init(&r);
	sh("echo text > f");
	op_init(&op, FSOP_READ, "f", NULL);
	ck_assert_int_ne(r.fd = open(op.path, O_RDONLY | O_CLOEXEC), -1);
	r.size = 5;
	fsop_read_opened(&r);
	ck_assert_int_eq(r.error, 0);
	ck_assert_uint_eq(r.payload.len, 5);
	fsop_result_fini(&r);
	fsop_result_init(&r);
	ck_assert_int_ne(r.fd = open(op.path, O_RDONLY | O_CLOEXEC), -1);
	r.size = LIMIT_FILE_QUICK + 1;
	errno = 0;
	fsop_read_opened(&r);
	ck_assert_int_eq(r.error, EFBIG);
	ck_assert_uint_eq(r.payload.len, 0);
	ck_assert_int_eq(r.fd, -1);
}
END_TEST

START_TEST(test_blocks)
{
	struct fsop	 op;
	int		 w;

	sh("printf 0123456789 > f");
	op_init(&op, FSOP_OPEN, "f", NULL);
	ck_assert_int_eq(ask(&op, true), 0);
	ck_assert(res.is_local);
	op.kind = FSOP_PREAD;
	op.fd = dup(res.fd);
	op.offset = 4;
	op.len = 3;
	ck_assert_int_eq(ask(&op, true), 0);
	ck_assert_uint_eq(res.payload.len, 3);
	ck_assert_mem_eq(buf_data(&res.payload), "456", 3);
	op.len = LIMIT_FILE_BLOCK;
	ck_assert_int_eq(ask(&op, false), 0);
	ck_assert_uint_eq(res.payload.len, 6);
	op.offset = INT64_MAX;
	ck_assert_int_eq(ask(&op, true), EINVAL);
	op.kind = FSOP_PWRITE;
	op.data = "x";
	op.len = 1;
	op.offset = 0;
	ck_assert_int_eq(ask(&op, true), EBADF);
	close(op.fd);
	op.kind = FSOP_OPEN;
	op.replace = true;
	ck_assert_int_eq(ask(&op, true), 0);
	op.kind = FSOP_PWRITE;
	op.fd = w = dup(res.fd);
	op.offset = 2;
	ck_assert_int_eq(ask(&op, true), 0);
	op.kind = FSOP_PREAD;
	ck_assert_int_eq(ask(&op, true), EBADF);
	close(w);
	sh("test \"$(od -An -tx1 f)\" = ' 00 00 78'");
}
END_TEST

/* --- writing --- */

static int
do_write(const char *path, const char *text, size_t len, bool nonblock)
{
	struct fsop	 op;

	op_init(&op, FSOP_WRITE, path, NULL);
	op.data = text;
	op.len = len;
	return ask(&op, nonblock);
}

/* Who has it open sees the old content: that is how a replaced one is told. */
static bool
is_replaced(const char *path, bool nonblock)
{
	struct stat	 old, now;
	char		 full[2048];
	int		 fd, rv;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	ck_assert_int_ne(fd = open(full, O_RDONLY | O_CLOEXEC), -1);
	rv = do_write(path, "new", 3, nonblock);
	ck_assert_int_eq(rv, 0);
	ck_assert_int_eq(fstat(fd, &old), 0);
	ck_assert_int_eq(stat(full, &now), 0);
	close(fd);
	has_text(path, "new");
	ck_assert_uint_eq(now.st_mode, old.st_mode);
	ck_assert_uint_eq(now.st_gid, old.st_gid);
	ck_assert_uint_eq(now.st_uid, old.st_uid);
	sh("! ls -A . | grep -q execsrv");
	return old.st_ino != now.st_ino;
}

/* Loop index: nonblocking or not. */
START_TEST(test_replaced)
{
	sh("printf 'long old content' > f; chmod 0640 f; cp -p f x;"
	    "chmod 0755 x; cp f p; chmod 0600 p; ln -s f fl");
	ck_assert(is_replaced("f", _i != 0));
	ck_assert(is_replaced("x", _i != 0));
	ck_assert(is_replaced("p", _i != 0));
	ck_assert(is_replaced("fl", _i != 0));
	sh("test -L fl; test -f fl");
}
END_TEST

/* The old one is not open for writing, so that it could not be run, by then. */
START_TEST(test_replaced_at_rest)
{
	_Alignas(struct inotify_event) char	 room[4096];
	const struct inotify_event		*e;
	bool					 closed = false, made = false;
	ssize_t					 n, off;
	int					 fd;

	sh("printf 'long old content' > f");
	ck_assert_int_ne(fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), -1);
	ck_assert_int_ne(inotify_add_watch(fd, base, IN_CLOSE_WRITE |
	    IN_CREATE), -1);
	ck_assert(is_replaced("f", _i != 0));
	ck_assert_int_gt(n = read(fd, room, sizeof(room)), 0);
	for (off = 0; off < n; off += (ssize_t)(sizeof(*e) + e->len)) {
		e = (const struct inotify_event *)(room + off);
		if ((e->mask & IN_CREATE) != 0)
			made = true;
		else if (strcmp(e->name, "f") == 0)
			closed = !made;
	}
	ck_assert(made);
	ck_assert(closed);
	close(fd);
}
END_TEST

/* A file that takes the name meanwhile stays: it was not to be replaced. */
START_TEST(test_overtaken)
{
	sh("printf 'long old content' > f; printf other > o");
	is_overtaken = true;
	ck_assert_int_eq(do_write("f", "new", 3, _i != 0), 0);
	ck_assert(!is_overtaken);
	has_text("f", "other");
	sh("! ls -A . | grep -q execsrv");
}
END_TEST

START_TEST(test_in_place)
{
	char	 full[2048];

	sh("printf 'long old content' > h; ln h i; cp h suid; chmod 4755 suid;"
	    "cp h sgid; chmod 2755 sgid; cp h attr");
	ck_assert(!is_replaced("h", _i != 0));
	has_text("i", "new");
	ck_assert(!is_replaced("sgid", _i != 0) || geteuid() != 0);
	snprintf(full, sizeof(full), "%s/attr", base);
	if (setxattr(full, "user.note", "x", 1, 0) == 0) {
		ck_assert(!is_replaced("attr", _i != 0));
		ck_assert_int_eq(getxattr(full, "user.note", NULL, 0), 1);
	} else {
		ck_assert_int_eq(errno, EOPNOTSUPP);
	}
	if (geteuid() == 0) {
		/* Another's, and where a new one may not be made. */
		sh("cp h other; chown 65534:65534 other; chmod 0666 other");
		ck_assert(!is_replaced("other", _i != 0));
	}
}
END_TEST

/* A list that the folder gives to new files must not reach an old one. */
START_TEST(test_inherited_list)
{
	/* version 2; user::rw-, user:12345:rw-, group::r--, mask, other */
	static const unsigned char acl[] = {
		2, 0, 0, 0,
		1, 0, 6, 0, 255, 255, 255, 255,
		2, 0, 6, 0, 0x39, 0x30, 0, 0,
		4, 0, 4, 0, 255, 255, 255, 255,
		16, 0, 6, 0, 255, 255, 255, 255,
		32, 0, 4, 0, 255, 255, 255, 255
	};
	char	 dir[2048], file[2100];

	sh("mkdir d; printf old > d/f; chmod 0660 d/f");
	snprintf(dir, sizeof(dir), "%s/d", base);
	snprintf(file, sizeof(file), "%s/f", dir);
	if (setxattr(dir, "system.posix_acl_default", acl, sizeof(acl), 0)
	    == -1) {
		ck_assert_int_eq(errno, EOPNOTSUPP);
		left_out("no ACLs on this file system");
		return;
	}
	ck_assert(!is_replaced("d/f", _i != 0));
	ck_assert_int_eq(getxattr(file, "system.posix_acl_access", NULL, 0),
	    -1);
}
END_TEST

static int
not_for_writing(void)
{
	NEED(do_write("ro", "new", 3, true) == EACCES);
	NEED(do_write("ro", "new", 3, false) == EACCES);
	NEED(do_write("rodir/f", "new", 3, true) == 0);
	NEED(do_write("rodir/new", "new", 3, true) == EACCES);
	return 0;
}

START_TEST(test_permissions)
{
	sh("printf old > ro; chmod 0444 ro; mkdir rodir; printf old > rodir/f;"
	    "if test $(id -u) = 0; then chown 65534:65534 ro rodir rodir/f;"
	    "fi; chmod 0555 rodir");
	ck_assert_int_eq(as_user(not_for_writing), 0);
	has_text("ro", "old");
	has_text("rodir/f", "new");
	sh("test \"$(ls -A rodir)\" = f");
}
END_TEST

START_TEST(test_modes_of_new)
{
	umask(027);
	ck_assert_int_eq(do_write("a", "x", 1, _i != 0), 0);
	umask(0);
	ck_assert_int_eq(do_write("b", "", 0, _i != 0), 0);
	umask(022);
	sh("test $(stat -c %%a a) = 640; test $(stat -c %%a b) = 666;"
	    "test $(stat -c %%h a) = 1; ! test -s b");
}
END_TEST

/* A long one, and one that is long already, are not for the worker. */
START_TEST(test_long)
{
	char	*data;

	ck_assert_ptr_nonnull(data = calloc(1, LIMIT_FILE_QUICK + 1));
	sh("printf old > f; fallocate -l 65M full || head -c 65M /dev/zero"
	    " > full; ln full hard");
	ck_assert_int_eq(do_write("f", data, LIMIT_FILE_QUICK, true), 0);
	ck_assert_int_eq(do_write("f", "old", 3, true), 0);
	ck_assert_int_eq(do_write("f", data, LIMIT_FILE_QUICK + 1, true),
	    EAGAIN);
	has_text("f", "old");
	ck_assert_int_eq(do_write("f", data, LIMIT_FILE_QUICK + 1, false), 0);
	ck_assert_int_eq(do_write("full", "x", 1, true), EAGAIN);
	sh("test $(stat -c %%s full) = 68157440");
	ck_assert_int_eq(do_write("full", "x", 1, false), 0);
	has_text("hard", "x");
	sh("fallocate -l 65M full || head -c 65M /dev/zero > full");
	{
		struct fsop	 op;

		op_init(&op, FSOP_OPEN, "full", NULL);
		op.replace = true;
		ck_assert_int_eq(ask(&op, true), EAGAIN);
		sh("test $(stat -c %%s full) = 68157440");
		ck_assert_int_eq(ask(&op, false), 0);
	}
	free(data);
}
END_TEST

/* With nofollow a link that comes and goes leads nowhere. */
START_TEST(test_swapped_link)
{
	struct fsop	 op;
	int		 i, rv, fd, done = 0, refused = 0;
	pid_t		 pid;

	sh("mkdir in out; printf canary > out/f; printf old > in/f;"
	    "ln -s ../out/f link");
	set_swapped("in/f", "link");
	sh("ln -sf %s/out/f link", base);
	pid = again_and_again(swap, &fd);
	op_init(&op, FSOP_WRITE, "in/f", NULL);
	op.nofollow = true;
	op.data = "new";
	op.len = 3;
	for (i = 0; i < 20000 && (done < 50 || refused < 50); i++) {
		rv = ask(&op, (i & 1) != 0);
		ck_assert_msg(rv == 0 || rv == ELOOP || rv == ENOENT ||
		    rv == EEXIST || rv == EAGAIN, "%d", rv);
		done += rv == 0;
		refused += rv == ELOOP;
	}
	enough(pid, fd);
	ck_assert_int_gt(done, 0);
	ck_assert_int_gt(refused, 0);
	has_text("out/f", "canary");
}
END_TEST

/* --- the others --- */

START_TEST(test_stat)
{
	struct fsop	 op;

	sh("printf hello > f; touch -d @-5.25 f; ln -s f fl; mkdir d;"
	    "ln -s d dl; mkfifo p");
	op_init(&op, FSOP_STAT, "fl", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	ck_assert(res.is_file && res.is_symlink && !res.is_dir);
	ck_assert_uint_eq(res.size, 5);
	ck_assert_int_eq(res.modified_ms, -5250);
	op_init(&op, FSOP_STAT, "dl", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	ck_assert(!res.is_file && res.is_symlink && res.is_dir);
	op_init(&op, FSOP_STAT, "p", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	ck_assert(!res.is_file && !res.is_symlink && !res.is_dir);
}
END_TEST

START_TEST(test_canon)
{
	struct fsop	 op;
	char		 want[2048];
	int		 n;

	sh("mkdir -p d/e; ln -s d dl; ln -s dl/e l");
	op_init(&op, FSOP_CANON, "l", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	n = snprintf(want, sizeof(want), "%s/d/e", base);
	ck_assert_uint_eq(res.payload.len, (size_t)n);
	ck_assert_mem_eq(buf_data(&res.payload), want, (size_t)n);
}
END_TEST

START_TEST(test_list)
{
	struct fsop		 op;
	struct fsop_record	 rec;
	const char		*name, *text;
	size_t			 off = 0, n = 0;

	sh("mkdir d; cd d; touch f \"$(printf 'n\\nl\\377')\"; mkdir s;"
	    "ln -s f fl; ln -s s sl; ln -s nowhere no; mkfifo p");
	op_init(&op, FSOP_LIST, "d", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	while (fsop_next_record(&res.payload, &off, &rec, &name, &text)) {
		ck_assert_ptr_null(text);
		ck_assert_int_eq(rec.type, name[0] == 's' ? FSOP_REC_DIR :
		    name[0] == 'p' ? FSOP_REC_OTHER : FSOP_REC_FILE);
		n++;
	}
	ck_assert_uint_eq(n, 6);
	ck_assert_uint_eq(off, res.payload.len);
	sh("cd d; seq 1993 | xargs touch");
	ck_assert_int_eq(ask(&op, true), 0);
	sh("touch d/one d/two");
	ck_assert_int_eq(ask(&op, true), EAGAIN);
	ck_assert_int_eq(ask(&op, false), 0);
}
END_TEST

START_TEST(test_mkdir_modes)
{
	struct fsop	 op;

	umask(027);
	op_init(&op, FSOP_MKDIR, "a/b/c", NULL);
	ck_assert_int_eq(ask(&op, _i != 0), 0);
	umask(022);
	sh("test $(stat -c %%a a/b) = 750; test $(stat -c %%a a/b/c) = 750");
}
END_TEST

START_TEST(test_records)
{
	struct fsop_record	 rec;
	struct buf		 b;
	const char		*name, *text;
	char			 big[70000];
	size_t			 off, cut;

	memset(big, 'x', sizeof(big));
	buf_init(&b, 100);
	ck_assert_int_eq(fsop_put_record(&b, FSOP_REC_DIR, big, 65536, NULL),
	    -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	ck_assert_int_eq(fsop_put_record(&b, FSOP_REC_DIR, big, 200, NULL),
	    -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_int_eq(fsop_put_record(&b, FSOP_REC_ERROR, "name", 4, "why"),
	    0);
	/* Whatever is cut off is no record. */
	cut = b.len;
	for (b.len = 0; b.len < cut; b.len++) {
		off = 0;
		ck_assert(!fsop_next_record(&b, &off, &rec, &name, &text));
		ck_assert_uint_eq(off, 0);
	}
	off = 0;
	ck_assert(fsop_next_record(&b, &off, &rec, &name, &text));
	ck_assert_mem_eq(name, "name", 4);
	ck_assert_mem_eq(text, "why", 3);
	ck_assert(!fsop_next_record(&b, &off, &rec, &name, &text));
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fsop");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_rows, 0, 2 * (int)NROWS(rows));
	tcase_add_test(t, test_read);
	tcase_add_test(t, test_held);
	tcase_add_loop_test(t, test_mounted, 0, 2);
	tcase_add_test(t, test_read_opened);
	tcase_add_test(t, test_blocks);
	tcase_add_loop_test(t, test_replaced, 0, 2);
	tcase_add_loop_test(t, test_replaced_at_rest, 0, 2);
	tcase_add_loop_test(t, test_overtaken, 0, 2);
	tcase_add_loop_test(t, test_in_place, 0, 2);
	tcase_add_loop_test(t, test_inherited_list, 0, 2);
	tcase_add_test(t, test_permissions);
	tcase_add_loop_test(t, test_modes_of_new, 0, 2);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_swapped_link);
	tcase_add_loop_test(t, test_stat, 0, 2);
	tcase_add_loop_test(t, test_canon, 0, 2);
	tcase_add_loop_test(t, test_list, 0, 2);
	tcase_add_loop_test(t, test_mkdir_modes, 0, 2);
	tcase_add_test(t, test_records);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
