/*
 * master/execsrvctl/cp/cp_down.c: what becomes of each kind of file there, of
 * what is here already, and every reason not to copy.  The server is ours.
 */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"
#include "t/unit/did_help.h"
#include "t/unit/scratch_help.h"

static struct cp_options	 o;
static struct cp		 c;
static struct cp_there		 t, inner;	/* of "s", in it */
static struct execsrv_error	 why;
static struct execsrv_entry	 entries[3];
static struct execsrv_directory	 folder;
static char			 top[SCRATCH_SIZE], here[80];
static bool			 is_unknown, is_listed, is_read, is_same,
				 is_made, has_ahead, has_part, is_open,
				 is_gone;
static int			 transferred, stream;

/* --- in the place of the rest --- */

void
cp_complain(struct cp *of, const char *name, const char *fmt, ...)
{
	char	 text[200];
	va_list	 ap;

	ck_assert_ptr_eq(of, &c);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	did("%s: %s", strncmp(name, top, strlen(top)) == 0 ?
	    name + strlen(top) : name, text);
}

int
cp_join(struct cp *of, char out[PATH_MAX], const char *where,
    const char *name)
{
	ck_assert_ptr_eq(of, &c);
	if (strcmp(name, "long") == 0)
		return -1;
	return snprintf(out, PATH_MAX, "%s/%s", where, name) > 0 ? 0 : -1;
}

int
cp_stat(const struct cp *of, const char *name, struct stat *st)
{
	return of->depth > 0 ? lstat(name, st) : stat(name, st);
}

void
cp_made(struct cp *of, const char *name)
{
	struct stat	 st;

	ck_assert(of == &c && strncmp(name, top, strlen(top)) == 0);
	/* Whatever its mode there, it can be filled. */
	ck_assert_int_eq(stat(name, &st), 0);
	ck_assert_int_eq(st.st_mode & 0700, 0700);
	did("made %s", name + strlen(top));
}

bool
cp_is_made(struct cp *of, const char *name)
{
	ck_assert(of == &c && name != NULL);
	return is_made;
}

int
cp_look(struct cp *of, const char *name, struct cp_there *out,
    struct execsrv_error *e)
{
	ck_assert_ptr_eq(of, &c);
	did("look %s", name);
	*out = strcmp(name, "s") == 0 ? t : inner;
	*e = why;
	return is_unknown || (strcmp(name, "s") != 0 && is_gone) ? -1 : 0;
}

struct cp_ahead *
cp_ahead_new(struct cp *of, const char *there, const char *to,
    const struct execsrv_directory *d)
{
	ck_assert(of == &c && of->has_attributes && to != NULL && d != NULL);
	did("ahead %s", there);
	return has_ahead ? (struct cp_ahead *)8 : NULL;
}

void
cp_ahead_free(struct cp_ahead **ap)
{
	ck_assert((*ap != NULL) == (has_ahead && c.has_attributes));
	*ap = NULL;
}

int
cp_ahead_look(struct cp_ahead *a, size_t i, const char *name,
    struct cp_there *out, struct execsrv_error *e)
{
	ck_assert_ptr_eq(a, (struct cp_ahead *)8);
	did("ahead look %zu", i);
	return cp_look(&c, name, out, e);
}

bool
cp_is_same(const struct cp *of, const struct stat *st,
    const struct cp_there *there)
{
	ck_assert(of == &c && st->st_ino != 0 && there->is_file);
	return is_same;
}

void
cp_shown(struct cp *of, const char *name, uint64_t bytes, uint64_t total)
{
	ck_assert(of == &c && bytes == total);
	did("shown %s %llu", name, (unsigned long long)bytes);
}

int
cp_transfer(struct cp *of, const struct cp_copy *f, uint64_t *bytes_out,
    struct execsrv_error *e)
{
	ck_assert(of == &c && bytes_out == NULL && f->mode == 0);
	did("transfer %s from %llu of %llu", f->there,
	    (unsigned long long)f->offset, (unsigned long long)f->total);
	stream = f->fd;
	*e = why;
	return transferred;
}

