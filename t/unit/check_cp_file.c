/*
 * master/execsrvctl/cp/cp_file.c: a transfer, where it goes on after a lost
 * connection and where it does not, and signals.  The server is ours: a step
 * each time that it is waited for.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"
#include "t/unit/did_help.h"
#include "t/unit/scratch_help.h"

#define T	((struct execsrv_transfer *)8)

typedef void step_fn(void);

static struct cp_options	 o;
static struct cp		 c;
static struct cp_copy		 f;
static struct cp_there		 was, is;
static struct execsrv_error	 e, why, lost, refused;
static const struct execsrv_transfer_hooks *hooks;
static void			*arg;
static step_fn *const		*step;
static bool			 is_sent;
static enum execsrv_status	 state;
static int			 looks, wait_result;
static char			 top[SCRATCH_SIZE], path[80];

/* --- in the place of others --- */

static struct execsrv_transfer *
begin(const char *what, const struct execsrv_file *in,
    const struct execsrv_transfer_hooks *of, void *of_arg)
{
	did("%s %s from %llu mode %o", what, in->path,
	    (unsigned long long)in->offset, (unsigned)in->mode);
	hooks = of;
	arg = of_arg;
	errno = ENOMEM;
	return is_sent ? T : NULL;
}

struct execsrv_transfer *
execsrv_file_read(struct execsrv *x, const struct execsrv_file *in,
    const struct execsrv_transfer_hooks *of, void *of_arg)
{
	ck_assert_ptr_eq(x, c.x);
	return begin("read", in, of, of_arg);
}

struct execsrv_transfer *
execsrv_file_write(struct execsrv *x, const struct execsrv_file *in,
    const struct execsrv_transfer_hooks *of, void *of_arg)
{
	ck_assert_ptr_eq(x, c.x);
	return begin("write", in, of, of_arg);
}

void
execsrv_transfer_free(struct execsrv_transfer **tp)
{
	ck_assert_ptr_eq(*tp, T);
	did("free");
	*tp = NULL;
}

int
execsrv_wait(struct execsrv *x, int ms)
{
	ck_assert(x == c.x && ms == 200);
	ck_assert_ptr_nonnull(*step);
	(*step++)();
	return wait_result;
}

const struct execsrv_error *
execsrv_why(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, c.x);
	return &why;
}

enum execsrv_status
execsrv_status(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, c.x);
	return state;
}

int
cp_look(struct cp *of, const char *name, struct cp_there *t,
    struct execsrv_error *error)
{
	ck_assert(of == &c && error != NULL);
	did("look %s", name);
	*t = is;
	return looks;
}

void
cp_show(struct cp *of, const char *name, uint64_t bytes, uint64_t total)
{
	ck_assert_ptr_eq(of, &c);
	did("%s %llu/%llu", name, (unsigned long long)bytes,
	    (unsigned long long)total);
}

void
cp_shown(struct cp *of, const char *name, uint64_t bytes, uint64_t total)
{
	ck_assert_ptr_eq(of, &c);
	did("whole %s %llu/%llu", name, (unsigned long long)bytes,
	    (unsigned long long)total);
}

void
cp_complain(struct cp *of, const char *name, const char *fmt, ...)
{
	char	 text[100];
	va_list	 ap;

	ck_assert_ptr_eq(of, &c);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	did("%s: %s", name, text);
}

/* --- steps --- */

static uint64_t	 written;	/* what the server says of it */

static void
abc(void)
{
	hooks->on_data(arg, "abc", 3);
}

static void
done(void)
{
	hooks->on_done(arg, written, NULL);
}

static void
is_lost(void)
{
	hooks->on_done(arg, written, &lost);
}

static void
is_refused(void)
{
	hooks->on_done(arg, written, &refused);
}

static void
abc_lost(void)
{
	abc();
	is_lost();
}

/* What is sent, up to 4 bytes. */
static void
take(void)
{
	char	 data[4];
	ssize_t	 n = hooks->on_room(arg, data, sizeof(data));

	if (n == -1)
		did("errno %d", errno);
	else
		did("<%.*s>", (int)n, data);
}

static void
take_lost(void)
{
	take();
	is_lost();
}

static void
term_take(void)
{
	raise(SIGTERM);
	take();
}

/* --- a file --- */

