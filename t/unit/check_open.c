/*
 * common/client: opening a connection without waiting, step by step, with a
 * clock of our own and a server that says what each test wants.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/clock.h"
#include "common/limit.h"
#include "t/unit/peer_help.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static uint64_t	 now;			/* of the client, ms */
static char	 url[80];

static uint64_t
fake_clock(void)
{
	return now;
}

static void
listen_unix(void)
{
	peer_listen("check_open");
	snprintf(url, sizeof(url), "unix:%s", peer_path);
}

static void
begin(const struct execsrv_options *more)
{
	struct execsrv_options	 o = { .no_wait = true };
	struct execsrv_error	 e = { .text = "" };

	if (more != NULL)
		o = *more;
	peer = -1;
	trace[0] = '\0';
	now = clock_ms();
	x = execsrv_open(url, &o, &e);
	ck_assert_msg(x != NULL, "%s", e.text);
	x->transport.clock = fake_clock;
	x->recovery.attempt_at = now;
	x->recovery.deadline = now + (uint64_t)(x->opening.open_ms > 0 ?
	    x->opening.open_ms : x->opening.connect_ms);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_OPENING);
	ck_assert_str_eq(execsrv_why(x)->text, "");
}

static void
start(void)
{
	listen_unix();
	begin(NULL);
}

static void
stop(void)
{
	peer_unlisten();
	if (peer == -1)
		peer = open("/dev/null", O_RDONLY);
	peer_stop();
}

static void
ck_turn(enum execsrv_state want)
{
	ck_assert_int_eq(peer_step(), want == EXECSRV_GONE ? -1 : 0);
	ck_assert_int_eq(x->state, want);
	if (want != EXECSRV_GONE && want != EXECSRV_OPEN)
		ck_assert_int_eq(execsrv_status(x), EXECSRV_OPENING);
}

static void
to_upgrading(void)
{
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	ck_turn(EXECSRV_CONNECTING);
	ck_turn(EXECSRV_CONNECTING);
	ck_assert(transport_is_upgrading(&x->transport));
	peer_accept();
}

static void
to_initializing(void)
{
	to_upgrading();
	peer_upgraded();
	ck_turn(EXECSRV_INITIALIZING);
}

static void
ck_failed(const char *why, int64_t code)
{
	ck_assert_int_eq(execsrv_status(x), EXECSRV_FAILED);
	ck_assert_str_eq(execsrv_why(x)->text, why);
	ck_assert_int_eq(execsrv_why(x)->code, code);
}

/* --- */

START_TEST(test_round)
{
	start();
	to_initializing();
	peer_ck_heard("{\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"clientName\":\"libexecsrv\"}}");
	ck_assert_ptr_null(execsrv_session(x));
	peer_say("{\"id\":1,\"result\":{\"sessionId\":\"s\"}}");
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_CONNECTED);
	ck_assert_str_eq(execsrv_session(x), "s");
	peer_ck_heard("{\"method\":\"initialized\"}");
	/* One that is lost later is another matter. */
	close(peer);
	peer = -1;
	ck_assert_int_eq(peer_step(), 0);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_RECOVERING);
	stop();
}
END_TEST

static void
on_json(void *arg, const char *result, size_t len,
    const struct execsrv_error *e)
{
	if (e != NULL)
		peer_note("%s: %lld %s;", (char *)arg, (long long)e->code,
		    e->text);
	else
		peer_note("%s=%.*s;", (char *)arg, (int)len, result);
}

static void
on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	(void)arg;
	peer_note("%d%s;", what, e != NULL ? e->text : "");
}

static const struct execsrv_hooks	 hooks = { .on_answer = on_answer };