int
cp_part_here(struct cp *of, const char *there, const char *to, uint64_t size,
    char name[PATH_MAX], uint64_t *offset_out)
{
	ck_assert(of == &c && size == t.size);
	did("part %s", there);
	if (!has_part)
		return -1;
	*offset_out = 5;
	snprintf(name, PATH_MAX, "%s.part", to);
	return open(name, O_RDWR | O_CREAT, 0600);
}

int
cp_unfinished_here(const char *path, char name[PATH_MAX])
{
	errno = ENOSPC;
	snprintf(name, PATH_MAX, "%.100s.new", path);
	is_open = is_read;
	return is_read ? open(name, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
}

void
cp_finished_here(void)
{
	is_open = false;
	did("finished");
}

bool
cp_is_unfinished_here(void)
{
	return is_open;
}

static struct execsrv_directory *
listed(const char *what, const char *path, struct execsrv_error *e)
{
	struct execsrv_directory	*d;

	did("%s %s", what, path);
	*e = why;
	if (!is_listed)
		return NULL;
	ck_assert_ptr_nonnull(d = malloc(sizeof(*d)));
	*d = folder;
	return d;
}

struct execsrv_directory *
execsrv_fs_list_wait(struct execsrv *x, const struct execsrv_fs_look *in,
    int ms, struct execsrv_error *e)
{
	ck_assert(x == c.x && ms == 60000);
	return listed("list", in->path, e);
}

struct execsrv_directory *
execsrv_fs_directory_wait(struct execsrv *x, const struct execsrv_fs_path *in,
    int ms, struct execsrv_error *e)
{
	ck_assert(x == c.x && ms == 60000);
	return listed("names", in->path, e);
}

struct execsrv_content *
execsrv_fs_read_file_wait(struct execsrv *x, const struct execsrv_fs_path *in,
    int ms, struct execsrv_error *e)
{
	struct execsrv_content	*r;

	ck_assert(x == c.x && ms == 60000);
	did("read %s", in->path);
	if (transferred == -1) {
		*e = why;
		return NULL;
	}
	ck_assert_ptr_nonnull(r = calloc(1, sizeof(*r)));
	r->bytes.data = "abc";
	r->bytes.len = 3;
	return r;
}

/* --- a file --- */

static void
setup(void)
{
	scratch_make(top, "cp_down");
	snprintf(here, sizeof(here), "%s/f", top);
	memset(&o, 0, sizeof(o));
	memset(&c, 0, sizeof(c));
	memset(&t, 0, sizeof(t));
	memset(&why, 0, sizeof(why));
	memset(entries, 0, sizeof(entries));
	c.o = &o;
	c.x = (struct execsrv *)16;
	c.mask = 022;
	t.is_file = t.has_mode = true;
	t.mode = 0666;
	t.size = 3;
	t.mtime_ns = -500000000;
	t.atime_ns = 1500000000;
	strcpy(why.text, "because");
	folder.entries = entries;
	folder.nentries = 0;
	inner = t;
	is_gone = is_unknown = is_same = is_made = has_ahead = has_part = false;
	is_listed = is_read = true;
	transferred = 0;
	umask(022);
	did_forget();
}

static void
teardown(void)
{
	char	 command[100];

	snprintf(command, sizeof(command), "rm -r %s", top);
	ck_assert_int_eq(system(command), 0);
}

static void
ck_copy(const char *what)
{
	cp_download(&c, "s", here);
	ck_did(what);
	ck_assert(!is_open);
	ck_assert_uint_eq(c.depth, 0);
}

/* The one here has this content and mode. */
static void
ck_here(const char *want, mode_t mode)
{
	char		 text[100];
	struct stat	 st;
	ssize_t		 n;
	int		 fd;

	ck_assert_int_ne(fd = open(here, O_RDONLY), -1);
	ck_assert_int_ge(n = read(fd, text, sizeof(text) - 1), 0);
	text[n] = '\0';
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, mode);
	ck_assert_int_eq(close(fd), 0);
}