static void
setup(void)
{
	scratch_make(top, "cp_file");
	snprintf(path, sizeof(path), "%s/f", top);
	memset(&o, 0, sizeof(o));
	memset(&c, 0, sizeof(c));
	memset(&f, 0, sizeof(f));
	memset(&was, 0, sizeof(was));
	c.o = &o;
	c.x = (struct execsrv *)16;
	c.can_update = true;
	f.here = "here";
	f.there = "there";
	f.mode = 0640;
	f.was = &was;
	ck_assert_int_ne(f.fd = open(path, O_RDWR | O_CREAT, 0600), -1);
	was.size = 6;
	was.mtime_ns = 7;
	was.has_mode = true;
	is = was;
	memset(&lost, 0, sizeof(lost));
	refused = lost;
	strcpy(lost.text, "lost");
	strcpy(refused.text, "refused");
	refused.code = -1;
	strcpy(why.text, "because");
	is_sent = true;
	state = EXECSRV_CONNECTED;
	looks = wait_result = 0;
	written = 0;
	did_forget();
}

static void
teardown(void)
{
	close(f.fd);
	unlink(path);
	ck_assert_int_eq(rmdir(top), 0);
}

static void
ck_transfer(step_fn *const *steps, int result, uint64_t bytes,
    const char *text, const char *what)
{
	uint64_t	 n;

	step = steps;
	strcpy(e.text, "none");
	ck_assert_int_eq(cp_transfer(&c, &f, &n, &e), result);
	ck_assert_uint_eq(n, bytes);
	ck_assert_str_eq(e.text, text);
	ck_assert_ptr_null(*step);
	ck_did(what);
}

#define TRANSFER(result, bytes, text, what, ...) ck_transfer( \
	(step_fn *const []){ __VA_ARGS__, NULL }, result, bytes, text, what)