/* What is asked meanwhile is sent behind the greeting, in its order. */
START_TEST(test_requests)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv_process		*p;
	char				 name[] = "m";

	start();
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, name),
	    0);
	ck_assert_ptr_nonnull(execsrv_process_attach(x, "old", &hooks, NULL));
	to_initializing();
	ck_assert_ptr_nonnull(p = execsrv_process_start(x, &s, &hooks, NULL));
	ck_assert_int_eq(execsrv_process_terminate(p, 0), 0);
	peer_ck_heard("{\"id\":2,\"method\":\"initialize\",\"params\":"
	    "{\"clientName\":\"libexecsrv\"}}");
	peer_say("{\"id\":2,\"result\":{\"sessionId\":\"s\"}}");
	ck_assert_int_eq(peer_step(), 0);
	ck_assert_int_eq(x->state, EXECSRV_CATCHING_UP);
	peer_ck_heard("{\"method\":\"initialized\"}");
	peer_ck_heard("{\"id\":5,\"method\":\"process/read\",\"params\":"
	    "{\"processId\":\"old\",\"afterSeq\":0,\"waitMs\":0,\"maxBytes\":"
	    "1048576}}");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_say("{\"id\":5,\"result\":{\"chunks\":[],\"nextSeq\":1,"
	    "\"exited\":false,\"closed\":false}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("0;");
	peer_ck_heard("{\"id\":1,\"method\":\"m\",\"params\":null}");
	ck_assert_int_eq(peer_heard().type, WS_EV_MESSAGE);	/* start */
	peer_ck_heard("{\"id\":4,\"method\":\"process/terminate\",\"params\":"
	    "{\"processId\":\"p1\"}}");
	stop();
}
END_TEST

/* Each step has its time, and its words when that is over. */
START_TEST(test_late)
{
	static const char *const	 whys[] = {
		": Connection timed out", ": Connection timed out",
		"the server does not answer",
		"the server does not answer initialize"
	};
	static const enum execsrv_reason reasons[] = {
		EXECSRV_WHY_CONNECT, EXECSRV_WHY_CONNECT,
		EXECSRV_WHY_TIMEOUT, EXECSRV_WHY_TIMEOUT
	};
	struct execsrv_options		 o = { .connect_ms = 3000,
					    .initialize_ms = 7000,
					    .no_wait = true };
	uint64_t			 ms = _i < 3 ? 3000 : 7000;
	char				 why[256], name[] = "m";

	listen_unix();
	begin(&o);
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, name),
	    0);
	if (_i == 1)
		ck_turn(EXECSRV_CONNECTING);
	else if (_i == 2)
		to_upgrading();
	else if (_i == 3)
		to_initializing();
	if (_i > 0)
		ck_assert_int_eq(execsrv_wait_ms(x), (int)ms);
	now += ms - 1;
	if (_i > 1)
		ck_turn(x->state);
	now++;
	ck_turn(EXECSRV_GONE);
	snprintf(why, sizeof(why), "%s%s", _i < 2 ? url : "", whys[_i]);
	ck_failed(why, 0);
	ck_assert_int_eq(execsrv_why(x)->reason, reasons[_i]);
	ck_assert_ptr_nonnull(strstr(trace, "m: 0 "));
	stop();
}
END_TEST

/* The time to connect is one for all attempts. */
START_TEST(test_full)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };
	int			 fds[16], i, n = 0;
	char			 why[256];

	listen_unix();
	ck_assert_int_eq(listen(peer_listener, 0), 0);
	strcpy(un.sun_path, peer_path);
	for (i = 0; i < 16; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fds[i], (struct sockaddr *)&un, sizeof(un)) == -1)
			break;
		n++;
	}
	ck_assert_int_lt(n, 16);
	close(fds[n]);
	begin(NULL);
	for (i = 0; i < 1000; i++) {
		ck_turn(EXECSRV_WAITING);
		ck_assert_int_eq(execsrv_wait_ms(x), 10);
		now += 10;
		/* When there is room it goes on. */
		if (_i == 0 && i == 5)
			break;
	}
	if (_i == 0) {
		for (i = 0; i < n; i++)
			close(accept(peer_listener, NULL, NULL));
		ck_turn(EXECSRV_CONNECTING);
	} else {
		ck_turn(EXECSRV_GONE);
		snprintf(why, sizeof(why), "%s: Connection timed out", url);
		ck_failed(why, 0);
	}
	for (i = 0; i < n; i++)
		close(fds[i]);
	stop();
}
END_TEST