static void
put_here(const char *text, mode_t mode)
{
	int	 fd;

	ck_assert_int_ne(fd = open(here, O_WRONLY | O_CREAT | O_TRUNC, 0600),
	    -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	ck_assert_int_eq(fchmod(fd, mode), 0);
	ck_assert_int_eq(close(fd), 0);
}

static int
entries_here(void)
{
	char	 command[100];
	int	 n = -1;
	FILE	*f;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", top);
	ck_assert_ptr_nonnull(f = popen(command, "r"));
	ck_assert_int_eq(fscanf(f, "%d", &n), 1);
	ck_assert_int_eq(pclose(f), 0);
	return n;
}

#define SMALL_FILE	"look s; read s; shown s 3; finished"

START_TEST(test_file)
{
	struct stat	 st;

	ck_copy(SMALL_FILE);
	ck_here("abc", 0644);
	ck_assert_int_eq(stat(here, &st), 0);
	ck_assert_int_gt(st.st_mtim.tv_sec, 1000);
	/* Its mode is kept. */
	put_here("012345", 0751);
	ck_copy(SMALL_FILE);
	ck_here("abc", 0751);
	o.preserve = true;
	ck_copy(SMALL_FILE);
	ck_assert_int_eq(stat(here, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, -1);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 500000000);
	ck_assert_int_eq(st.st_atim.tv_sec, 1);
	ck_assert_int_eq(st.st_atim.tv_nsec, 500000000);
	ck_here("abc", 0666);
	/* The server told neither. */
	t.has_mode = false;
	ck_copy(SMALL_FILE);
	ck_here("abc", 0666);
	ck_assert_int_eq(unlink(here), 0);
	ck_copy(SMALL_FILE);
	ck_here("abc", 0600);
	ck_assert_int_eq(stat(here, &st), 0);
	ck_assert_int_gt(st.st_mtim.tv_sec, 1000);
}
END_TEST

/* Its content came with it; times come with --continue, too. */
START_TEST(test_ahead)
{
	struct stat	 st;

	t.content = "xyzw";
	o.go_on = true;
	ck_copy("look s; shown s 3; finished");
	ck_here("xyz", 0644);
	ck_assert_int_eq(stat(here, &st), 0);
	ck_assert_int_eq(st.st_mtim.tv_sec, -1);
	is_same = true;
	t.content = "012";
	ck_copy("look s; shown s 3");
	ck_here("xyz", 0644);
}
END_TEST

START_TEST(test_large)
{
	t.size = 1024 * 1024;
	o.go_on = has_part = true;
	ck_copy("look s; read s; shown s 1048576; finished");
	t.size++;
	ck_copy("look s; part s; transfer s from 5 of 1048577; finished");
	has_part = false;
	ck_copy("look s; part s; transfer s from 0 of 1048577; finished");
	o.go_on = false;
	ck_copy("look s; transfer s from 0 of 1048577; finished");
	ck_here("", 0644);
	/* Nothing is left of one that fails, but what another run can use. */
	put_here("012", 0600);
	transferred = -1;
	ck_copy("look s; transfer s from 0 of 1048577; s: because; finished");
	ck_here("012", 0600);
	ck_assert_int_eq(entries_here(), 1);
	why.text[0] = '\0';
	ck_copy("look s; transfer s from 0 of 1048577; finished");
	o.go_on = has_part = true;
	ck_copy("look s; part s; transfer s from 5 of 1048577; finished");
	ck_here("012", 0600);
	ck_assert_int_eq(entries_here(), 2);
	o.go_on = false;
	t.size = 3;
	strcpy(why.text, "because");
	ck_copy("look s; read s; s: because; finished");
	is_read = false;
	ck_copy("look s; /f: No space left on device");
}
END_TEST

START_TEST(test_here)
{
	char	 target[80];

	/* A link that was named stays; in a folder it goes. */
	snprintf(target, sizeof(target), "%s/target", top);
	ck_assert_int_eq(symlink(target, here), 0);
	ck_copy(SMALL_FILE);
	put_here("012", 0600);
	ck_assert_int_eq(unlink(here), 0);
	ck_assert_int_eq(symlink(target, here), 0);
	snprintf(here, sizeof(here), "%s/target", top);
	put_here("012", 0640);
	snprintf(here, sizeof(here), "%s/f", top);
	ck_copy(SMALL_FILE);
	ck_here("abc", 0640);
	ck_assert_int_gt(readlink(here, target, sizeof(target)), 0);
	/* What is no file is written into. */
	snprintf(here, sizeof(here), "/dev/null");
	ck_copy("look s; read s; shown s 3");
	snprintf(here, sizeof(here), "/dev/full");
	ck_copy("look s; read s; /dev/full: No space left on device");
	snprintf(here, sizeof(here), "%s", top);
	ck_copy("look s; : Is a directory");
}
END_TEST

/* --- what is not copied --- */

START_TEST(test_kinds)
{
	t.is_file = false;
	ck_copy("look s; s: neither a file nor a directory");
	t.is_link = true;
	ck_copy("look s; s: a dangling link");
	t.is_link = false;
	t.is_folder = true;
	ck_copy("look s; s: is a directory (use -r)");
	t.is_link = true;
	ck_copy("look s; s: is a directory (use -r)");
	is_unknown = true;
	ck_copy("look s; s: because");
}
END_TEST

static void
ck_out(const char *what)
{
	cp_download_out(&c, "s");
	ck_did(what);
}

START_TEST(test_out)
{
	t.size = 1024 * 1024 + 1;
	ck_out("look s; transfer s from 0 of 1048577");
	ck_assert_int_eq(stream, STDOUT_FILENO);
	t.is_file = false;
	ck_out("look s; s: neither a file nor a directory");
	t.is_link = true;
	ck_out("look s; s: a dangling link");
	t.is_folder = true;
	ck_out("look s; s: is a directory, and \"-\" is one file");
	is_unknown = true;
	ck_out("look s; s: because");
}
END_TEST

/* --- folders --- */

static void
begin_folder(size_t n)
{
	t.is_file = false;
	t.is_folder = o.recursive = true;
	t.mode = 0755;
	folder.nentries = n;
}

static mode_t
mode_here(void)
{
	struct stat	 st;

	ck_assert_int_eq(stat(here, &st), 0);
	return st.st_mode & 07777;
}

START_TEST(test_folder)
{
	begin_folder(0);
	ck_copy("look s; made /f; names s");
	ck_assert_int_eq(mode_here(), 0755);
	c.has_attributes = has_ahead = true;
	t.mode = 0500;
	ck_copy("look s; made /f; list s; ahead s");
	ck_assert_int_eq(mode_here(), 0755);
	o.preserve = true;
	ck_copy("look s; made /f; list s; ahead s");
	ck_assert_int_eq(mode_here(), 0500);
	o.preserve = false;
	ck_assert_int_eq(rmdir(here), 0);
	t.mode = 0533;
	ck_copy("look s; made /f; list s; ahead s");
	ck_assert_int_eq(mode_here(), 0511);
	ck_assert_int_eq(rmdir(here), 0);
	t.has_mode = false;
	ck_copy("look s; made /f; list s; ahead s");
	ck_assert_int_eq(mode_here(), 0700);
	is_listed = false;
	ck_copy("look s; made /f; list s; s: because");
	is_made = true;
	ck_copy("look s");
	is_made = false;
	snprintf(here, sizeof(here), "%s/no/f", top);
	ck_copy("look s; /no/f: No such file or directory");
}
END_TEST

START_TEST(test_names)
{
	static const char	*const bad[] = { "a/b", ".", "..", "" };
	char			 want[100];
	size_t			 i;

	for (i = 0; i < 4; i++) {
		begin_folder(1);
		entries[0].name = bad[i];
		snprintf(want, sizeof(want), "look s; made /f; names s; %s: "
		    "not a name", bad[i]);
		ck_copy(want);
	}
	entries[0].name = "long";
	ck_copy("look s; made /f; names s");
}
END_TEST

#define NOT_UTF8	"its name is not UTF-8, and cannot be asked for: "\
			"copy it by run and tar(1)"
#define ODD		"\xef\xbf\xbd"

/* A folder at depth 63 is the last. */
START_TEST(test_entries)
{
	begin_folder(2);
	c.has_attributes = true;
	entries[0].name = "a" ODD;
	entries[1].name = "a" ODD;
	ck_copy("look s; made /f; list s; ahead s; s/a" ODD ": " NOT_UTF8
	    "; s/a" ODD ": " NOT_UTF8);
	entries[0].name = entries[1].name = "a";
	c.depth = 64;
	cp_download(&c, "s", here);
	ck_did("look s; s: too deep");
	c.depth = 63;
	folder.nentries = 0;
	cp_download(&c, "s", here);
	ck_did("look s; made /f; list s; ahead s");
}
END_TEST

#define OPENED	"look s; made /f; names s; look s/"

/* It is gone by now; or it never had that name. */
START_TEST(test_gone)
{
	begin_folder(1);
	entries[0].name = "a";
	is_gone = true;
	ck_copy(OPENED "a; s/a: because");
	entries[0].name = ODD;
	ck_copy(OPENED ODD "; s/" ODD ": because");
	why.os_error = ENOENT;
	ck_copy(OPENED ODD "; s/" ODD ": " NOT_UTF8);
	entries[0].name = "a";
	ck_copy(OPENED "a; s/a: because");
	is_gone = false;
	entries[0].name = ODD;
	ck_copy(OPENED ODD "; read s/" ODD "; shown s/" ODD " 3; finished");
	entries[0].name = "a";
	c.has_attributes = has_ahead = true;
	ck_copy("look s; made /f; list s; ahead s; ahead look 0; look s/a; "
	    "read s/a; shown s/a 3; finished");
}
END_TEST

/* --- links in a folder --- */

static void
ck_link(const char *what)
{
	c.depth = 1;
	cp_download(&c, "s", here);
	ck_did(what);
}

static void
ck_target(const char *want)
{
	char	 target[100];
	ssize_t	 n = readlink(here, target, sizeof(target));

	ck_assert_int_eq(n, strlen(want));
	ck_assert_mem_eq(target, want, strlen(want));
}

START_TEST(test_link)
{
	t.is_link = true;
	ck_link("look s; s: a link whose target the server does not report");
	strcpy(t.target, "x");
	ck_link("look s");
	ck_target("x");
	strcpy(t.target, "y");
	ck_link("look s; finished");
	ck_target("y");
	is_read = false;
	ck_link("look s; /f: No space left on device");
	is_read = true;
	ck_assert_int_eq(unlink(here), 0);
	put_here("012", 0600);
	ck_link("look s; finished");
	ck_target("y");
	ck_assert_int_eq(entries_here(), 1);
	ck_assert_int_eq(unlink(here), 0);
	ck_assert_int_eq(mkdir(here, 0700), 0);
	ck_link("look s; /f: File exists");
	ck_assert_int_eq(rmdir(here), 0);
	snprintf(here, sizeof(here), "%s/no/f", top);
	ck_link("look s; /no/f: No such file or directory");
}
END_TEST

/* The server may just have made a link: nothing goes through it. */
START_TEST(test_through_link)
{
	char	 target[80];

	snprintf(target, sizeof(target), "%s/target", top);
	ck_assert_int_eq(symlink(target, here), 0);
	ck_link(SMALL_FILE);
	ck_here("abc", 0644);
	ck_assert_int_eq(readlink(here, target, sizeof(target)), -1);
	ck_assert_int_eq(entries_here(), 1);
	ck_assert_int_eq(unlink(here), 0);
	ck_assert_int_eq(mkdir(target, 0700), 0);
	ck_assert_int_eq(symlink(target, here), 0);
	begin_folder(0);
	ck_link("look s; /f: Not a directory");
	/* One that was named is followed. */
	ck_assert_int_eq(c.depth, 1);
	c.depth = 0;
	ck_copy("look s; made /f; names s");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("cp_down");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_file);
	tcase_add_test(tc, test_ahead);
	tcase_add_test(tc, test_large);
	tcase_add_test(tc, test_here);
	tcase_add_test(tc, test_kinds);
	tcase_add_test(tc, test_out);
	tcase_add_test(tc, test_folder);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_entries);
	tcase_add_test(tc, test_gone);
	tcase_add_test(tc, test_link);
	tcase_add_test(tc, test_through_link);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
