/*
 * master/execsrvctl/run/run.c: what it asks of a server, what it makes of each
 * answer, of input, signals and an output that nobody reads; how it ends.
 */
#include <fcntl.h>
#include <signal.h>

#include "common/clock.h"
#include "t/unit/run_stand_in.h"

#define HOLD_ABOVE	(1024 * 1024)
#define HOLD_SIGNALLED	(32 * 1024 * 1024)

static char	 big[HOLD_ABOVE + 1];

static void
broken(void)
{
	is_broken = true;
}

static void
input_ends(void)
{
	ck_assert_int_eq(close(input[1]), 0);
	input[1] = -1;
}

static void
term(void)
{
	raise(SIGTERM);
}

#define OPEN		"open U me; "
#define START		OPEN "start in /w sandbox 0 input 0x0; c; -x"
#define END		"; free; end session 1000; close"

START_TEST(test_output)
{
	ck_assert_int_eq(RUN(started, both, exited, both, closed), 3);
	ck_did(START END);
	ck_said("", "");
	ck_read("outptyoutpty", "errerr");
	/* One that was never answered, and that ended before it was. */
	ck_assert_int_eq(RUN(exited, started, closed), 3);
	ck_did(START END);
}
END_TEST

START_TEST(test_asked)
{
	static const char *const	 list_of[] = { "x", NULL };

	o.env = o.allow_domains = list_of;
	o.sandbox = EXECSRV_READ_ONLY;
	o.tty = true;
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 1 tty 24x80; c; -x; raw 0" END);
	cannot = "execsrvSessionClose";
	o.tty = false;
	ck_assert_int_eq(dup2(open("/dev/null", O_RDONLY), STDIN_FILENO), 0);
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 1 0x0; c; -x; free; close");
}
END_TEST

START_TEST(test_folder)
{
	char	 here[100], want[200];

	o.cwd = NULL;
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(OPEN "start in / sandbox 0 input 0x0; c; -x" END);
	folder = "/there";
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(OPEN "start in /there sandbox 0 input 0x0; c; -x" END);
	is_local = true;
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	snprintf(want, sizeof(want), OPEN "start in %s sandbox 0 input 0x0; c; "
	    "-x" END, here);
	ck_did(want);
}
END_TEST

static struct execsrv_environment *
with_shell(const char *shell)
{
	struct execsrv_environment	*env = calloc(1, sizeof(*env));

	ck_assert_ptr_nonnull(env);
	env->shell = shell;
	return env;
}

START_TEST(test_shell)
{
	static const char	*const shells[][2] = {
		{ "/bin/zsh", "/bin/zsh" }, { "zsh", "/bin/sh" },
		{ NULL, "/bin/sh" }
	};
	char			 want[200];
	size_t			 i;

	o.argv = NULL;
	for (i = 0; i < 4; i++) {
		environment = i < 3 ? with_shell(shells[i][0]) : NULL;
		ck_assert_int_eq(RUN(started, exited, closed), 3);
		snprintf(want, sizeof(want), OPEN "shell? 10000; start in /w "
		    "sandbox 0 input 0x0; %s; -l" END,
		    i < 3 ? shells[i][1] : "/bin/sh");
		ck_did(want);
	}
}
END_TEST

/* --- refusals --- */

START_TEST(test_open)
{
	is_open = false;
	strcpy(open_error.text, "no server");
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: no server\n", "");
	open_error.code = -32010;
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: no server\nexecsrvctl: \"attach --take\" takes it "
	    "from its client, \"tail -f\" shows its output\n", "");
	ck_did("open U me; open U me");
	is_open = true;
	ready = -1;
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: Too many open files\n", "");
	ck_did("open U me; close");
}
END_TEST

static const struct {
	int		 error;
	const char	*cwd, *why;
} not_sent[] = {
	{ EPIPE, "/w", "execsrvctl: because\n" },
	{ EILSEQ, "/w", "execsrvctl: the command or its environment is not "
	    "UTF-8\n" },
	{ EINVAL, "w", "execsrvctl: w: not an absolute path\n" },
	{ ENOMEM, "/w", "execsrvctl: c: Cannot allocate memory\n" },
};

