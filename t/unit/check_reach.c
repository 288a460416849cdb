/*
 * common/client/reach.c: what the library makes of execsrv-reach, whose part
 * shell scripts play.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/limit.h"
#include "t/unit/peer_help.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))
#define GREET	"read -r a; printf '%s\\n' " \
		"'{\"id\":1,\"result\":{\"sessionId\":\"s\"}}'; read -r b; "
#define READY	"echo '{\"ready\":true}'; " GREET
#define URL	"wss://example.org:7"

static char			 dir[64], path[96];
static struct execsrv_error	 e;
static struct execsrv_options	 o;

/* It finds what it was asked in $ask; files beside $0 are ours, too. */
static void
script(const char *words)
{
	FILE	*f;

	if (dir[0] == '\0') {
		snprintf(dir, sizeof(dir), "/tmp/check_reach.XXXXXX");
		ck_assert_ptr_nonnull(mkdtemp(dir));
		snprintf(path, sizeof(path), "%s/reach", dir);
	}
	unlink(path);
	ck_assert_ptr_nonnull(f = fopen(path, "we"));
	fprintf(f, "#!/bin/sh\nPATH=/usr/bin:/bin\nread -r ask\n%s\n", words);
	fclose(f);
	ck_assert_int_eq(chmod(path, 0700), 0);
	memset(&o, 0, sizeof(o));
	o.reach_program = path;
}

static void
start(const char *words)
{
	script(words);
	e.text[0] = '\0';
	x = execsrv_open(URL, &o, &e);
}

static void
stop(void)
{
	char	 command[128];

	execsrv_close(&x);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
	dir[0] = '\0';
}

/* What it is told, and what it is not. */
START_TEST(test_asked)
{
	ck_assert_int_eq(setenv("A_SECRET", "x", 1), 0);
	ck_assert_int_eq(setenv("https_proxy", "http://p:1", 1), 0);
	script("[ \"$ask\" = '{\"url\":\"" URL "\",\"token\":\"t\\\"\\\\\","
	    "\"caFile\":\"/ca\",\"connectMs\":4000,"
	    "\"silenceMs\":7000}' ] || exit 1;"
	    "[ $# = 0 ] && [ -z \"$A_SECRET\" ] && [ -z \"$HOME\" ] &&"
	    "[ \"$https_proxy\" = http://p:1 ] || exit 1;" READY "cat >&2");
	o.bearer_token = "t\"\\";
	o.ca_file = "/ca";
	o.connect_ms = 4000;
	o.silence_ms = 7000;
	x = execsrv_open(URL, &o, &e);
	ck_assert_msg(x != NULL, "%s", e.text);
	ck_assert(!execsrv_is_local(x));
	ck_assert_str_eq(execsrv_session(x), "s");
	stop();
}
END_TEST

static const struct {
	const char	*words, *why;
} bad[] = {
	{ "echo '{\"error\":\"no \\u0007\",\"permanent\":true}'",
	    URL ": no ?" },
	{ "echo '{\"error\":\"no\",\"permanent\":false}'",
	    URL ": no" },
	{ "exit 3", "the server ended with status 3 before it answered" },
	{ "echo hello; exec sleep 1000",
	    "execsrv-reach sent a malformed answer" },
	{ "echo '[]'; exec sleep 1000",
	    "execsrv-reach sent a malformed answer" },
	{ "echo '{\"ready\":false}'; exec sleep 1000",
	    "execsrv-reach sent a malformed answer" },
	{ "echo '{\"error\":1,\"permanent\":true}'; exec sleep 1000",
	    "execsrv-reach sent a malformed answer" },
	{ "echo '{\"method\":\"m\"}'; exec sleep 1000",
	    "execsrv-reach sent a malformed answer" },
	{ "echo '{\"ready\":true}'; read -r a;"
	    "echo '{\"id\":1,\"error\":{\"code\":-5,\"message\":\"m\"}}';"
	    "exec sleep 1000", "m" },
	{ "echo '{\"ready\":true}'; read -r a;"
	    "echo '{\"error\":\"cut\",\"permanent\":false}'",
	    URL ": cut" },
	{ "echo '{\"ready\":true}'; echo '{\"error\":\"cut\"}'",
	    "the server sent a message that is not JSON-RPC" },
};

START_TEST(test_bad)
{
	unsigned	 before = peer_descriptors();

	start(bad[_i].words);
	ck_assert_ptr_null(x);
	ck_assert_str_eq(e.text, bad[_i].why);
	stop();
	ck_assert_uint_eq(peer_descriptors(), before);
}
END_TEST

