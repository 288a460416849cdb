/* common/client: servers of one's own, without one: words, news, log. */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/client/serve/serve.h"
#include "common/fd.h"

/* --- words --- */

static void
ck_words(const struct execsrv_serve *conf, const char *want)
{
	struct execsrv_error	  e;
	const char		**v;
	char			 *control, got[2048] = "";
	size_t			  i;

	ck_assert_int_eq(execsrv_serve_check(conf, &e), 0);
	ck_assert_ptr_nonnull(v = execsrv_serve_argv(conf, "/x", &control));
	for (i = 0; v[i] != NULL; i++) {
		strcat(got, v[i]);
		strcat(got, " ");
	}
	ck_assert_str_eq(got, want);
	free(v);
	free(control);
}

START_TEST(test_words)
{
	const char *const	 listen[] = { "ws://127.0.0.1:1", "unix:/s",
				    NULL };
	struct execsrv_serve	 conf = { .listen = NULL };

	ck_words(&conf, "/x -D -f none --notify-fd 4 -o LogFormat=json "
	    "-o RuntimeDirectory=none --exit-on-stdin-close "
	    "--listen ws://127.0.0.1:0 ");
	conf.config = "";
	ck_words(&conf, "/x -D -f /dev/fd/3 --notify-fd 4 -o LogFormat=json "
	    "-o RuntimeDirectory=none --exit-on-stdin-close ");
	conf.config = NULL;
	conf.config_file = "/c";
	conf.listen = listen;
	conf.control = "/run/x";
	conf.log_level = EXECSRV_LOG_DEBUG;
	ck_words(&conf, "/x -D -f /c --notify-fd 4 -o LogFormat=json "
	    "-o RuntimeDirectory=/run/x -o LogLevel=debug "
	    "--exit-on-stdin-close --listen ws://127.0.0.1:1 "
	    "--listen unix:/s ");
}
END_TEST

START_TEST(test_words_remote)
{
	struct execsrv_serve	 conf = { .registry = "https://r",
				    .environment = "e" };

	ck_words(&conf, "/x -D -f none --notify-fd 4 -o LogFormat=json "
	    "-o RuntimeDirectory=none --remote https://r --environment-id e "
	    "--exit-on-stdin-close ");
	conf.name = "n";
	conf.credential = "secret";
	conf.log_level = EXECSRV_LOG_ERROR;
	ck_words(&conf, "/x -D -f none --notify-fd 4 -o LogFormat=json "
	    "-o RuntimeDirectory=none -o LogLevel=error --remote https://r "
	    "--environment-id e --name n --executor-credential-stdin ");
}
END_TEST

static void
ck_refused(const struct execsrv_serve *conf, const char *why)
{
	struct execsrv_error	 e = { .code = 1 };

	ck_assert_int_eq(execsrv_serve_check(conf, &e), -1);
	ck_assert_str_eq(e.text, why);
	ck_assert_int_eq(e.code, 0);
}

START_TEST(test_refused)
{
	const char *const	 urls[][2] = { { "stdio" }, { "ws://a:1" },
				    { "ws://localhost:0" }, { "unix:rel" } };
	struct execsrv_serve	 conf = { .listen = urls[0] };

	ck_refused(&conf, "stdio: neither ws:// nor unix:");
	conf.listen = urls[1];
	ck_refused(&conf, "ws://a:1: not a numeric IP or localhost");
	conf.listen = urls[2];
	ck_refused(&conf, "ws://localhost:0: not a numeric IP");
	conf.listen = urls[3];
	ck_refused(&conf, "unix:rel: not an absolute path");
	conf.listen = NULL;
	conf.environment = "e";
	ck_refused(&conf, "registry and environment must be given together");
	conf.environment = NULL;
	conf.name = "n";
	ck_refused(&conf, "name and credential need a registry");
	conf.registry = "https://r";
	conf.environment = "e";
	conf.credential = "";
	ck_refused(&conf, "credential must be printable ASCII without blanks");
	conf.credential = "a\n";
	ck_refused(&conf, "credential must be printable ASCII without blanks");
	conf.credential = conf.environment = conf.registry = conf.name = NULL;
	conf.config = conf.config_file = "/c";
	ck_refused(&conf, "config and config_file exclude each other");
	conf.config = NULL;
	conf.log_level = EXECSRV_LOG_DEBUG + 1;
	ck_refused(&conf, "log_level is not one of execsrv_log_level");
}
END_TEST

/* --- a server that was not started --- */

static struct execsrv_server	*s;
static int			 news, in;
static char			 trace[16384];

static void
on_log(void *arg, enum execsrv_log_level level, const char *text)
{
	size_t	 n = strlen(trace);

	ck_assert_ptr_eq(arg, trace);
	snprintf(trace + n, sizeof(trace) - n, "%d %s\n", level, text);
}

static void
setup(void)
{
	int	 pair[2];

	ck_assert_ptr_nonnull(s = calloc(1, sizeof(*s)));
	s->log = s->epoll = s->child.pidfd = -1;
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	s->notify = pair[0];
	news = pair[1];
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	s->in = pair[0];
	in = pair[1];
	s->on_log = on_log;
	s->arg = trace;
	trace[0] = '\0';
}

static void
teardown(void)
{
	execsrv_server_free(&s);
	ck_assert_ptr_null(s);
	fd_close(&news);
	fd_close(&in);
}

static void
tell(const char *text)
{
	ck_assert_int_eq(send(news, text, strlen(text), 0),
	    (ssize_t)strlen(text));
	ck_assert_int_eq(execsrv_server_dispatch(s), 0);
}