START_TEST(test_not_sent)
{
	start_error = not_sent[_i].error;
	strcpy(why.text, "because");
	o.cwd = not_sent[_i].cwd;
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said(not_sent[_i].why, "");
	ck_assert(did_begins(OPEN "start"));
}
END_TEST

static const struct {
	const char	*cwd, *text, *why;
	int		 os_error, status;
} not_started[] = {
	{ "/w", "failed to start process: bad", "c: bad", EACCES, 126 },
	{ "/w", "bad (os error 2)", "c: command not found", ENOENT, 127 },
	{ "/w", "bad", "c: bad", 0, 125 },
	{ "/w", "working directory: bad", "/w: working directory: bad", ENOENT,
	    125 },
	{ NULL, "working directory: bad", "c: working directory: bad", ENOENT,
	    125 },
};

START_TEST(test_not_started)
{
	char	 text[100];

	o.cwd = not_started[_i].cwd;
	strcpy(why.text, not_started[_i].text);
	why.os_error = not_started[_i].os_error;
	ck_assert_int_eq(RUN(refused), not_started[_i].status);
	snprintf(text, sizeof(text), "execsrvctl: %s\n", not_started[_i].why);
	ck_said(text, "");
	did_forget();
}
END_TEST

/* --- its end --- */

static int	 code;

static void
exited_with(void)
{
	hooks->on_exited(arg, code, false);
}

START_TEST(test_code)
{
	for (code = 0; code < 256; code += 255) {
		ck_assert_int_eq(RUN(started, exited_with, closed), code);
		ck_said("", "");
	}
	for (code = -1; code <= 256; code += 257) {
		ck_assert_int_eq(RUN(started, exited_with, closed), 125);
		ck_said("execsrvctl: the server does not know how the command "
		    "ended\n", "");
	}
	did_forget();
}
END_TEST

START_TEST(test_lost)
{
	ck_assert_int_eq(RUN(started, closed), 125);
	ck_said("execsrvctl: the server does not tell how the command ended\n",
	    "");
	ck_did(START "; hint U; terminate" END);
	awaited = 2;
	ck_assert_int_eq(RUN(started, lost), 125);
	ck_said("execsrvctl: it is lost\n", "");
	ck_did(START "; hint U; terminate; wait; wait" END);
	/* It waits no longer than there is a connection. */
	awaited = 2;
	wait_result = -1;
	strcpy(why.text, "it broke");
	ck_assert_int_eq(RUN(started, broken), 125);
	ck_said("execsrvctl: it broke\n", "");
	ck_did(START "; hint U; terminate; wait" END);
	/* Nothing is left to end. */
	is_broken = false;
	ck_assert_int_eq(RUN(started, exited, lost), 125);
	ck_said("execsrvctl: it is lost\n", "");
	ck_did(START END);
}
END_TEST

/* --- input --- */

static void
more(void)
{
	put("more");
}

static struct execsrv_error	 no_input = { .text = "no pipe" };

static void
input_refused(void)
{
	hooks->on_answer(arg, EXECSRV_SIGNAL, &no_input);
	hooks->on_answer(arg, EXECSRV_WRITE, NULL);
	hooks->on_answer(arg, EXECSRV_CLOSE_STDIN, &no_input);
}

static void
write_refused(void)
{
	hooks->on_answer(arg, EXECSRV_WRITE, &no_input);
}

START_TEST(test_input)
{
	put("abc");
	room = 2;
	ck_assert_int_eq(RUN(started, nothing, input_ends, nothing, nothing,
	    exited, closed), 3);
	ck_did(START "; write ab; write c; end input" END);
	ck_said("", "");
}
END_TEST