static const struct {
	const char	*answer, *why;
	int64_t		 code;
} refusals[] = {
	{ "{\"id\":1,\"error\":{\"code\":-32010,\"message\":\"attached\"}}",
	    "attached", -32010 },
	{ "{\"id\":1,\"error\":{\"code\":-7,\"message\":\"m\"}}", "m", -7 },
	{ "{\"id\":1,\"result\":{\"sessionId\":7}}",
	    "the server's answer to initialize is malformed", 0 },
	{ "{\"id\":9,\"result\":{}}",
	    "the server sent a response to no request", 0 },
};

START_TEST(test_refused)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	char				 name[] = "m";
	char				 want[128];

	start();
	to_initializing();
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, name),
	    0);
	ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &hooks, NULL));
	peer_say("%s", refusals[_i].answer);
	ck_turn(EXECSRV_GONE);
	ck_failed(refusals[_i].why, refusals[_i].code);
	/* The code is that of the greeting only. */
	snprintf(want, sizeof(want), "m: 0 %s;", refusals[_i].why);
	peer_ck_trace(want);
	ck_turn(EXECSRV_GONE);
	stop();
}
END_TEST

START_TEST(test_ends)
{
	struct execsrv_options	 o = { .no_wait = true, .recover_ms = -1 };

	listen_unix();
	begin(_i == 0 ? NULL : &o);
	if (_i == 0)
		to_upgrading();
	else
		to_initializing();
	shutdown(peer, SHUT_RDWR);
	ck_turn(EXECSRV_GONE);
	ck_failed("the server closed the connection", 0);
	stop();
}
END_TEST

/* A port of ours where nobody listens, or who does on IPv6 only. */
static uint16_t
free_port(int family)
{
	struct sockaddr_in6	 in6 = { .sin6_family = AF_INET6,
				    .sin6_addr = in6addr_loopback };
	struct sockaddr_in	 in = { .sin_family = AF_INET };
	struct sockaddr		*sa = family == AF_INET ?
				    (struct sockaddr *)&in :
				    (struct sockaddr *)&in6;
	socklen_t		 len = family == AF_INET ? sizeof(in) :
				    sizeof(in6);
	uint16_t		 port;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	peer_listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (peer_listener == -1 || bind(peer_listener, sa, len) == -1)
		return 0;
	ck_assert_int_eq(getsockname(peer_listener, sa, &len), 0);
	port = ntohs(family == AF_INET ? in.sin_port : in6.sin6_port);
	return port;
}

START_TEST(test_nobody)
{
	char	 why[256];

	peer_path[0] = '\0';
	snprintf(url, sizeof(url), "ws://%s:%u", _i == 0 ? "127.0.0.1" :
	    "localhost", (unsigned)free_port(AF_INET));
	begin(NULL);
	while (peer_step() == 0)
		continue;
	snprintf(why, sizeof(why), "%s: Connection refused", url);
	ck_failed(why, 0);
	stop();
}
END_TEST

static void
on_status(void *arg, enum execsrv_status status,
    const struct execsrv_error *why)
{
	static const char *const	 names[] = {
		[EXECSRV_CONNECTED] = "connected",
		[EXECSRV_RECOVERING] = "recovering",
		[EXECSRV_FAILED] = "failed", [EXECSRV_OPENING] = "opening",
		[EXECSRV_ENDING] = "ending"
	};

	ck_assert_ptr_eq(arg, &now);
	ck_assert_int_eq(execsrv_status(x), status);
	peer_note("%s%s%s;", names[status], why != NULL ? " " : "",
	    why != NULL ? execsrv_reason_name(why->reason) : "");
}

