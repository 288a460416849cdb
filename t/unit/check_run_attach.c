/*
 * master/execsrvctl/run/run.c: attached to the command of another client: which
 * of its processes, keys that detach, what is left when it ends.
 */
#include <fcntl.h>
#include <signal.h>

#include "t/unit/run_stand_in.h"

#define NAME_63	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789"\
		"abcde"

static struct execsrv_process_info infos[] = {
	{ .id = "p", .tty = true }, { .id = "q" }, { .id = NAME_63 },
	{ .id = NAME_63 "x" }
};
static struct execsrv_process_list them = { .processes = infos };

static void
with(size_t first, size_t n)
{
	list = &them;
	them.processes = infos + first;
	them.nprocesses = n;
	o.session = "s";
}

#define RESUME		"open U me resume s; "
#define END		"; free; list 10000; end session 1000; close"
#define ATTACH		RESUME "list 10000; attach "

static void
keys(void)
{
	put("ab\020\021cd");
}

static void
keys_alone(void)
{
	put("\020\021");
}

static void
first_key(void)
{
	put("ab\020");
}

static void
second_key(void)
{
	put("\021cd");
}

static void
not_second(void)
{
	put("ef");
}

static void
hangup(void)
{
	raise(SIGHUP);
}

START_TEST(test_process)
{
	with(1, 1);
	ck_assert_int_eq(RUN(started, both, exited, closed), 3);
	ck_did(ATTACH "q" END);
	ck_read("outpty", "err");
	with(0, 2);
	o.process = "q";
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(ATTACH "q; free; list 10000; close");
	/* A terminal. */
	o.process = "p";
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(ATTACH "p; raw 0; size 24x80; free; list 10000; close");
	with(2, 1);
	o.process = NULL;
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(ATTACH "0123456789" END);
}
END_TEST

static const struct {
	size_t		 first, n;
	const char	*process, *why;
} unknown[] = {
	{ 0, 2, "r", "r: no such process in that session" },
	{ 0, 0, NULL, "s: has no process" },
	{ 0, 2, NULL, "s: has 2 processes; name one of them: s/p" },
	{ 3, 1, NULL, NAME_63 "x: name too long" },
};

START_TEST(test_unknown)
{
	char	 text[200];

	with(unknown[_i].first, unknown[_i].n);
	o.process = unknown[_i].process;
	ck_assert_int_eq(RUN(NULL), 125);
	snprintf(text, sizeof(text), "execsrvctl: %s\n", unknown[_i].why);
	ck_said(text, "");
	did_forget();
}
END_TEST

START_TEST(test_no_list)
{
	with(0, 1);
	list = NULL;
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: s: no list\n", "");
	ck_did(RESUME "list 10000; list 10000; close");
	/* Nobody knows then whether there are others. */
	cannot = "execsrvProcessList";
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(RESUME "attach p1; free; close");
	o.process = "7";
	ck_assert_int_eq(RUN(started, exited, closed), 3);
	ck_did(RESUME "attach 7; free; close");
	o.process = NAME_63 "x";
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: " NAME_63 "x: name too long\n", "");
	did_forget();
}
END_TEST

START_TEST(test_refused)
{
	with(1, 1);
	start_error = EINVAL;
	ck_assert_int_eq(RUN(NULL), 125);
	ck_said("execsrvctl: q: Invalid argument\n", "");
	ck_did(ATTACH "q; close");	/* it runs on */
	start_error = 0;
	strcpy(why.text, "bad");
	ck_assert_int_eq(RUN(refused), 125);
	ck_said("execsrvctl: q: bad\n", "");
	ck_did(ATTACH "q" END);
	/* One of others is not ended. */
	ck_assert_int_eq(RUN(started, lost), 125);
	ck_said("execsrvctl: it is lost\n", "");
	ck_did(ATTACH "q; hint U; free; close");
}
END_TEST

#define LEFT		"; free; close"
#define DETACHED	"\nexecsrvctl: detached; \"attach s\" again\n"
#define SIZE		"; raw 0; size 24x80"

START_TEST(test_keys)
{
	with(0, 1);
	ck_assert_int_eq(RUN(started, keys, nothing, nothing), 0);
	ck_said(DETACHED, "");
	ck_did(ATTACH "p" SIZE "; write ab" LEFT);
	ck_assert_int_eq(RUN(started, keys_alone, nothing, nothing), 0);
	ck_said(DETACHED, "");
	ck_did(ATTACH "p" SIZE LEFT);
	ck_assert_int_eq(RUN(started, first_key, nothing, second_key, nothing,
	    nothing), 0);
	ck_said(DETACHED, "");
	ck_did(ATTACH "p" SIZE "; write ab" LEFT);
	ck_assert_int_eq(RUN(started, first_key, nothing, not_second, nothing,
	    exited, closed), 3);
	ck_did(ATTACH "p" SIZE "; write ab; write ^P; write ef"
	    END);
	ck_assert_int_eq(RUN(started, second_key, nothing, exited, closed), 3);
	ck_did(ATTACH "p" SIZE "; write \021cd" END);
	/* Without a terminal they are input. */
	with(1, 1);
	ck_assert_int_eq(RUN(started, keys, nothing, exited, closed), 3);
	ck_did(ATTACH "q; write ab\020\021cd" END);
}
END_TEST

START_TEST(test_hangup)
{
	with(1, 1);
	ck_assert_int_eq(RUN(started, hangup, nothing), 0);
	ck_said(DETACHED, "");
	ck_did(ATTACH "q" LEFT);
}
END_TEST

/* The same of its input and its output, where the signal comes late. */
static int	 terminal;

static void
open_terminal(int there)
{
	int	 fd, unlocked = 0;

	ck_assert_int_ne(terminal = posix_openpt(O_RDWR | O_NOCTTY), -1);
	ck_assert_int_eq(ioctl(terminal, TIOCSPTLCK, &unlocked), 0);
	ck_assert_int_ne(fd = open(ptsname(terminal), O_RDWR | O_NOCTTY), -1);
	ck_assert_int_eq(dup2(fd, there), there);
	ck_assert_int_eq(close(fd), 0);
}

static void
terminal_goes(void)
{
	ck_assert_int_eq(close(terminal), 0);
}

START_TEST(test_terminal_goes)
{
	int	 fd;

	with(1, 1);
	for (fd = 0; fd < 3; fd += 2) {
		open_terminal(fd);
		ck_assert_int_eq(RUN(started, terminal_goes, both, nothing), 0);
		ck_said(DETACHED, "");
		ck_did(ATTACH "q" LEFT);
		pair(input, STDIN_FILENO);
	}
}
END_TEST

/* One of its own goes on to its end. */
START_TEST(test_own_terminal_goes)
{
	o.tty = true;
	open_terminal(STDIN_FILENO);
	ck_assert_int_eq(RUN(started, terminal_goes, nothing, exited, closed),
	    3);
	ck_did("open U me; start in /w sandbox 0 tty 24x80; c; -x; raw 0; "
	    "write ^D; free; end session 1000; close");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("run_attach");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_process);
	tcase_add_loop_test(tc, test_unknown, 0, 4);
	tcase_add_test(tc, test_no_list);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_keys);
	tcase_add_test(tc, test_hangup);
	tcase_add_test(tc, test_terminal_goes);
	tcase_add_test(tc, test_own_terminal_goes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