static void
ck_file(const char *want)
{
	char	 text[100];
	ssize_t	 n = pread(f.fd, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_str_eq(text, want);
	ck_assert_int_eq(ftruncate(f.fd, 0), 0);
	ck_assert_int_eq(lseek(f.fd, 0, SEEK_SET), 0);
}

#define READ(n)		"read there from " #n " mode 640"

START_TEST(test_download)
{
	f.total = 6;
	TRANSFER(0, 6, "none", READ(0) "; there 3/6; there 6/6; there 6/6; "
	    "free; whole there 6/6", abc, abc, done);
	ck_file("abcabc");
	f.offset = 5;
	TRANSFER(0, 8, "none", READ(5) "; there 8/6; there 8/6; free; "
	    "whole there 8/6", abc, done);
}
END_TEST

START_TEST(test_refused)
{
	TRANSFER(-1, 3, "refused", READ(0) "; there 3/0; there 3/0; free", abc,
	    is_refused);
	is_sent = false;
	TRANSFER(-1, 0, "Cannot allocate memory", READ(0), NULL);
	is_sent = true;
	wait_result = -1;
	TRANSFER(-1, 3, "because", READ(0) "; free", abc);
	wait_result = 0;
	state = EXECSRV_FAILED;
	TRANSFER(-1, 0, "lost", READ(0) "; there 0/0; free", is_lost);
}
END_TEST

/* Nothing came, so nothing can be wrong; five times. */
START_TEST(test_tries)
{
	TRANSFER(-1, 0, "lost", READ(0) "; there 0/0; free; " READ(0)
	    "; there 0/0; free; " READ(0) "; there 0/0; free; " READ(0)
	    "; there 0/0; free; " READ(0) "; there 0/0; free", is_lost,
	    is_lost, is_lost, is_lost, is_lost);
	/* From the last byte that came. */
	TRANSFER(-1, 3, "lost", READ(0) "; there 0/0; free; " READ(0)
	    "; there 3/0; free; look there; " READ(3)
	    "; there 3/0; free; look there; " READ(3)
	    "; there 3/0; free; look there; " READ(3)
	    "; there 3/0; free; look there; " READ(3)
	    "; there 3/0; free", is_lost, abc_lost, is_lost, is_lost, is_lost,
	    is_lost);
	ck_file("abc");
}
END_TEST

#define AGAIN	READ(0) "; there 3/0; free; look there; " READ(0) \
		"; there 3/0; there 3/0; free; whole there 3/0"

/* What has changed is copied anew, or not at all. */
START_TEST(test_changed)
{
	TRANSFER(0, 6, "none", READ(0) "; there 3/0; free; look there; "
	    READ(3) "; there 6/0; there 6/0; free; whole there 6/0", abc_lost,
	    abc, done);
	ck_file("abcabc");
	is.size++;
	TRANSFER(0, 3, "none", AGAIN, abc_lost, abc, done);
	ck_file("abc");
	is = was;
	is.mtime_ns++;
	TRANSFER(0, 3, "none", AGAIN, abc_lost, abc, done);
	ck_file("abc");
	is = was;
	is.has_mode = false;
	TRANSFER(0, 3, "none", AGAIN, abc_lost, abc, done);
	ck_file("abc");
	is = was;
	looks = -1;
	TRANSFER(0, 3, "none", AGAIN, abc_lost, abc, done);
	ck_file("abc");
	/* From where it stood at the beginning. */
	ck_assert_int_eq(write(f.fd, "0123", 4), 4);
	ck_assert_int_eq(lseek(f.fd, 1, SEEK_SET), 1);
	TRANSFER(0, 3, "none", AGAIN, abc_lost, abc, done);
	ck_file("0abc");
	f.offset = 1;
	TRANSFER(-1, 4, "it has changed since the connection was lost",
	    READ(1) "; there 4/0; free; look there", abc_lost);
	ck_file("abc");
	TRANSFER(-1, 1, "it has changed since the connection was lost",
	    READ(1) "; there 1/0; free; look there", is_lost);
}
END_TEST

static void
to_pipe(int fd[2], int end)
{
	ck_assert_int_eq(pipe(fd), 0);
	close(f.fd);
	f.fd = fd[end];
}

START_TEST(test_broken_here)
{
	int	 fd[2];

	close(f.fd);
	ck_assert_int_ne(f.fd = open("/dev/full", O_WRONLY), -1);
	TRANSFER(-1, 0, "", READ(0) "; there 0/0; free; here: No space left on "
	    "device", abc_lost);
	to_pipe(fd, 1);
	is.size++;
	TRANSFER(-1, 3, "it has changed since the connection was lost",
	    READ(0) "; there 3/0; free; look there", abc_lost);
	ck_assert(!c.is_unread);
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	TRANSFER(-1, 0, "", READ(0) "; there 0/0; free", abc);
	ck_assert(c.is_unread);
}
END_TEST

/* --- to a server --- */

#define WRITE(n)	"write there from " #n " mode 640"
#define HERE(n)		"; here " #n "/0"

static void
begin_upload(const char *text)
{
	o.is_upload = true;
	ck_assert_int_eq(pwrite(f.fd, text, strlen(text), 0), strlen(text));
}

static void
grow(void)
{
	is_lost();
	ck_assert_int_eq(pwrite(f.fd, "x", 1, 7), 1);
}

START_TEST(test_upload)
{
	begin_upload("0123456");
	written = 7;
	TRANSFER(0, 7, "none", WRITE(0) "; <0123>" HERE(4) "; <456>" HERE(7)
	    "; <>" HERE(7) HERE(7) "; free; whole here 7/0", take, take, take,
	    done);
	/* It goes on behind what is there for sure. */
	written = 2;
	ck_assert_int_eq(lseek(f.fd, 1, SEEK_SET), 1);
	f.offset = 1;
	TRANSFER(0, 7, "none", WRITE(1) "; <1234>" HERE(5) "; free; " WRITE(3)
	    "; <3456>" HERE(7) HERE(7) "; free; whole here 7/0", take_lost,
	    take, done);
	/* Nobody can write behind it. */
	c.can_update = false;
	TRANSFER(-1, 1, "lost", WRITE(1) HERE(1) "; free", is_lost);
	f.offset = 0;
	ck_assert_int_eq(lseek(f.fd, 0, SEEK_SET), 0);
	TRANSFER(0, 4, "none", WRITE(0) "; <0123>" HERE(4) "; free; " WRITE(0)
	    "; <0123>" HERE(4) HERE(4) "; free; whole here 4/0", take_lost,
	    take, done);
}
END_TEST

START_TEST(test_upload_changed)
{
	begin_upload("0123456");
	written = 2;
	TRANSFER(0, 4, "none", WRITE(0) HERE(0) "; free; " WRITE(0)
	    "; <0123>" HERE(4) HERE(4) "; free; whole here 4/0", grow, take,
	    done);
	f.offset = 1;
	TRANSFER(-1, 1, "lost", WRITE(1) HERE(1) "; free", grow);
	close(f.fd);
	f.offset = 0;
	ck_assert_int_ne(f.fd = open("/", O_RDONLY), -1);
	TRANSFER(-1, 0, "", WRITE(0) "; errno 21" HERE(0) "; free; here: "
	    "Is a directory", take);
}
END_TEST

/* Of a pipe what was read is kept. */
START_TEST(test_upload_pipe)
{
	int	 fd[2];

	o.is_upload = true;
	to_pipe(fd, 0);
	ck_assert_int_eq(write(fd[1], "0123456", 7), 7);
	close(fd[1]);
	written = 1;
	TRANSFER(0, 7, "none", WRITE(0) "; <0123>" HERE(4) "; free; " WRITE(1)
	    "; <123>" HERE(4) "; <456>" HERE(7) HERE(7) "; free; "
	    "whole here 7/0", take_lost, take, take, done);
	c.can_update = false;
	TRANSFER(-1, 0, "lost", WRITE(0) HERE(0) "; free", is_lost);
	/* Nothing is there yet. */
	written = 0;
	to_pipe(fd, 0);
	ck_assert_int_eq(write(fd[1], "01", 2), 2);
	TRANSFER(-1, 2, "lost", WRITE(0) "; <01>" HERE(2) "; free", take_lost);
	close(fd[1]);
	TRANSFER(0, 0, "none", WRITE(0) HERE(0) "; free; " WRITE(0) "; <>"
	    HERE(0) HERE(0) "; free; whole here 0/0", is_lost, take, done);
}
END_TEST

/* --- names and signals --- */

START_TEST(test_unfinished)
{
	char	 name[PATH_MAX], second[PATH_MAX], longest[PATH_MAX];
	int	 fd;

	ck_assert_int_ne(fd = cp_unfinished_here(path, name), -1);
	ck_assert(cp_is_unfinished_here());
	ck_assert_int_eq(strncmp(name, path, strlen(path)), 0);
	ck_assert_uint_eq(strlen(name), strlen(path) + 7);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(unlink(name), 0);
	cp_finished_here();
	ck_assert(!cp_is_unfinished_here());
	close(fd);
	memset(longest, 'a', sizeof(longest));
	longest[PATH_MAX - 8] = '\0';
	ck_assert_int_eq(cp_unfinished_here(longest, second), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	ck_assert_uint_eq(strlen(second), PATH_MAX - 1);
	longest[PATH_MAX - 8] = 'a';
	longest[PATH_MAX - 7] = '\0';
	ck_assert_int_eq(cp_unfinished_here(longest, second), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	ck_assert_int_eq(cp_unfinished_here("/no/such", second), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert(!cp_is_unfinished_here());
}
END_TEST

/* Its exit status is 1 if a name was not there when it should be. */
static void
be_killed(int out)
{
	char	 name[PATH_MAX];

	signal(SIGHUP, SIG_IGN);
	cp_catch();
	if (cp_unfinished_here(path, name) == -1 ||
	    write(out, name, sizeof(name)) != (ssize_t)sizeof(name))
		_exit(2);
	raise(SIGHUP);
	if (access(name, F_OK) == 0)
		raise(SIGINT);
	_exit(1);
}

/* A signal that is not ignored removes the name, then ends us. */
START_TEST(test_signal)
{
	char	 name[PATH_MAX];
	int	 fd[2], status;
	pid_t	 pid;

	ck_assert_int_eq(pipe(fd), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0)
		be_killed(fd[1]);
	ck_assert_int_eq(read(fd[0], name, sizeof(name)), sizeof(name));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	ck_assert_int_eq(access(name, F_OK), -1);
}
END_TEST

/* With a name there it stops what is under way, which ends us then. */
START_TEST(test_signal_there)
{
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(top), 0);
	cp_catch();
	cp_heed();
	cp_unfinished_there(true);
	begin_upload("0123");
	TRANSFER(-1, 0, "", WRITE(0) "; errno 4" HERE(0) "; free; here: "
	    "Interrupted system call", term_take);
	o.is_upload = false;
	TRANSFER(-1, 0, "because", READ(0) "; free", NULL);
	cp_heed();
	ck_abort();
}
END_TEST

/* The second one does not wait. */
START_TEST(test_signal_twice)
{
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(top), 0);
	cp_catch();
	cp_unfinished_there(true);
	raise(SIGHUP);
	raise(SIGINT);
	ck_abort();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("cp_file");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_download);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_tries);
	tcase_add_test(tc, test_changed);
	tcase_add_test(tc, test_broken_here);
	tcase_add_test(tc, test_upload);
	tcase_add_test(tc, test_upload_changed);
	tcase_add_test(tc, test_upload_pipe);
	tcase_add_test(tc, test_unfinished);
	tcase_add_test(tc, test_signal);
	tcase_add_test_raise_signal(tc, test_signal_there, SIGTERM);
	tcase_add_test_raise_signal(tc, test_signal_twice, SIGINT);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