START_TEST(test_news)
{
	ck_assert_ptr_null(execsrv_server_url(s, 0));
	tell("X_EXECSRV_LISTEN=ws://127.0.0.1:1");
	tell("X_EXECSRV_LISTEN=unix:/s");
	ck_assert(!execsrv_server_is_ready(s));
	tell("STATUS=Serving");
	tell("READY=1");
	ck_assert(execsrv_server_is_ready(s));
	ck_assert_str_eq(execsrv_server_url(s, 0), "ws://127.0.0.1:1");
	ck_assert_str_eq(execsrv_server_url(s, 1), "unix:/s");
	ck_assert_ptr_null(execsrv_server_url(s, 2));
	ck_assert_ptr_null(execsrv_server_registration(s));
	tell("STOPPING=1");
	ck_assert(!execsrv_server_is_ready(s));
}
END_TEST

START_TEST(test_uplinks)
{
	static const char *const	 nonsense[] = {
		"", "1", "1 1", "x 1 connected", "-", "0 1 connected"
	};
	char				 text[64];
	size_t				 i;

	ck_assert_ptr_nonnull(s->environment = strdup("e"));
	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		snprintf(text, sizeof(text), "X_EXECSRV_UPLINK=%s",
		    nonsense[i]);
		tell(text);
		ck_assert_ptr_null(execsrv_server_registration(s));
	}
	tell("READY=1");
	ck_assert(!execsrv_server_is_ready(s));
	tell("X_EXECSRV_UPLINK=2 0 waiting: status 401\033");
	ck_assert_str_eq(execsrv_server_registration(s),
	    "waiting: status 401?");
	tell("X_EXECSRV_UPLINK=1 1 connected");
	ck_assert(!execsrv_server_is_ready(s));
	tell("X_EXECSRV_UPLINK=2 1 connected");
	ck_assert(execsrv_server_is_ready(s));
	ck_assert_str_eq(execsrv_server_registration(s), "connected");
}
END_TEST

/* Before all of its news were read. */
START_TEST(test_end)
{
	ck_assert_int_eq(send(news, "READY=1", 7, 0), 7);
	fd_close(&in);
	ck_assert_int_eq(execsrv_server_dispatch(s), -1);
	ck_assert_int_eq(execsrv_server_dispatch(s), -1);
	ck_assert(!execsrv_server_is_ready(s));
	ck_assert_str_eq(execsrv_server_why(s)->text, "the server exited");
}
END_TEST

/* --- its log --- */

/* In pieces of that size, as far as there is room. */
static void
say(const char *text, size_t piece)
{
	size_t	 n, left = strlen(text);

	for (; left > 0; text += n, left -= n) {
		n = sizeof(s->said) - s->nsaid;
		n = n < piece ? n : piece;
		n = n < left ? n : left;
		memcpy(s->said + s->nsaid, text, n);
		s->nsaid += n;
		execsrv_serve_log(s);
		ck_assert_uint_lt(s->nsaid, sizeof(s->said));
	}
}

START_TEST(test_log)
{
	static const size_t	 pieces[] = { 1, 7, 4096 };

	say("execsrvd: nothing to listen on\n"
	    "{\"time\":\"t\",\"level\":\"info\",\"role\":\"execsrvd\","
	    "\"pid\":1,\"message\":\"stopped \\\"\\u001b\"}\n"
	    "{\"level\":\"warning\",\"role\":\"worker\",\"message\":\"w\"}\n"
	    "\n"
	    "{\"level\":\"loud\",\"role\":\"x\",\"message\":\"y\"}\n"
	    "{\"level\":\"error\"}\n"
	    "half", pieces[_i]);
	ck_assert_str_eq(trace, "1 execsrvd: nothing to listen on\n"
	    "3 execsrvd: stopped \"?\n"
	    "2 worker: w\n"
	    "1 execsrvd: {\"level\":\"loud\",\"role\":\"x\",\"message\":"
	    "\"y\"}\n"
	    "1 execsrvd: {\"level\":\"error\"}\n");
	trace[0] = '\0';
	execsrv_serve_log_end(s);
	ck_assert_str_eq(trace, "1 execsrvd: half\n");
	ck_assert_str_eq(s->why.text, "half");
}
END_TEST

START_TEST(test_reason)
{
	say("{\"level\":\"warning\",\"role\":\"execsrvd\",\"message\":"
	    "\"refused\"}\n"
	    "{\"level\":\"error\",\"role\":\"worker\",\"message\":\"w\"}\n"
	    "{\"level\":\"info\",\"role\":\"execsrvd\",\"message\":"
	    "\"stopped\"}\n", 4096);
	ck_assert_str_eq(s->why.text, "refused");
}
END_TEST

/* One that is too long is cut, the next one whole. */
START_TEST(test_long_line)
{
	char	 text[3 * SERVE_LINE_MAX + 8];

	memset(text, 'x', sizeof(text));
	strcpy(text + sizeof(text) - 8, "\nnext\n");
	say(text, 1000);
	ck_assert_uint_eq(strlen(trace), strlen("1 execsrvd: \n") +
	    SERVE_LINE_MAX + strlen("1 execsrvd: next\n"));
	ck_assert_ptr_nonnull(strstr(trace, "x\n1 execsrvd: next\n"));
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("serve");
	TCase	*pure = tcase_create("words"), *t = tcase_create("server");
	SRunner	*r = srunner_create(suite);
	int	 failed;

	tcase_add_test(pure, test_words);
	tcase_add_test(pure, test_words_remote);
	tcase_add_test(pure, test_refused);
	suite_add_tcase(suite, pure);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_news);
	tcase_add_test(t, test_uplinks);
	tcase_add_test(t, test_end);
	tcase_add_loop_test(t, test_log, 0, 3);
	tcase_add_test(t, test_reason);
	tcase_add_test(t, test_long_line);
	suite_add_tcase(suite, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
