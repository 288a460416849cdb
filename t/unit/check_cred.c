/*
 * master/remote/cred.c: where tokens come from, and that they do not stay
 * there.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "master/remote/cred.h"
#include "t/unit/left_out.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define BEARER	"CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN"
#define API_KEY	"CODEX_API_KEY"
#define NOBODY	65534

static struct cred	 c;
static char		 why[128];
static char		 dir[128], path[160];

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/check_cred.XXXXXX", tmp == NULL ?
	    "/tmp" : tmp);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0711), 0);
	snprintf(path, sizeof(path), "%s/file", dir);
	ck_assert_int_ge(sodium_init(), 0);
	memset(&c, 0, sizeof(c));
}

static void
teardown(void)
{
	unlink(path);
	rmdir(dir);
	cred_fini(&c);
	ck_assert_ptr_null(c.token);
	cred_fini(&c);
}

static void
ck_why(const char *part)
{
	ck_assert_ptr_nonnull(memchr(why, '\0', sizeof(why)));
	ck_assert_msg(strstr(why, part) != NULL, "\"%s\", not \"%s\"", why,
	    part);
}

/* --- the environment -------------------------------------------------------*/

/* In memory of ours, as the first environment is in the kernel's. */
static char	 bearer[] = BEARER "=bearer-secret";
static char	 key[] = API_KEY "=key-secret";

static void
ck_wiped(const char *variable, const char *name)
{
	ck_assert_mem_eq(variable, name, strlen(name) + 1);
	ck_assert_ptr_null(strstr(variable, "secret"));
	ck_assert_uint_eq(strlen(variable), strlen(name));
	ck_assert_ptr_null(memmem(variable, sizeof(key), "secret", 6));
}