/* The clock says that the next attempt is due. */
static void
next_attempt(void)
{
	ck_assert_int_eq(x->state, EXECSRV_WAITING);
	ck_assert_int_gt(execsrv_wait_ms(x), 0);
	now = x->recovery.attempt_at;
}

/* Nobody is there, then one that is starting, one that goes, then a server. */
START_TEST(test_tries_on)
{
	static const char	 starting[] = "HTTP/1.1 503 Starting\r\n\r\n";
	struct execsrv_options	 o = { .no_wait = true, .open_ms = 5000 };

	snprintf(url, sizeof(url), "unix:/tmp/check_open.%ld", (long)getpid());
	unlink(url + 5);
	begin(&o);
	execsrv_on_status(x, on_status, &now);
	ck_turn(EXECSRV_WAITING);
	ck_assert_int_eq(recovery_why(&x->recovery)->os_error, ENOENT);
	next_attempt();
	ck_turn(EXECSRV_WAITING);
	listen_unix();
	next_attempt();
	to_upgrading();
	peer_put(starting, sizeof(starting) - 1);
	ck_turn(EXECSRV_WAITING);
	next_attempt();
	to_initializing();
	shutdown(peer, SHUT_RDWR);
	ck_turn(EXECSRV_WAITING);
	next_attempt();
	to_initializing();
	peer_ck_trace("");
	peer_say("{\"id\":2,\"result\":{\"sessionId\":\"s\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("connected;");
	peer_say("{\"method\":\"session/ending\"}");
	ck_assert_int_eq(peer_step(), 0);
	peer_ck_trace("ending;");
	shutdown(peer, SHUT_RDWR);
	ck_assert_int_eq(peer_step(), -1);
	peer_ck_trace("failed ended;");
	stop();
}
END_TEST

/*
 * Lost before the session is known: as if it were lost later, for as long; but
 * where nobody listens any more the server has stopped.
 */
START_TEST(test_lost_before)
{
	struct execsrv_options	 o = { .no_wait = true, .recover_ms = 9000 };

	listen_unix();
	begin(&o);
	to_upgrading();
	peer_upgraded();
	if (_i < 2) {
		ck_turn(EXECSRV_INITIALIZING);
		now += 8000;
	}
	shutdown(peer, SHUT_RDWR);
	ck_turn(EXECSRV_WAITING);
	next_attempt();
	if (_i != 1) {
		to_initializing();
		peer_say("{\"id\":%d,\"result\":{\"sessionId\":\"s\"}}",
		    _i == 0 ? 2 : 1);
		ck_turn(EXECSRV_OPEN);
		ck_assert_str_eq(execsrv_session(x), "s");
	} else {
		peer_unlisten();
		peer_listener = -1;
		peer_path[0] = '\0';
		ck_turn(EXECSRV_GONE);
		ck_assert_int_eq(strncmp(execsrv_why(x)->text,
		    "the server has stopped: ", 24), 0);
		ck_assert_int_eq(execsrv_why(x)->reason, EXECSRV_WHY_CONNECT);
	}
	stop();
}
END_TEST

/* Until the time is over; not if the server wants somebody else. */
START_TEST(test_tries_no_more)
{
	static const char	 no[] = "HTTP/1.1 401 No\r\n\r\n";
	struct execsrv_options	 o = { .no_wait = true, .open_ms = 5000 };

	if (_i == 0)
		snprintf(url, sizeof(url), "unix:/tmp/check_open-none.%ld",
		    (long)getpid());
	else
		listen_unix();
	begin(&o);
	execsrv_on_status(x, on_status, &now);
	if (_i == 0) {
		ck_turn(EXECSRV_WAITING);
		now = x->recovery.deadline;
		ck_turn(EXECSRV_GONE);
		peer_ck_trace("failed connect;");
		ck_assert_int_eq(execsrv_why(x)->os_error, ENOENT);
		peer_listener = -1;
		peer_path[0] = '\0';
	} else {
		to_upgrading();
		peer_put(no, sizeof(no) - 1);
		ck_turn(EXECSRV_GONE);
		peer_ck_trace("failed refused;");
	}
	stop();
}
END_TEST

START_TEST(test_localhost_v6)
{
	uint16_t	 port = free_port(AF_INET6);

	peer_path[0] = '\0';
	if (port == 0)
		return;				/* no IPv6 here */
	ck_assert_int_eq(listen(peer_listener, 5), 0);
	snprintf(url, sizeof(url), "ws://localhost:%u", (unsigned)port);
	begin(NULL);
	while (!transport_is_upgrading(&x->transport))
		ck_assert_int_eq(peer_step(), 0);
	ck_assert_int_eq(x->opening.address.addr.any.sa_family, AF_INET6);
	stop();
}
END_TEST

/* What can be judged at once is. */
START_TEST(test_bad)
{
	struct execsrv_options	 o = { .no_wait = true };
	struct execsrv_error	 e = { .text = "" };

	ck_assert_ptr_null(execsrv_open("ws://1.2.3:1", &o, &e));
	ck_assert_str_ne(e.text, "");
	o.bearer_token = "two words";
	ck_assert_ptr_null(execsrv_open("ws://127.0.0.1:1", &o, &e));
	ck_assert_str_eq(e.text, "the bearer token must have 1 to 4096 "
	    "characters, printable ASCII without blanks");
}
END_TEST

/* It may be given up at any time. */
START_TEST(test_close)
{
	start();
	if (_i == 1)
		ck_turn(EXECSRV_CONNECTING);
	else if (_i == 2)
		to_upgrading();
	else if (_i == 3)
		to_initializing();
	execsrv_close(&x);
	ck_assert_ptr_null(x);
	stop();
}
END_TEST

/* In the loop of somebody else: a descriptor, and nothing that waits. */
START_TEST(test_loop)
{
	struct pollfd	 pfd = { .events = POLLIN };
	int		 n;

	start();
	x->transport.clock = clock_ms;
	ck_assert_int_ne(pfd.fd = execsrv_fd(x), -1);
	for (n = 0; !transport_is_upgrading(&x->transport); n++) {
		ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
		ck_assert_int_eq(execsrv_dispatch(x), 0);
		ck_assert_int_lt(n, 10);
	}
	/* Now it is the server's turn. */
	while (poll(&pfd, 1, 0) == 1)
		ck_assert_int_eq(execsrv_dispatch(x), 0);
	ck_assert_int_ne(peer = accept(peer_listener, NULL, NULL), -1);
	shutdown(peer, SHUT_RDWR);
	ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
	ck_assert_int_eq(execsrv_dispatch(x), -1);
	stop();
}
END_TEST

static Suite *
open_suite(void)
{
	Suite	*s = suite_create("open");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_round);
	tcase_add_test(t, test_requests);
	tcase_add_loop_test(t, test_late, 0, 4);
	tcase_add_loop_test(t, test_full, 0, 2);
	tcase_add_loop_test(t, test_refused, 0, (int)COUNT(refusals));
	tcase_add_loop_test(t, test_ends, 0, 2);
	tcase_add_loop_test(t, test_nobody, 0, 2);
	tcase_add_test(t, test_tries_on);
	tcase_add_loop_test(t, test_lost_before, 0, 3);
	tcase_add_loop_test(t, test_tries_no_more, 0, 2);
	tcase_add_test(t, test_localhost_v6);
	tcase_add_test(t, test_bad);
	tcase_add_loop_test(t, test_close, 0, 4);
	tcase_add_test(t, test_loop);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(open_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
