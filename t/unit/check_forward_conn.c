/*
 * master/execsrvctl/forward/forward_conn.c: one connection that is forwarded:
 * its bytes, both ends of it, holding, and why it is given up.  The process
 * there and the addresses here are ours.
 */
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/forward/forward_local.h"
#include "master/execsrvctl/forward/forward_priv.h"
#include "t/unit/did_help.h"
#include "t/unit/said_help.h"

#define X		((struct execsrv *)8)
#define P		((struct execsrv_process *)16)
#define HOLD_ABOVE	(1024 * 1024)
#define GO_ON_BELOW	(256 * 1024)

static const struct execsrv_hooks *hooks;
static struct forward_spec	 way;
static struct forward_conn	*c;
static int			 peer;		/* of its socket */
static size_t			 room;
static bool			 is_begun;
static bool			 is_reachable;	/* behind so many that ... */
static size_t			 refused;	/* ... are not */
static const char		*no_host;
static char			 big[2 * HOLD_ABOVE + 2];

/* --- in the place of others --- */

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *s,
    const struct execsrv_hooks *of, void *arg)
{
	size_t	 i;

	ck_assert(x == X && s->inherit && s->pipe_stdin && !s->tty);
	ck_assert(arg != NULL);
	did("start in %s", s->cwd);
	for (i = 1; s->argv[i] != NULL; i++)
		did("%s", s->argv[i]);
	ck_assert_uint_lt(i, 5);
	hooks = of;
	errno = ENOMEM;
	return is_begun ? P : NULL;
}

void
execsrv_process_free(struct execsrv_process **pp)
{
	did(*pp == P ? "free" : "nothing to free");
	*pp = NULL;
}

int
execsrv_process_terminate(struct execsrv_process *p, unsigned grace)
{
	ck_assert(p == P && grace == 0);
	did("terminate");
	return 0;
}

int
execsrv_process_signal(struct execsrv_process *p, const char *name)
{
	ck_assert_ptr_eq(p, P);
	did("%s", name);
	return 0;
}

int
execsrv_process_write(struct execsrv_process *p, const void *data, size_t len)
{
	ck_assert_ptr_eq(p, P);
	did("write %.*s", (int)len, (const char *)data);
	return 0;
}

int
execsrv_process_close_stdin(struct execsrv_process *p)
{
	ck_assert_ptr_eq(p, P);
	did("end");
	return 0;
}

size_t
execsrv_process_room(const struct execsrv_process *p)
{
	ck_assert_ptr_eq(p, P);
	return room;
}

int
forward_local_connect(const struct forward_end *e, size_t n,
    const char **why)
{
	int	 pair[2];

	ck_assert_ptr_eq(e, &way.to);
	did("address %zu", n);
	*why = no_host;
	errno = n < refused ? ECONNREFUSED : ENOENT;
	if (no_host != NULL || n < refused || !is_reachable)
		return -1;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer = pair[1];
	return pair[0];
}

/* --- a connection --- */

static void
setup(void)
{
	memset(&way, 0, sizeof(way));
	strcpy(way.from.name, "f");
	strcpy(way.from.port, "1");
	strcpy(way.to.name, "t");
	strcpy(way.to.port, "2");
	room = 65536;
	is_begun = true;
	is_reachable = true;
	refused = 0;
	no_host = NULL;
	did_forget();
	said_begin();
}

static void
begin(bool is_started)
{
	int	 pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	peer = pair[1];
	ck_assert_ptr_nonnull(c = forward_conn_new(X, &way, pair[0], ""));
	ck_did("start in /; connect; t; 2");
	if (is_started)
		hooks->on_answer(c, EXECSRV_START, NULL);
}

static void
begin_waiting(void)
{
	ck_assert_ptr_nonnull(c = forward_conn_new(X, &way, -1, "token"));
	ck_did("start in /; accept; token");
	hooks->on_answer(c, EXECSRV_START, NULL);
}

static void
end(void)
{
	int	 fd = c->fd;

	forward_conn_free(c);
	ck_did("free");
	ck_assert(fd == -1 || close(fd) == -1);
}

static void
out(const void *data, size_t len)
{
	hooks->on_output(c, EXECSRV_STDOUT, data, len);
}

static void
line(const char *text)
{
	hooks->on_output(c, EXECSRV_STDERR, text, strlen(text));
}

/* What its socket is waited for. */
static void
ck_wants(short events)
{
	struct pollfd	 p = { .fd = 77 };

	forward_conn_prepare(c, &p);
	ck_assert_int_eq(p.events, events);
	ck_assert_int_eq(p.fd, events != 0 ? c->fd : -1);
}

