/*
 * common/client: a server of one's own, a message a line.  The servers are
 * shell scripts.
 */
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "t/unit/peer_help.h"

#define GREET	"read -r a; printf '%s\\n' " \
		"'{\"id\":1,\"result\":{\"sessionId\":\"s\"}}'; read -r b; "

static struct execsrv_error	 e;

static void
spawn(const char *script)
{
	const char	*argv[] = { "sh", "-c", script, NULL };

	e.text[0] = '\0';
	x = execsrv_spawn_local(argv, NULL, &e);
}

static void
on_json(void *arg, const char *result, size_t len,
    const struct execsrv_error *why)
{
	ck_assert_ptr_null(why);
	ck_assert_uint_eq(len, strlen(arg));
	ck_assert_int_eq(memcmp(result, arg, len), 0);
	*(char *)arg = '\0';
}

static void
on_note(void *arg, const char *method, const char *params, size_t len)
{
	(void)params;
	ck_assert_uint_eq(len, 0);
	strcat(arg, method);
}

/* Lines in pieces, with CR, blank ones, several at once. */
START_TEST(test_lines)
{
	static const char	 params[] = "{\"a\":\n\"\\n\"\r\n}";
	char			 notes[16] = "", want[] = "7";
	unsigned		 before = peer_descriptors();

	spawn(GREET "read -r c; case $c in "
	    "*'\"m\",\"params\":{\"a\": \"\\n\"'*)"
	    " printf '{\"method\":\"a\"}\\r\\n\\n  \\n{\"meth';"
	    " printf 'od\":\"b\"}\\n{\"id\":2,\"result\":7}\\n';; esac;"
	    " cat >/dev/null");
	ck_assert_msg(x != NULL, "%s", e.text);
	ck_assert(execsrv_is_local(x));
	execsrv_on_note(x, on_note, notes);
	ck_assert_int_eq(execsrv_call_json(x, "m", params, strlen(params),
	    on_json, want), 0);
	while (want[0] != '\0')
		ck_assert_int_eq(execsrv_wait(x, EXECSRV_FOREVER), 0);
	ck_assert_str_eq(notes, "ab");
	execsrv_close(&x);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_uint_eq(peer_descriptors(), before);
}
END_TEST

static const struct {
	const char	*script, *why;
} bad[] = {
	{ "exit 0", "the server ended with status 0 before it answered" },
	{ "read -r a; exit 7", "the server ended with status 7 before it "
	    "answered" },
	{ "kill -KILL $$", "the server ended with status 137 before it "
	    "answered" },
	{ "exec >&- <&-; exec sleep 1000", "the server closed the connection" },
	{ "read -r a; echo hello", "a message that is not JSON-RPC" },
	{ "read -r a; printf '\\377\\n'; exec sleep 1000", "not UTF-8" },
	{ "read -r a; echo '{\"id\":1,\"error\":{\"code\":-5,\"message\":"
	    "\"no\"}}'; exec sleep 1000", "no" },
	{ "read -r a; echo '{\"id\":1,\"result\":{}}'; exec sleep 1000",
	    "answer to initialize is malformed" },
};

/* Whatever it does: no child and no descriptor is left. */
START_TEST(test_bad)
{
	unsigned	 before = peer_descriptors();

	spawn(bad[_i].script);
	ck_assert_ptr_null(x);
	ck_assert_msg(strstr(e.text, bad[_i].why) != NULL ||
	    strstr(e.text, "connection was lost") != NULL, "%s", e.text);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_uint_eq(peer_descriptors(), before);
}
END_TEST

START_TEST(test_not_there)
{
	static const char	*argv[] = { "/nonexistent/program", NULL };
	unsigned		 before = peer_descriptors();

	ck_assert_ptr_null(execsrv_spawn_local(argv, NULL, &e));
	ck_assert_str_eq(e.text, "/nonexistent/program: No such file or "
	    "directory");
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_uint_eq(peer_descriptors(), before);
}
END_TEST

START_TEST(test_silent)
{
	static const char		*argv[] = { "sleep", "1000", NULL };
	struct execsrv_options		 o = { .initialize_ms = 50 };

	ck_assert_ptr_null(execsrv_spawn_local(argv, &o, &e));
	ck_assert_str_eq(e.text, "the server does not answer initialize");
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* One that ends, sooner or later: no other connection is tried. */
START_TEST(test_ends)
{
	spawn(GREET "exit 0");
	if (x == NULL)
		ck_assert_msg(strstr(e.text, "ended with status 0") != NULL ||
		    strstr(e.text, "closed the connection") != NULL, "%s",
		    e.text);
	while (x != NULL && execsrv_wait(x, EXECSRV_FOREVER) == 0)
		continue;
	if (x != NULL)
		ck_assert_int_eq(execsrv_status(x), EXECSRV_FAILED);
	execsrv_close(&x);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(test_no_command)
{
	static const char *const	 none[] = { NULL };

	ck_assert_ptr_null(execsrv_spawn_local(none, NULL, &e));
	ck_assert_str_eq(e.text, "no command to start");
	e.text[0] = '\0';
	ck_assert_ptr_null(execsrv_spawn_local(NULL, NULL, &e));
	ck_assert_str_eq(e.text, "no command to start");
	ck_assert_ptr_null(execsrv_open(NULL, NULL, &e));
	ck_assert_str_eq(e.text, "no URL to connect to");
}
END_TEST

/* One that neither its end of input nor SIGTERM ends. */
START_TEST(test_stubborn)
{
	spawn("trap '' TERM; " GREET "while :; do sleep 0.1; done");
	ck_assert_msg(x != NULL, "%s", e.text);
	execsrv_close(&x);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* It does not begin with what we ignore or block. */
START_TEST(test_signals)
{
	sigset_t	 set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, SIG_IGN);
	spawn("grep -q 'SigBlk:.0000000000000000' /proc/self/status || exit 1;"
	    /* But for the two that are libc's own. */
	    "grep -q 'SigIgn:.0000000[01][08]0000000' /proc/self/status ||"
	    "exit 1;"
	    GREET "cat >/dev/null");
	ck_assert_msg(x != NULL, "%s", e.text);
	execsrv_close(&x);
}
END_TEST

static Suite *
spawn_suite(void)
{
	Suite	*s = suite_create("spawn");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_lines);
	tcase_add_loop_test(t, test_bad, 0,
	    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(t, test_no_command);
	tcase_add_test(t, test_not_there);
	tcase_add_test(t, test_silent);
	tcase_add_test(t, test_ends);
	tcase_add_test(t, test_stubborn);
	tcase_add_test(t, test_signals);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(spawn_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