START_TEST(test_no_input)
{
	put("abc");
	room = 0;
	ck_assert_int_eq(RUN(started, nothing, exited, closed), 3);
	ck_did(START END);
	room = 9;
	/* Nobody reads it: none is an error.  After the exit there is none. */
	ck_assert_int_eq(RUN(started, input_refused, more, exited, closed), 3);
	ck_did(START "; write abc" END);
	no_input.code = -1;
	ck_assert_int_eq(RUN(started, nothing, exited, more, write_refused,
	    closed), 3);
	ck_did(START "; write more" END);
	ck_said("", "");
	ck_assert_int_eq(RUN(started, write_refused), 125);
	ck_said("execsrvctl: input: no pipe\n", "");
	did_forget();
	cannot = "execsrvProcessCloseStdin";
	input_ends();
	no_input.code = 0;
	ck_assert_int_eq(RUN(started, nothing, exited, closed), 3);
	ck_said("execsrvctl: this server cannot tell the command that its "
	    "input ends\n", "");
}
END_TEST

/* A terminal has another end of its input. */
START_TEST(test_end_of_terminal)
{
	o.tty = true;
	put("a\n");
	input_ends();
	ck_assert_int_eq(RUN(started, nothing, nothing, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; write a\n"
	    "; write ^D" END);
	pair(input, STDIN_FILENO);
	put("a");
	input_ends();
	ck_assert_int_eq(RUN(started, nothing, nothing, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; write a; "
	    "write ^D; write ^D" END);
	/* Nothing at all. */
	ck_assert_int_eq(RUN(started, nothing, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; write ^D"
	    END);
	/* One that cannot be read. */
	ck_assert_int_eq(dup2(open("/", O_RDONLY), STDIN_FILENO), 0);
	ck_assert_int_eq(RUN(started, nothing), 125);
	ck_said("execsrvctl: input: Is a directory\n", "");
	did_forget();
}
END_TEST

/* --- signals --- */

static void
user(void)
{
	raise(SIGUSR1);
}

static void
interrupt(void)
{
	raise(SIGINT);
}

static void
hangup(void)
{
	raise(SIGHUP);
}

static void
resized(void)
{
	raise(SIGWINCH);
}

static void
continued(void)
{
	raise(SIGCONT);
}

static void
quit(void)
{
	raise(SIGQUIT);
}

START_TEST(test_signals)
{
	ck_assert_int_eq(RUN(started, interrupt, nothing, user, nothing, term,
	    nothing, hangup, nothing, quit, nothing, continued, nothing,
	    resized, nothing, exited, closed), 3);
	ck_did(START "; signal SIGINT; signal SIGUSR1; signal SIGTERM; "
	    "signal SIGHUP; signal SIGQUIT" END);
	cannot = "execsrvProcessSignalName";
	ck_assert_int_eq(RUN(started, interrupt, nothing, user, nothing, term,
	    nothing, exited, closed), 3);
	ck_did(START "; signal interrupt; terminate" END);
	/* Before it runs. */
	cannot = "";
	ck_assert_int_eq(RUN(resized, term, nothing, started, exited, closed),
	    3);
	ck_did(START "; signal SIGTERM" END);
	ck_assert_int_eq(RUN(term, interrupt, nothing), 125);
	ck_said("execsrvctl: the server does not answer\n", "");
	ck_did(START "; hint U; terminate" END);
	/* After it ran. */
	ck_assert_int_eq(RUN(started, exited, user, nothing, closed), 3);
	ck_assert_int_eq(RUN(started, exited, term, nothing), 3);
	ck_said("", "");
	did_forget();
}
END_TEST

START_TEST(test_unanswered)
{
	awaited = 2;
	ck_assert_int_eq(RUN(started, term, nothing, exited, closed), 3);
	ck_did(START "; signal SIGTERM" END);
	awaited = 3;
	wait_result = -1;
	ck_assert_int_eq(RUN(started, term, nothing), 125);
	ck_said("execsrvctl: the server does not answer\n", "");
	did_forget();
	state = EXECSRV_RECOVERING;
	awaited = 0;
	ck_assert_int_eq(RUN(started, term, nothing, exited, closed), 3);
	awaited = 1;
	ck_assert_int_eq(RUN(started, term, nothing), 125);
	ck_said("execsrvctl: the server does not answer\n", "");
	did_forget();
}
END_TEST

START_TEST(test_terminal)
{
	o.tty = true;
	ck_assert_int_eq(RUN(resized, nothing, started, resized, nothing,
	    continued, nothing, exited, resized, nothing, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; size "
	    "24x80; size 24x80; raw 0" END);
	cannot = "execsrvProcessResize";
	ck_assert_int_eq(RUN(started, resized, nothing, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0" END);
}
END_TEST

/* It stops with the command, both go on. */
static void
on_stop(int sig)
{
	ck_assert_int_eq(sig, SIGTSTP);
	ck_assert(!is_raw);
	did("stopped");
}

static void
stop(void)
{
	raise(SIGTSTP);
}

START_TEST(test_stop)
{
	signal(SIGTSTP, on_stop);
	o.tty = true;
	ck_assert_int_eq(RUN(stop, started, stop, nothing, exited, stop,
	    nothing, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; stopped; "
	    "raw 0; size 24x80; signal SIGSTOP; stopped; raw 0; signal "
	    "SIGCONT; size 24x80; stopped; raw 0" END);
	cannot = "execsrvProcessSignalName";
	ck_assert_int_eq(RUN(started, stop, nothing, exited, closed), 3);
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; raw 0; stopped; "
	    "raw 0; size 24x80" END);
}
END_TEST

/* What the caller ignores is ignored. */
START_TEST(test_ignored)
{
	signal(SIGINT, SIG_IGN);
	ck_assert_int_eq(RUN(started, interrupt, nothing, exited, closed), 3);
	ck_did(START END);
}
END_TEST

/* --- an output that nobody reads --- */

static size_t	 much;

static void
fill(void)
{
	int	 fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK);

	ck_assert_int_ne(fd, -1);
	while (write(fd, big, sizeof(big)) > 0)
		;
	ck_assert_int_eq(close(fd), 0);
}

static void
out(void)
{
	hooks->on_output(arg, EXECSRV_STDOUT, big, much);
}

static void
signalled_out(void)
{
	size_t	 i;

	for (i = 0; i < HOLD_SIGNALLED / HOLD_ABOVE; i++)
		hooks->on_output(arg, EXECSRV_STDOUT, big, HOLD_ABOVE);
}

static void
one_more(void)
{
	hooks->on_output(arg, EXECSRV_STDERR, "x", 0);
	hooks->on_output(arg, EXECSRV_STDOUT, "x", 1);
}

/* Read all but so much. */
static void
drain(void)
{
	static char	 data[65536];

	ck_assert_int_gt(read(output[0], data, sizeof(data)), 0);
}

static void
nobody_reads(void)
{
	ck_assert_int_eq(close(output[0]), 0);
	output[0] = -1;
}

START_TEST(test_hold)
{
	fill();
	much = HOLD_ABOVE;
	ck_assert_int_eq(RUN(started, out, nothing, lost), 125);
	ck_did(START "; hint U; terminate" END);
	ck_assert_int_eq(RUN(started, out, one_more, nothing, lost), 125);
	ck_did(START "; hold; hint U; go on; terminate" END);
	/* A signal lifts it. */
	ck_assert_int_eq(RUN(started, out, one_more, term, nothing, lost), 125);
	ck_did(START "; hold; signal SIGTERM; go on; hint U; terminate" END);
	ck_assert_int_eq(RUN(started, out, one_more, user, nothing, lost), 125);
	ck_did(START "; hold; signal SIGUSR1; hint U; go on; terminate" END);
	ck_assert_int_eq(RUN(started, term, nothing, signalled_out, nothing,
	    one_more, nothing, lost), 125);
	ck_did(START "; signal SIGTERM; hold; hint U; go on; terminate" END);
	said_begin();
}
END_TEST

START_TEST(test_drain)
{
	size_t	 pipe_size = (size_t)fcntl(STDOUT_FILENO, F_GETPIPE_SZ);

	fill();
	/* One step more than what is to be left. */
	ck_assert_uint_eq(pipe_size, 65536);
	much = HOLD_ABOVE + 1;
	ck_assert_int_eq(RUN(started, out, drain, drain, drain, drain, drain,
	    drain, drain, drain, drain, drain, drain, drain, nothing, lost),
	    125);
	ck_did(START "; hold; hint U; go on; terminate" END);
}
END_TEST

START_TEST(test_go_on)
{
	fill();
	much = HOLD_ABOVE + 1;
	ck_assert_int_eq(RUN(started, out, drain, drain, drain, drain, drain,
	    drain, drain, drain, drain, drain, drain, drain, drain, nothing,
	    lost), 125);
	ck_did(START "; hold; go on; hint U; terminate" END);
}
END_TEST

START_TEST(test_broken_output)
{
	ck_assert_int_eq(RUN(started, nobody_reads, both, both, exited,
	    closed), 141);
	ck_said("", "");
	ck_did(START "; terminate" END);
	/* The disk is full. */
	ck_assert_int_eq(dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO), 1);
	ck_assert_int_eq(RUN(started, both, exited, closed), 125);
	ck_said("execsrvctl: No space left on device\n", "");
	ck_did(START "; terminate" END);
}
END_TEST

/* After the end its reader has a second, if somebody wants the end. */
START_TEST(test_stuck)
{
	uint64_t	 before;

	fill();
	much = 1;
	before = clock_ms();
	ck_assert_int_eq(RUN(started, out, term, nothing, exited, closed), 3);
	ck_assert_uint_ge(clock_ms() - before, 990);
	did_forget();
}
END_TEST

/* --- detached --- */

START_TEST(test_detach)
{
	o.detach = true;
	put("a");
	ck_assert_int_eq(RUN(both, started), 0);
	ck_said("", "s\n");
	ck_did(OPEN "retain 10000; start in /w sandbox 0 0x0; c; -x; free; "
	    "close");
	ck_read("", "");
	is_retained = false;
	session = NULL;
	ck_assert_int_eq(RUN(started), 125);
	ck_said("execsrvctl: the server keeps the session for a short time "
	    "only\nexecsrvctl: the session's id is too long\n", "");
	did_forget();
	is_retained = true;
	cannot = "execsrvSessionRetain";
	o.tty = true;
	session = "s";
	ck_assert_int_eq(RUN(started), 0);
	ck_said("execsrvctl: the server keeps the session for a short time "
	    "only\n", "s\n");
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x; free; close");
	/* Not started. */
	strcpy(why.text, "bad");
	ck_assert_int_eq(RUN(refused), 125);
	ck_said("execsrvctl: the server keeps the session for a short time "
	    "only\nexecsrvctl: c: bad\n", "");
	ck_did(OPEN "start in /w sandbox 0 tty 24x80; c; -x" END);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("run");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_output);
	tcase_add_test(tc, test_asked);
	tcase_add_test(tc, test_folder);
	tcase_add_test(tc, test_shell);
	tcase_add_test(tc, test_open);
	tcase_add_loop_test(tc, test_not_sent, 0, 4);
	tcase_add_loop_test(tc, test_not_started, 0, 5);
	tcase_add_test(tc, test_code);
	tcase_add_test(tc, test_lost);
	tcase_add_test(tc, test_input);
	tcase_add_test(tc, test_no_input);
	tcase_add_test(tc, test_end_of_terminal);
	tcase_add_test(tc, test_signals);
	tcase_add_test(tc, test_unanswered);
	tcase_add_test(tc, test_terminal);
	tcase_add_test(tc, test_stop);
	tcase_add_test(tc, test_ignored);
	tcase_add_test(tc, test_hold);
	tcase_add_test(tc, test_drain);
	tcase_add_test(tc, test_go_on);
	tcase_add_test(tc, test_broken_output);
	tcase_add_test(tc, test_stuck);
	tcase_add_test(tc, test_detach);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