static void
ck_got(const char *want)
{
	char	 text[100];
	ssize_t	 n = recv(peer, text, sizeof(text) - 1, MSG_DONTWAIT);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_str_eq(text, want);
}

static void
ck_dead(const char *why)
{
	ck_assert(c->is_dead);
	ck_said(why, "");
	/* Nothing happens to it any more. */
	forward_conn_on_ready(c, POLLIN);
	forward_conn_update(c);
	out("x", 1);
	ck_did("");
	end();
}

START_TEST(test_new)
{
	int	 fd;

	way.to.port[0] = '\0';
	ck_assert_ptr_nonnull(c = forward_conn_new(X, &way, -1, "token"));
	ck_did("start in /; accept; token");
	end();
	ck_assert_int_ne(fd = dup(STDIN_FILENO), -1);
	ck_assert_ptr_nonnull(c = forward_conn_new(X, &way, fd, ""));
	ck_did("start in /; connect; t");
	end();
	is_begun = false;
	ck_assert_int_ne(fd = dup(STDIN_FILENO), -1);
	ck_assert_ptr_null(forward_conn_new(X, &way, fd, ""));
	ck_did("start in /; connect; t; nothing to free");
	ck_said("execsrvctl: f:1: Cannot allocate memory\n", "");
	ck_assert_int_eq(close(fd), -1);
}
END_TEST

START_TEST(test_input)
{
	begin(false);
	ck_wants(0);
	ck_assert_int_eq(send(peer, "abc", 3, 0), 3);
	forward_conn_on_ready(c, POLLIN);
	ck_did("");
	hooks->on_answer(c, EXECSRV_WRITE, NULL);
	ck_wants(0);
	hooks->on_answer(c, EXECSRV_START, NULL);
	ck_wants(POLLIN);
	room = 0;
	ck_wants(0);
	forward_conn_on_ready(c, POLLIN);
	ck_did("");
	room = 2;
	forward_conn_on_ready(c, 0);
	forward_conn_on_ready(c, POLLOUT);
	ck_did("");
	forward_conn_on_ready(c, POLLIN);
	ck_did("write ab");
	forward_conn_on_ready(c, POLLHUP);
	ck_did("write c");
	forward_conn_on_ready(c, POLLIN);	/* none, after all */
	ck_did("");
	ck_assert_int_eq(shutdown(peer, SHUT_WR), 0);
	forward_conn_on_ready(c, POLLIN);
	ck_did("end");
	ck_wants(0);
	/* The other direction goes on. */
	out("xy", 2);
	ck_wants(POLLOUT);
	forward_conn_update(c);
	ck_got("xy");
	ck_wants(0);
	end();
}
END_TEST

START_TEST(test_end)
{
	char	 byte;

	begin(true);
	out("ab", 2);
	line("eof 3\n");
	forward_conn_update(c);
	ck_got("ab");
	ck_assert(!c->is_shut);
	out("c", 1);
	forward_conn_update(c);
	ck_got("c");
	ck_assert(c->is_shut);
	ck_assert_int_eq(recv(peer, &byte, 1, MSG_DONTWAIT), 0);
	/* What comes after its end is sent to nobody. */
	hooks->on_closed(c);
	ck_assert(!c->is_dead);
	ck_wants(0);
	forward_conn_update(c);
	ck_dead("");
	/* It closes before all of it is sent. */
	begin(true);
	out(big, sizeof(big));
	hooks->on_closed(c);
	forward_conn_update(c);
	ck_assert(!c->is_dead);
	ck_wants(POLLOUT);
	end();
}
END_TEST

static const struct {
	const char	*line, *why;
} lines[] = {
	{ "failed\n", "execsrvctl: forward: failed\n" },
	{ "a\001\x1f\x7f\xc3\xa4 b\n", "execsrvctl: forward: a???\xc3\xa4 b"
	    "\n" },
	{ "opened\n", "execsrvctl: forward: opened\n" },
	{ "eof\n", "execsrvctl: forward: eof\n" },
	{ "\n", "execsrvctl: forward: \n" },
	{ "open\n", "" }, { "eof 7\n", "" }, { "unfinished", "" },
};

START_TEST(test_line)
{
	begin(true);
	line(lines[_i].line);
	ck_said(lines[_i].why, "");
	ck_assert_int_eq(c->has_failed, lines[_i].why[0] != '\0');
	ck_assert_int_eq(c->is_open, strcmp(lines[_i].line, "open\n") == 0);
	end();
}
END_TEST