START_TEST(test_env)
{
	ck_assert_int_eq(putenv(bearer), 0);
	ck_assert_int_eq(putenv(key), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_eq((int)c.source, (int)CRED_BEARER);
	ck_assert_str_eq(c.token, "bearer-secret");
	ck_assert_uint_eq(c.expires, 0);
	ck_assert_ptr_null(getenv(BEARER));
	ck_assert_ptr_null(getenv(API_KEY));
	ck_wiped(bearer, BEARER "=");
	ck_wiped(key, API_KEY "=");
	/* They are gone. */
	cred_fini(&c);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_eq((int)c.source, (int)CRED_NONE);
}
END_TEST

START_TEST(test_env_one)
{
	ck_assert_int_eq(unsetenv(BEARER), 0);
	ck_assert_int_eq(putenv(key), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_eq((int)c.source, (int)CRED_API_KEY);
	ck_assert_str_eq(c.token, "key-secret");
	ck_assert(cred_is_good(&c));
	ck_wiped(key, API_KEY "=");
	cred_fini(&c);

	/* One that is empty is none. */
	ck_assert_int_eq(setenv(BEARER, "", 1), 0);
	ck_assert_int_eq(setenv(API_KEY, "k", 1), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_eq((int)c.source, (int)CRED_API_KEY);
	ck_assert_ptr_null(getenv(BEARER));
	cred_fini(&c);

	ck_assert_int_eq(setenv(API_KEY, "", 1), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_eq((int)c.source, (int)CRED_NONE);
	ck_assert_ptr_null(c.token);
	ck_assert(!cred_is_good(&c));
}
END_TEST

/* What cannot stand in a header; wiped all the same, and so is the other. */
START_TEST(test_env_bad)
{
	static const char *const	 bad[] = {
		" secret", "secret ", "a secret", "secret\n", "secret\r\nX: y",
		"secret\x7f", "\xc3\xa4secret", "\tsecret"
	};
	char				 variable[64];
	int				 i, n;

	for (i = 0; i < N(bad); i++) {
		n = snprintf(variable, sizeof(variable), "%s=%s", i % 2 == 0 ?
		    BEARER : API_KEY, bad[i]);
		ck_assert_int_eq(putenv(variable), 0);
		ck_assert_int_eq(cred_take_env(&c), 0);
		ck_assert_ptr_null(memmem(variable, (size_t)n, "secret", 6));
		ck_assert_ptr_null(c.token);
		ck_assert_int_eq((int)c.source, i % 2 == 0 ?
		    (int)CRED_BEARER : (int)CRED_API_KEY);
		ck_assert(!cred_is_good(&c));
		cred_fini(&c);
	}
	/* The other one is not taken instead. */
	ck_assert_int_eq(putenv(key), 0);
	ck_assert_int_eq(setenv(BEARER, "a b", 1), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_ptr_null(c.token);
	ck_assert_int_eq((int)c.source, (int)CRED_BEARER);
	ck_wiped(key, API_KEY "=");
}
END_TEST

START_TEST(test_env_long)
{
	char	*value = malloc(CRED_MAX + 2);

	ck_assert_ptr_nonnull(value);
	memset(value, 'x', CRED_MAX + 1);
	value[CRED_MAX] = '\0';
	ck_assert_int_eq(setenv(API_KEY, value, 1), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_str_eq(c.token, value);
	cred_fini(&c);
	value[CRED_MAX] = 'x';
	value[CRED_MAX + 1] = '\0';
	ck_assert_int_eq(setenv(API_KEY, value, 1), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_ptr_null(c.token);
	ck_assert_ptr_null(getenv(API_KEY));
	free(value);
}
END_TEST

/* What /proc/PID/environ shows.  Run as a program of its own. */
static int
look_at_environ(void)
{
	static char	 text[65536];
	ssize_t		 n;
	int		 fd;

	if (sodium_init() == -1 || cred_take_env(&c) == -1 ||
	    strcmp(c.token, "secret-1") != 0 ||
	    (fd = open("/proc/self/environ", O_RDONLY)) == -1 ||
	    (n = read(fd, text, sizeof(text))) <= 0)
		return 2;
	close(fd);
	/* It is that memory: what is not ours is there. */
	if (memmem(text, (size_t)n, "OTHER=stays", 11) == NULL)
		return 3;
	cred_fini(&c);
	return memmem(text, (size_t)n, "secret", 6) == NULL ? 0 : 4;
}

/* Also of a variable that is there twice: only execve(2) can do that. */
START_TEST(test_proc_environ)
{
	char	 name[] = "check_cred", mode[] = "environ";
	char	 one[] = BEARER "=secret-1", two[] = BEARER "=secret-2",
		 three[] = API_KEY "=secret-3", four[] = API_KEY "=secret 4",
		 other[] = "OTHER=stays";
	char	*argv[] = { name, mode, NULL };
	char	*envp[] = { one, three, other, two, four, NULL };
	int	 status;
	pid_t	 pid;

	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		execve("/proc/self/exe", argv, envp);
		_exit(9);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(test_copy)
{
	struct cred	 d;
	char		 token[] = API_KEY "=abc";

	ck_assert_int_eq(cred_copy(&d, &c), 0);
	ck_assert(d.token == NULL && d.source == CRED_NONE);
	ck_assert_int_eq(putenv(token), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	c.expires = 77;
	ck_assert_int_eq(cred_copy(&d, &c), 0);
	ck_assert_ptr_ne(d.token, c.token);
	cred_fini(&c);
	ck_assert_str_eq(d.token, "abc");
	ck_assert_int_eq((int)d.source, (int)CRED_API_KEY);
	ck_assert_uint_eq(d.expires, 77);
	cred_fini(&d);
}
END_TEST

/* What is kept can be read again and again, by whoever has the socket. */
START_TEST(test_keep)
{
	char	 token[] = BEARER "=a.token";
	int	 fd, i;

	ck_assert_int_eq(cred_keep(&c), -1);	/* nothing to keep */
	ck_assert_int_eq(putenv(token), 0);
	ck_assert_int_eq(cred_take_env(&c), 0);
	ck_assert_int_ge(fd = cred_keep(&c), 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cred_fini(&c);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(cred_take_kept(&c, fd), 0);
		ck_assert_str_eq(c.token, "a.token");
		ck_assert_int_eq((int)c.source, (int)CRED_BEARER);
		ck_assert_uint_eq(c.expires, 0);
		cred_fini(&c);
	}
	close(fd);
	ck_assert_int_eq(cred_take_kept(&c, fd), -1);
	ck_assert(!cred_is_good(&c));
}
END_TEST

/* Another program's, or a source that is not the environment. */
START_TEST(test_keep_bad)
{
	static const char *const	 bad[] = {
		"", "\1", "\2", "\3token", "token", "\1to ken"
	};
	int				 fds[2], i;

	for (i = 0; i < N(bad); i++) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET |
		    SOCK_CLOEXEC, 0, fds), 0);
		ck_assert_int_eq(send(fds[0], bad[i], strlen(bad[i]), 0),
		    (ssize_t)strlen(bad[i]));
		close(fds[0]);
		ck_assert_int_eq(cred_take_kept(&c, fds[1]), -1);
		ck_assert_ptr_null(c.token);
		close(fds[1]);
	}
}
END_TEST

/* --- a file ----------------------------------------------------------------*/

static void
put_file(const void *data, size_t len, mode_t mode)
{
	int	 fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

static int
read_file(void)
{
	memset(why, 'x', sizeof(why));
	return cred_read_file(&c, path, why, sizeof(why));
}

static const struct {
	const char	*text;
	size_t		 len;
	const char	*token;		/* NULL: refused */
} files[] = {
#define F(text, token)	{ text, sizeof(text) - 1, token }
	F("tok", "tok"), F("tok\n", "tok"), F("tok\r\n", "tok"),
	F("tok\n\n", "tok"), F("!~", "!~"), F("\"a\\b\"\n", "\"a\\b\""),
	F("", NULL), F("\n", NULL), F("\r\n\r\n", NULL), F(" ", NULL),
	F(" tok", NULL), F("tok ", NULL), F("tok \n", NULL), F("a b\n", NULL),
	F("a\tb\n", NULL), F("a\nb", NULL), F("a\nb\n", NULL),
	F("a\rb\n", NULL), F("\ntok\n", NULL), F("tok\n \n", NULL),
	F("\0", NULL), F("tok\0\n", NULL), F("tok\n\0", NULL),
	F("to\x1bk\n", NULL), F("to\x7fk\n", NULL), F("t\xc3\xb6k\n", NULL),
	F("\xff", NULL), F("\xef\xbb\xbftok\n", NULL),
#undef F
};

START_TEST(test_files)
{
	put_file(files[_i].text, files[_i].len, 0600);
	if (files[_i].token == NULL) {
		ck_assert_msg(read_file() == -1, "%s", files[_i].text);
		ck_why("expected one line");
		ck_assert_ptr_null(c.token);
		ck_assert_int_eq((int)c.source, (int)CRED_NONE);
		return;
	}
	ck_assert_int_eq(read_file(), 0);
	ck_assert_str_eq(c.token, files[_i].token);
	ck_assert_int_eq((int)c.source, (int)CRED_FILE);
	ck_assert(cred_is_good(&c));
}
END_TEST

START_TEST(test_file_lengths)
{
	static char	 text[3 * CRED_MAX];

	memset(text, 'x', sizeof(text));
	put_file(text, CRED_MAX, 0600);
	ck_assert_int_eq(read_file(), 0);
	ck_assert_uint_eq(strlen(c.token), CRED_MAX);
	put_file(text, CRED_MAX + 1, 0600);
	ck_assert_int_eq(read_file(), -1);
	put_file(text, CRED_MAX + 2, 0600);
	ck_assert_int_eq(read_file(), -1);
	put_file(text, sizeof(text), 0600);
	ck_assert_int_eq(read_file(), -1);
	memcpy(text + CRED_MAX, "\r\n", 2);
	put_file(text, CRED_MAX + 2, 0600);
	ck_assert_int_eq(read_file(), 0);
	ck_assert_uint_eq(strlen(c.token), CRED_MAX);
	/* Two lines, even if the first is as long as one may be. */
	put_file(text, CRED_MAX + 3, 0600);
	ck_assert_int_eq(read_file(), -1);
	ck_why("longer than");
	put_file(text, sizeof(text), 0600);
	ck_assert_int_eq(read_file(), -1);
	/* What was there before stays. */
	ck_assert_uint_eq(strlen(c.token), CRED_MAX);
}
END_TEST

START_TEST(test_file_again)
{
	put_file("one\n", 4, 0600);
	ck_assert_int_eq(read_file(), 0);
	put_file("other\n", 6, 0400);
	ck_assert_int_eq(read_file(), 0);
	ck_assert_str_eq(c.token, "other");
	put_file("bad one\n", 8, 0600);
	ck_assert_int_eq(read_file(), -1);
	ck_assert_str_eq(c.token, "other");
	ck_assert_int_eq((int)c.source, (int)CRED_FILE);
}
END_TEST

/* Any bit for anybody else. */
START_TEST(test_modes)
{
	static const mode_t	 good[] = { 0400, 0600, 0700, 0500 };
	mode_t			 bit;
	int			 i;

	for (i = 0; i < N(good); i++) {
		put_file("tok\n", 4, good[i]);
		ck_assert_int_eq(read_file(), 0);
	}
	for (bit = 1; bit <= 040; bit <<= 1) {
		put_file("tok\n", 4, 0600 | bit);
		ck_assert_int_eq(read_file(), -1);
		ck_why("chmod 600");
	}
}
END_TEST

/* Of root, or of us; nobody else may say who we are. */
START_TEST(test_owners)
{
	put_file("tok\n", 4, 0600);
	if (geteuid() != 0) {
		/* Root's would be refused by the kernel; there is ours. */
		ck_assert_int_eq(read_file(), 0);
		left_out("files of others take root");
		return;
	}
	ck_assert_int_eq(chown(path, NOBODY, 0), 0);
	ck_assert_int_eq(read_file(), -1);
	ck_why("of another user");
	ck_assert_int_eq(seteuid(NOBODY), 0);
	ck_assert_int_eq(read_file(), 0);
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chown(path, 0, NOBODY), 0);
	ck_assert_int_eq(read_file(), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
	ck_assert_int_eq(read_file(), -1);
	ck_why(strerror(EACCES));
	ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

/* What a path may name as well.  A FIFO must not make us wait. */
START_TEST(test_no_files)
{
	struct sockaddr_un	 name = { .sun_family = AF_UNIX };
	int			 sock;

	ck_assert_int_eq(read_file(), -1);
	ck_why(strerror(ENOENT));
	ck_assert_int_eq(cred_read_file(&c, "", why, sizeof(why)), -1);
	ck_assert_int_eq(cred_read_file(&c, dir, why, sizeof(why)), -1);
	ck_why("not a file");
	ck_assert_int_eq(cred_read_file(&c, "/dev/null", why, sizeof(why)),
	    -1);
	ck_why("not a file");
	ck_assert_int_eq(cred_read_file(&c, "/dev/zero", why, sizeof(why)),
	    -1);

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(read_file(), -1);
	ck_why("not a file");
	ck_assert_int_eq(unlink(path), 0);

	ck_assert_int_ne(sock = socket(AF_UNIX, SOCK_STREAM, 0), -1);
	snprintf(name.sun_path, sizeof(name.sun_path), "%.100s", path);
	ck_assert_int_eq(bind(sock, (struct sockaddr *)&name, sizeof(name)),
	    0);
	ck_assert_int_eq(read_file(), -1);
	close(sock);
	ck_assert_int_eq(unlink(path), 0);

	ck_assert_int_eq(symlink("file", path), 0);
	ck_assert_int_eq(read_file(), -1);
	ck_why(strerror(ELOOP));
	ck_assert_ptr_null(c.token);
}
END_TEST

/* Room for the reason is used, and no more than that. */
START_TEST(test_short_reason)
{
	char	*room = malloc(4);

	ck_assert_ptr_nonnull(room);
	ck_assert_int_eq(cred_read_file(&c, "/dev/null", room, 4), -1);
	ck_assert_str_eq(room, "not");
	free(room);
}
END_TEST

/* --- standard input --------------------------------------------------------*/

/* Standard input is a pipe with that in it; its writing end, or -1. */
static int
feed(const void *data, size_t len, bool is_closed)
{
	int	 pair[2];

	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(fcntl(pair[1], F_SETPIPE_SZ, 1 << 16), 1 << 16);
	ck_assert_int_eq(write(pair[1], data, len), (ssize_t)len);
	ck_assert_int_eq(dup2(pair[0], STDIN_FILENO), STDIN_FILENO);
	close(pair[0]);
	if (!is_closed)
		return pair[1];
	close(pair[1]);
	return -1;
}

static int
read_stdin(bool frames)
{
	memset(why, 'x', sizeof(why));
	return cred_read_stdin(&c, frames, "env", why, sizeof(why));
}

static const struct {
	const char	*text;
	size_t		 len;
	const char	*token;		/* NULL: refused */
	const char	*rest;		/* what is left, or NULL: anything */
} lines[] = {
#define L(text, token, rest)	{ text, sizeof(text) - 1, token, rest }
	L("tok\n", "tok", ""), L("tok\r\n", "tok", ""),
	L("tok\nmore\n", "tok", "more\n"), L("tok\n\n", "tok", "\n"),
	L("tok\n{}", "tok", "{}"),
	L("", NULL, ""), L("tok", NULL, ""), L("\n", NULL, ""),
	L("\r\n", NULL, ""), L("a b\n", NULL, ""), L(" tok\n", NULL, ""),
	L("tok \n", NULL, ""), L("a\rb\n", NULL, ""), L("a\tb\n", NULL, ""),
	L("tok\r\r\n", NULL, ""), L("to\0k\n", NULL, ""),
	L("t\xc3\xb6k\n", NULL, ""), L("\x7f\n", NULL, ""),
#undef L
};

START_TEST(test_lines)
{
	char	 rest[64];
	ssize_t	 n;

	feed(lines[_i].text, lines[_i].len, true);
	if (lines[_i].token == NULL) {
		ck_assert_msg(read_stdin(false) == -1, "%s", lines[_i].text);
		ck_assert(c.token == NULL && c.source == CRED_NONE);
		ck_assert_ptr_nonnull(memchr(why, '\0', sizeof(why)));
	} else {
		ck_assert_int_eq(read_stdin(false), 0);
		ck_assert_str_eq(c.token, lines[_i].token);
		ck_assert_int_eq((int)c.source, (int)CRED_LINE);
		ck_assert_uint_eq(c.expires, 0);
	}
	ck_assert_int_ge(n = read(STDIN_FILENO, rest, sizeof(rest)), 0);
	ck_assert_uint_eq((size_t)n, strlen(lines[_i].rest));
	ck_assert_mem_eq(rest, lines[_i].rest, (size_t)n);
}
END_TEST

START_TEST(test_line_lengths)
{
	static char	 text[2 * CRED_MAX];

	memset(text, 'x', sizeof(text));
	text[CRED_MAX] = '\n';
	feed(text, CRED_MAX + 1, true);
	ck_assert_int_eq(read_stdin(false), 0);
	ck_assert_uint_eq(strlen(c.token), CRED_MAX);
	text[CRED_MAX] = 'x';
	text[CRED_MAX + 1] = '\n';
	feed(text, CRED_MAX + 2, true);
	ck_assert_int_eq(read_stdin(false), -1);
	ck_why("expected a line of");
	/* One that never ends is given up. */
	feed(text, sizeof(text), false);
	ck_assert_int_eq(read_stdin(true), -1);
	ck_why("expected a line of");
}
END_TEST

START_TEST(test_no_stdin)
{
	close(STDIN_FILENO);
	ck_assert_int_eq(read_stdin(false), -1);
	ck_assert_int_eq(open("/", O_RDONLY), STDIN_FILENO);
	ck_assert_int_eq(read_stdin(false), -1);
	ck_assert_ptr_null(c.token);
}
END_TEST

/* Shared with the child that writes. */
static volatile int	*alarms;

static void
on_alarm(int sig)
{
	(void)sig;
	++*alarms;
}

/* It comes in pieces, later, to a descriptor that does not wait. */
START_TEST(test_interrupted)
{
	static const char	 text[] = "slow-token\n";
	struct sigaction	 sa = { .sa_handler = on_alarm };
	struct itimerval	 often = { { 0, 2000 }, { 0, 2000 } };
	struct timespec		 tick = { 0, 1000000 };
	int			 fd = feed("", 0, false), status, i, seen;
	pid_t			 pid;

	alarms = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne((void *)(uintptr_t)alarms, MAP_FAILED);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_ne(pid = fork(), -1);
	for (i = 0; pid == 0 && text[i] != '\0'; i++) {
		for (seen = *alarms; *alarms < seen + 3;)
			nanosleep(&tick, NULL);
		if (write(fd, text + i, 1) != 1)
			_exit(1);
	}
	if (pid == 0)
		_exit(0);
	ck_assert_int_eq(sigaction(SIGALRM, &sa, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	ck_assert_int_eq(read_stdin(false), 0);
	ck_assert_str_eq(c.token, "slow-token");
	while (waitpid(pid, &status, 0) == -1)
		ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(status, 0);
	close(fd);
}
END_TEST

/* See check_cred_frame for all of them. */
START_TEST(test_frame_on_stdin)
{
	static const char	 one[] = "{\"version\":1,\"token\":\"tok\","
	    "\"environment_id\":\"env\",\"expires_at\":4102444800}\n{} \n";
	char			 rest[8];

	feed(one, sizeof(one) - 1, true);
	ck_assert_int_eq(read_stdin(true), 0);
	ck_assert_str_eq(c.token, "tok");
	ck_assert_int_eq((int)c.source, (int)CRED_FRAMES);
	ck_assert_int_eq(read(STDIN_FILENO, rest, sizeof(rest)), 4);
	feed("tok\n", 4, true);
	ck_assert_int_eq(read_stdin(true), -1);
	ck_why("invalid frame");
	feed("\n", 1, true);
	ck_assert_int_eq(read_stdin(true), -1);
}
END_TEST

static TCase *
all_tests(void)
{
	TCase	*tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_env);
	tcase_add_test(tc, test_env_one);
	tcase_add_test(tc, test_env_bad);
	tcase_add_test(tc, test_env_long);
	tcase_add_test(tc, test_proc_environ);
	tcase_add_test(tc, test_copy);
	tcase_add_test(tc, test_keep);
	tcase_add_test(tc, test_keep_bad);
	tcase_add_loop_test(tc, test_files, 0, N(files));
	tcase_add_test(tc, test_file_lengths);
	tcase_add_test(tc, test_file_again);
	tcase_add_test(tc, test_modes);
	tcase_add_test(tc, test_owners);
	tcase_add_test(tc, test_no_files);
	tcase_add_test(tc, test_short_reason);
	tcase_add_loop_test(tc, test_lines, 0, N(lines));
	tcase_add_test(tc, test_line_lengths);
	tcase_add_test(tc, test_no_stdin);
	tcase_add_test(tc, test_interrupted);
	tcase_add_test(tc, test_frame_on_stdin);
	return tc;
}

int
main(int argc, char **argv)
{
	Suite	*s;
	SRunner	*sr;
	int	 failed;

	if (argc == 2 && strcmp(argv[1], "environ") == 0)
		return look_at_environ();
	s = suite_create("cred");
	suite_add_tcase(s, all_tests());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