START_TEST(test_silent)
{
	script(_i == 0 ? "exec sleep 1000" :
	    "echo '{\"ready\":true}'; exec sleep 1000");
	o.connect_ms = _i == 0 ? 100 : 0;
	o.initialize_ms = 100;
	ck_assert_ptr_null(x = execsrv_open(URL, &o, &e));
	ck_assert_str_eq(e.text, _i == 0 ? "the server does not answer" :
	    "the server does not answer initialize");
	stop();
}
END_TEST

START_TEST(test_not_there)
{
	script("");
	o.reach_program = "/nonexistent/reach";
	ck_assert_ptr_null(x = execsrv_open(URL, &o, &e));
	ck_assert_str_eq(e.text, "/nonexistent/reach: No such file or "
	    "directory");
	stop();
}
END_TEST

START_TEST(test_too_long)
{
	static char	 url[8192] = "wss://";

	memset(url + 6, 'a', sizeof(url) - 7);
	script("");
	ck_assert_ptr_null(x = execsrv_open(url, &o, &e));
	ck_assert_ptr_nonnull(strstr(e.text, "longer than"));
	stop();
}
END_TEST

/* The second time it resumes; the third time it is told never to come back. */
START_TEST(test_again)
{
	char	 third[128];

	start("[ -e $0.1 ] || { >$0.1; " READY "exit 0; }\n"
	    "[ -e $0.2 ] || { >$0.2; echo '{\"ready\":true}'; read -r a;"
	    "case $a in *'\"resumeSessionId\":\"s\"'*) ;; *) exit 1;; esac;"
	    "echo '{\"id\":2,\"result\":{\"sessionId\":\"s\"}}'; read -r b;"
	    "echo '{\"error\":\"cut\",\"permanent\":false}'; exit 0; }\n"
	    ">$0.3; echo '{\"error\":\"no\",\"permanent\":true}'");
	ck_assert_msg(x != NULL, "%s", e.text);
	while (execsrv_wait(x, EXECSRV_FOREVER) == 0)
		continue;
	ck_assert_str_eq(execsrv_why(x)->text, "the connection was lost: no");
	snprintf(third, sizeof(third), "%s.3", path);
	ck_assert_int_eq(access(third, F_OK), 0);
	stop();
}
END_TEST

#define CAN	"'{\"id\":1,\"result\":{\"sessionId\":\"s\"," \
		"\"environmentInfo\":{\"capabilities\":{" \
		"\"execsrvReceipts\":true}}}}'"
#define IS(line, bytes)	"[ \"$" line "\" = '{\"method\":" \
		"\"session/received\",\"params\":{\"bytes\":'" bytes "'}}' ] " \
		"|| exit 1;"

/*
 * A server that takes receipts gets one at once, the next for LIMIT_RECEIPT
 * bytes more, and hears of them in front of what it sends after a cut.
 */
START_TEST(test_receipts)
{
	char	 words[2048], third[128];

	snprintf(words, sizeof(words),
	    "[ -e $0.1 ] || { echo '{\"ready\":true}'; read -r a;"
	    "case $a in *Receipts*) exit 1;; esac; l=" CAN "; echo $l;"
	    "read -r b; read -r c; n=${#l};" IS("c", "$n")
	    "m='{\"method\":\"x\",\"params\":\"'$(head -c %u /dev/zero |"
	    "tr '\\0' a)'\"}'; echo $m; echo $m; read -r d;"
	    "n=$((n + 2 * ${#m}));" IS("d", "$n") ">$0.1; exit 0; }\n"
	    "[ -e $0.2 ] || { echo '{\"ready\":true}'; read -r a;"
	    "case $a in *'Id\":\"s\",\"execsrvReceipts\":true}'*) ;;"
	    " *) exit 1;; esac; l='{\"id\":2,\"result\":{\"sessionId\":"
	    "\"s\"}}'; echo $l; read -r b; read -r c; n=${#l};" IS("c", "$n")
	    ">$0.2; exit 0; }\n"
	    ">$0.3; echo '{\"error\":\"no\",\"permanent\":true}'",
	    (unsigned)LIMIT_RECEIPT / 2);
	start(words);
	ck_assert_msg(x != NULL, "%s", e.text);
	while (execsrv_wait(x, EXECSRV_FOREVER) == 0)
		continue;
	ck_assert_str_eq(execsrv_why(x)->text, "the connection was lost: no");
	snprintf(third, sizeof(third), "%s.3", path);
	ck_assert_int_eq(access(third, F_OK), 0);
	stop();
}
END_TEST

static Suite *
reach_suite(void)
{
	Suite	*s = suite_create("reach");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_asked);
	tcase_add_loop_test(t, test_bad, 0, (int)COUNT(bad));
	tcase_add_loop_test(t, test_silent, 0, 2);
	tcase_add_test(t, test_not_there);
	tcase_add_test(t, test_too_long);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_receipts);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(reach_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