/* The end of a long line is not shown. */
START_TEST(test_long_line)
{
	char	 text[1100], want[1200];
	size_t	 max;

	begin(true);
	max = sizeof(c->line) - 1;
	ck_assert_uint_lt(max, sizeof(text) - 10);
	memset(text, 'a', sizeof(text));
	text[max - 1] = 'y';
	text[max] = 'z';
	text[max + 1] = '\n';
	text[max + 2] = '\0';
	line(text);
	text[max] = '\0';
	snprintf(want, sizeof(want), "execsrvctl: forward: %s\n", text);
	ck_said(want, "");
	/* In pieces. */
	line("a");
	line("b\nc");
	line("\n");
	ck_said("execsrvctl: forward: ab\nexecsrvctl: forward: c\n", "");
	end();
}
END_TEST

START_TEST(test_lost)
{
	struct execsrv_error	 e = { .text = "because" };

	begin(false);
	hooks->on_answer(c, EXECSRV_START, &e);
	ck_dead("execsrvctl: t:2: because\n");
	begin(true);
	hooks->on_lost(c, &e);
	ck_dead("execsrvctl: t:2: because\n");
	/* Its client has gone: the process goes, too. */
	begin(true);
	out("x", 1);
	ck_assert_int_eq(close(peer), 0);
	forward_conn_update(c);
	ck_did("terminate");
	ck_dead("");
}
END_TEST

/* --- holding --- */

START_TEST(test_hold)
{
	static char	 data[65536];
	size_t		 sent;

	begin(true);
	out(big, HOLD_ABOVE);
	forward_conn_update(c);
	ck_did("");
	sent = HOLD_ABOVE - c->out.len;
	ck_assert_uint_gt(sent, 0);
	out(big, sent);
	forward_conn_update(c);
	ck_did("");
	ck_assert_uint_eq(c->out.len, HOLD_ABOVE);
	out("x", 1);
	forward_conn_update(c);
	ck_did("SIGUSR1");
	/* Said once, and again when as much came all the same. */
	out(big, HOLD_ABOVE);
	forward_conn_update(c);
	ck_did("");
	out("x", 1);
	forward_conn_update(c);
	ck_did("SIGUSR1");
	while (c->out.len >= GO_ON_BELOW) {
		ck_did("");
		ck_assert_int_gt(recv(peer, data, sizeof(data), MSG_DONTWAIT),
		    0);
		forward_conn_update(c);
	}
	ck_did("SIGUSR2");
	forward_conn_update(c);
	ck_did("");
	end();
	/* Nobody is left to hear it. */
	begin(true);
	hooks->on_closed(c);
	out(big, sizeof(big));
	forward_conn_update(c);
	ck_did("");
	end();
}
END_TEST

/* --- connections that come there --- */

START_TEST(test_waiting)
{
	begin_waiting();
	forward_conn_update(c);
	out("ab", 2);
	forward_conn_update(c);
	ck_did("");
	refused = 1;
	line("open\n");
	forward_conn_update(c);
	ck_did("address 0; address 1");
	ck_assert(c->connects);
	ck_wants(POLLOUT);
	forward_conn_update(c);		/* not before it is connected */
	forward_conn_on_ready(c, POLLOUT);
	ck_assert(!c->connects);
	forward_conn_update(c);
	ck_got("ab");
	ck_wants(POLLIN);
	end();
}
END_TEST

START_TEST(test_unreachable)
{
	begin_waiting();
	line("open\n");
	is_reachable = false;
	forward_conn_update(c);
	ck_did("address 0; address 1; terminate");
	ck_dead("execsrvctl: t:2: No such file or directory\n");
	begin_waiting();
	line("open\n");
	refused = 2;
	forward_conn_update(c);
	ck_did("address 0; address 1; address 2; terminate");
	ck_dead("execsrvctl: t:2: Connection refused\n");
	begin_waiting();
	line("open\n");
	no_host = "no such host";
	forward_conn_update(c);
	ck_did("address 0; terminate");
	ck_dead("execsrvctl: t:2: no such host\n");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("forward_conn");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, said_end);
	tcase_add_test(tc, test_new);
	tcase_add_test(tc, test_input);
	tcase_add_test(tc, test_end);
	tcase_add_loop_test(tc, test_line, 0, 8);
	tcase_add_test(tc, test_long_line);
	tcase_add_test(tc, test_lost);
	tcase_add_test(tc, test_hold);
	tcase_add_test(tc, test_waiting);
	tcase_add_test(tc, test_unreachable);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
