/*
 * common/client: recovery, with a clock of our own and a server that says what
 * each test wants.  Every legal move of the state machine, and no other.
 *
 * lint-ok: long, as one server serves every case.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "t/unit/peer_help.h"

#define STATES	(EXECSRV_GONE + 1)

static uint64_t			 now;		/* of the client, ms */
static struct execsrv_process	*p;

static uint64_t
fake_clock(void)
{
	return now;
}

/* A session that can be resumed. */
static void
start(void)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };

	peer_start();
	now = 1000000;
	x->transport.clock = fake_clock;
	x->transport.last_sent = x->transport.last_heard = now;
	strcpy(x->opening.session, "s");
	ck_assert_ptr_nonnull(x->opening.name = strdup("test"));
	peer_listen("check_recover");
	strcpy(un.sun_path, peer_path);
	x->opening.address.addr.un = un;
	x->opening.address.len = sizeof(un);
	strcpy(x->opening.address.host, "localhost");
	strcpy(x->opening.address.path, "/");
}

static void
stop(void)
{
	peer_unlisten();
	peer_stop();
}

static void
ck_turn(enum execsrv_state want)
{
	ck_assert_int_eq(peer_step(), want == EXECSRV_GONE ? -1 : 0);
	ck_assert_int_eq(x->state, want);
}

static void
ck_upgrading(void)
{
	ck_turn(EXECSRV_CONNECTING);
	ck_assert(transport_is_upgrading(&x->transport));
}

static void
lose(void)
{
	close(peer);
	peer = -1;
	ck_turn(EXECSRV_WAITING);
}

static void
to_connecting(void)
{
	lose();
	now += (uint64_t)execsrv_wait_ms(x);
	ck_turn(EXECSRV_CONNECTING);
}

static void
to_upgrading(void)
{
	to_connecting();
	ck_upgrading();
	peer_accept();
}

/* The number of the initialize that asks for the session. */
static unsigned
ck_initialize(void)
{
	struct ws_event	 ev = peer_heard();
	unsigned	 id;
	char		 text[256], want[256];

	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	snprintf(text, sizeof(text), "%.*s", (int)ev.len, (char *)ev.data);
	ck_assert_int_eq(sscanf(text, "{\"id\":%u,", &id), 1);
	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"initialize\","
	    "\"params\":{\"clientName\":\"test\",\"resumeSessionId\":\"s\"%s}}",
	    id, execsrv_can(x, "execsrvHold") ? ",\"execsrvHold\":true" : "");
	ck_assert_str_eq(text, want);
	return id;
}

static unsigned
to_resuming(void)
{
	to_upgrading();
	peer_upgraded();
	ck_turn(EXECSRV_INITIALIZING);
	return ck_initialize();
}

static void
resumed(unsigned id, enum execsrv_state want)
{
	peer_say("{\"id\":%u,\"result\":{\"sessionId\":\"s\"}}", id);
	ck_turn(want);
	peer_ck_heard("{\"method\":\"initialized\"}");
}

/* Through all of it, with nothing to catch up with. */
static void
again(void)
{
	resumed(to_resuming(), EXECSRV_OPEN);
}

/* --- processes --- */

static void
hook_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	static const char *const	 names[] = { "start", "write",
					    "close_stdin", "signal",
					    "terminate", "resize" };

	peer_note("%s%s", (char *)arg, names[what]);
	if (e != NULL)
		peer_note(" %lld %s", (long long)e->code, e->text);
	peer_note(";");
}

static void
hook_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	(void)stream;
	peer_note("%s%.*s;", (char *)arg, (int)len, (const char *)data);
}

static void
hook_exited(void *arg, int exit_code, bool sandbox_denied)
{
	peer_note("%sexit %d%s;", (char *)arg, exit_code,
	    sandbox_denied ? " denied" : "");
}

static void
hook_closed(void *arg)
{
	peer_note("%sclosed;", (char *)arg);
}

static void
hook_lost(void *arg, const struct execsrv_error *e)
{
	peer_note("%slost %s;", (char *)arg, e->text);
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = hook_answer, .on_output = hook_output,
	.on_exited = hook_exited, .on_closed = hook_closed, .on_lost = hook_lost
};

static char	 one[] = "", other[] = "other: ";

static struct execsrv_process *
ask_process(char *name)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv_process		*q;

	ck_assert_ptr_nonnull(q = execsrv_process_start(x, &s, &hooks, name));
	return q;
}

/* One that runs, and has said "one". */
static void
start_process(void)
{
	start();
	p = ask_process(one);
	(void)peer_heard();
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("start;one;");
}

static void
ck_read(unsigned id, const char *process, unsigned after)
{
	char	 want[256];

	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"process/read\","
	    "\"params\":{\"processId\":\"%s\",\"afterSeq\":%u,\"waitMs\":0,"
	    "\"maxBytes\":1048576}}", id, process, after);
	peer_ck_heard(want);
}

/* --- every arrow --- */

static const unsigned	 arrows[STATES] = {
#define TO(state)	(1u << EXECSRV_##state)
	[EXECSRV_WAITING] = TO(CONNECTING) | TO(GONE),
	[EXECSRV_CONNECTING] = TO(INITIALIZING) | TO(WAITING) | TO(LOST) |
	    TO(GONE),
	[EXECSRV_INITIALIZING] = TO(CATCHING_UP) | TO(LOST) | TO(GONE),
	[EXECSRV_CATCHING_UP] = TO(OPEN) | TO(LOST) | TO(GONE),
	[EXECSRV_OPEN] = TO(LOST) | TO(GONE),
	[EXECSRV_LOST] = TO(WAITING) | TO(GONE),
	[EXECSRV_GONE] = 0,
#undef TO
};

static bool
is_legal(int i)
{
	return (arrows[i / STATES] >> (i % STATES) & 1) != 0;
}

START_TEST(test_moves)
{
	start();
	x->state = (enum execsrv_state)(_i / STATES);
	if (is_legal(_i)) {
		execsrv_set_state(x, (enum execsrv_state)(_i % STATES));
		ck_assert_int_eq(x->state, _i % STATES);
	}
	stop();
}
END_TEST

START_TEST(test_no_moves)
{
	start();
	x->state = (enum execsrv_state)(_i / STATES);
	peer_unlisten();
	fclose(stderr);				/* assert() says a lot */
	execsrv_set_state(x, (enum execsrv_state)(_i % STATES));
}
END_TEST

/* CONNECTING -> INITIALIZING -> CATCHING_UP -> OPEN, and all before. */
START_TEST(test_round)
{
	start();
	ck_assert_int_eq(execsrv_status(x), EXECSRV_CONNECTED);
	lose();
	ck_assert_int_eq(execsrv_status(x), EXECSRV_RECOVERING);
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	ck_turn(EXECSRV_CONNECTING);
	ck_upgrading();
	peer_accept();
	peer_upgraded();
	ck_turn(EXECSRV_INITIALIZING);
	resumed(ck_initialize(), EXECSRV_OPEN);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_CONNECTED);
	ck_assert_str_eq(execsrv_why(x)->text, "");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	/* And once more. */
	again();
	stop();
}
END_TEST

/* Lost by a call of the caller's: a turn has to come at once. */
START_TEST(test_lost_between)
{
	start();
	to_connecting();
	ck_assert_int_eq(execsrv_lose(x, EXECSRV_WHY_CONNECT, "gone"), -1);
	ck_assert_int_eq(x->state, EXECSRV_LOST);
	ck_assert_int_eq(execsrv_wait_ms(x), 0);
	ck_turn(EXECSRV_WAITING);
	ck_assert_int_gt(execsrv_wait_ms(x), 0);
	stop();
}
END_TEST

START_TEST(test_open_to_gone)
{
	start();
	x->recovery.recover_ms = 0;
	close(peer);
	peer = -1;
	ck_turn(EXECSRV_GONE);
	ck_assert_str_eq(execsrv_why(x)->text, "the server closed the "
	    "connection");
	stop();
}
END_TEST

static void
ck_given_up(void)
{
	now += 25000;
	ck_turn(EXECSRV_GONE);
	ck_assert_int_eq(strncmp(execsrv_why(x)->text, "the connection was "
	    "lost: ", 25), 0);
	ck_turn(EXECSRV_GONE);
}

START_TEST(test_deadline)
{
	start();
	if (_i == 0)
		lose();
	else if (_i == 1)
		to_connecting();
	else if (_i == 2)
		to_upgrading();
	else
		(void)to_resuming();
	ck_given_up();
	stop();
}
END_TEST

#define GONE	"the connection was lost"

/* Why it was lost is told once. */
static const char	*const reasons[][2] = {
	{ GONE ": it broke", GONE ": it broke" },
	{ GONE, GONE }, { "it broke", GONE ": it broke" },
	{ "the connection was los", GONE ": the connection was los" },
};

START_TEST(test_reason)
{
	start();
	lose();
	snprintf(x->recovery.why.text, sizeof(x->recovery.why.text), "%s",
	    reasons[_i][0]);
	now += 25000;
	ck_turn(EXECSRV_GONE);
	ck_assert_str_eq(execsrv_why(x)->text, reasons[_i][1]);
	stop();
}
END_TEST

/* To the millisecond, however often it is tried. */
START_TEST(test_deadline_exact)
{
	uint64_t	 began;

	start();
	x->recovery.recover_ms = _i == 0 ? 25000 : 700;
	unlink(peer_path);			/* nobody is there */
	lose();
	began = now;
	while (now < began + (uint64_t)x->recovery.recover_ms - 1) {
		ck_assert_int_eq(peer_step(), 0);
		ck_assert_int_eq(x->state, EXECSRV_WAITING);
		ck_assert_int_gt(execsrv_wait_ms(x), 0);
		now++;
	}
	ck_turn(EXECSRV_WAITING);
	now++;
	ck_turn(EXECSRV_GONE);
	ck_assert_str_eq(execsrv_why(x)->text, "the connection was lost: "
	    "cannot connect: No such file or directory");
	stop();
}
END_TEST

/* 100 ms at first, twice as long each time, 1 s at most, an eighth less. */
START_TEST(test_pauses)
{
	static const unsigned	 pauses[] = { 100, 200, 400, 800, 1000, 1000,
				    1000 };
	size_t			 i;
	int			 ms;

	start();
	unlink(peer_path);
	lose();
	now += (uint64_t)_i;		/* chance comes from the time */
	for (i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		ck_turn(EXECSRV_WAITING);
		ms = execsrv_wait_ms(x);
		ck_assert_int_le(ms, (int)pauses[i]);
		ck_assert_int_ge(ms, (int)(pauses[i] - pauses[i] * 7 / 32));
		now += (uint64_t)ms - 1;
		ck_turn(EXECSRV_WAITING);
		ck_assert_int_eq(execsrv_wait_ms(x), 1);
		now++;
	}
	stop();
}
END_TEST

/* CONNECTING -> WAITING: nobody answers, or says no. */
START_TEST(test_connecting_ends)
{
	struct sockaddr_in	 in = { .sin_family = AF_INET };
	socklen_t		 len = sizeof(in);
	int			 fd;

	start();
	x->opening.connect_ms = 3000;
	to_connecting();
	now += 2999;
	x->state = EXECSRV_CONNECTING;
	ck_assert_int_eq(execsrv_handle(x, 0), 0);
	ck_assert_int_eq(x->state, EXECSRV_CONNECTING);
	now++;
	ck_assert_int_eq(execsrv_handle(x, 0), 0);
	ck_assert_int_eq(x->state, EXECSRV_WAITING);
	ck_assert_str_eq(x->recovery.why.text, "the server does not answer");
	/* A port where nobody listens. */
	fd = socket(AF_INET, SOCK_STREAM, 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	x->opening.address.addr.in = in;
	x->opening.address.len = sizeof(in);
	now += 1000;
	ck_turn(EXECSRV_CONNECTING);
	while (x->state == EXECSRV_CONNECTING)
		ck_assert_int_eq(peer_step(), 0);
	ck_assert_int_eq(x->state, EXECSRV_WAITING);
	ck_assert_str_eq(x->recovery.why.text,
	    "cannot connect: Connection refused");
	close(fd);
	stop();
}
END_TEST

/* UPGRADING -> WAITING: silence, the end, or "come back later". */
START_TEST(test_upgrading_ends)
{
	static const char	 later[] = "HTTP/1.1 503 Later\r\n\r\n";

	start();
	to_upgrading();
	if (_i == 0) {
		now += 10000;
		ck_turn(EXECSRV_WAITING);
	} else if (_i == 1) {
		close(peer);
		peer = -1;
		ck_turn(EXECSRV_WAITING);
	} else {
		peer_put(later, strlen(later));
		ck_turn(EXECSRV_WAITING);
	}
	stop();
}
END_TEST

/* UPGRADING -> GONE: whoever answers does not let us in. */
START_TEST(test_upgrading_refused)
{
	static const char	*answers[] = { "HTTP/1.1 401 No\r\n\r\n",
				    "HTTP/1.1 200 OK\r\n\r\n", "?\r\n\r\n" };

	start();
	to_upgrading();
	peer_put(answers[_i], strlen(answers[_i]));
	ck_turn(EXECSRV_GONE);
	stop();
}
END_TEST

/* RESUMING -> WAITING: the old connection is not missed yet, or silence. */
START_TEST(test_resuming_ends)
{
	unsigned	 id;

	start();
	x->opening.initialize_ms = 4000;
	id = to_resuming();
	if (_i == 0) {
		now += 3999;
		ck_turn(EXECSRV_INITIALIZING);
		now++;
		ck_turn(EXECSRV_WAITING);
	} else if (_i == 1) {
		close(peer);
		peer = -1;
		ck_turn(EXECSRV_WAITING);
	} else {
		x->recovery.backoff = 1000;
		peer_say("{\"id\":%u,\"error\":{\"code\":-32010,\"message\":"
		    "\"attached\"}}", id);
		ck_turn(EXECSRV_WAITING);
		/* Soon again. */
		ck_assert_int_le(execsrv_wait_ms(x), 100);
		now += 100;
		ck_turn(EXECSRV_CONNECTING);
		ck_upgrading();
		peer_accept();
		peer_upgraded();
		ck_turn(EXECSRV_INITIALIZING);
		resumed(ck_initialize(), EXECSRV_OPEN);
	}
	stop();
}
END_TEST

/* RESUMING -> GONE: at once, with one error that stays. */
START_TEST(test_resuming_refused)
{
	struct execsrv_error	 why;

	start();
	peer_say("{\"id\":%u,\"error\":{\"code\":-32600,\"message\":\"unknown "
	    "session id s\"}}", to_resuming());
	ck_turn(EXECSRV_GONE);
	why = *execsrv_why(x);
	ck_assert_str_eq(why.text, "the connection was lost, and the session "
	    "cannot be resumed: unknown session id s");
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, NULL, NULL), -1);
	now += 100000;
	ck_turn(EXECSRV_GONE);
	ck_assert_str_eq(execsrv_why(x)->text, why.text);
	stop();
}
END_TEST

/* CATCHING_UP -> WAITING: silence, or lost again. */
START_TEST(test_catching_up_ends)
{
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	if (_i == 0) {
		now += 9999;
		/* It talks: as long as that takes. */
		peer_say("{\"method\":\"x\"}");
		ck_turn(EXECSRV_CATCHING_UP);
		now += 9999;
		ck_turn(EXECSRV_CATCHING_UP);
		now++;
	} else {
		close(peer);
		peer = -1;
	}
	ck_turn(EXECSRV_WAITING);
	peer_ck_trace("");
	stop();
}
END_TEST

/* CATCHING_UP -> GONE: more waits than anybody should keep. */
START_TEST(test_catching_up_fails)
{
	size_t	 len = (size_t)60 * 1024 * 1024;
	char	*big = malloc(len);
	int	 i, r = 0;

	ck_assert_ptr_nonnull(big);
	memset(big, ' ', len);
	big[0] = '[';
	big[len - 1] = ']';
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	for (i = 0; i < 3 && r == 0; i++)
		r = execsrv_call(x, "m", big, len, NULL, NULL);
	ck_assert_int_eq(i, 3);
	ck_assert_int_eq(r, -1);
	ck_turn(EXECSRV_GONE);
	free(big);
	stop();
}
END_TEST

/* A server that says goodbye, or something before it, may be back as well. */
START_TEST(test_goodbye)
{
	start();
	unlink(peer_path);
	peer_frame(0x88, "\x03\xe9", 2);	/* 1001 */
	ck_turn(EXECSRV_WAITING);
	now += 24999;
	ck_turn(EXECSRV_WAITING);
	now++;
	ck_turn(EXECSRV_GONE);
	stop();
}
END_TEST

/* A line that is dead without a word is found in 35 s. */
START_TEST(test_silence)
{
	start();
	ck_assert_int_eq(execsrv_wait_ms(x), 15000);
	now += 14999;
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	now++;
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(peer_heard().type, WS_EV_PING);
	if (_i == 0) {
		/* Any sign of life will do. */
		now += 19000;
		peer_frame(0x8a, NULL, 0);
		ck_turn(EXECSRV_OPEN);
		ck_assert_int_eq(execsrv_wait_ms(x), 15000);
	} else {
		now += 19999;
		ck_turn(EXECSRV_OPEN);
		ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
		now++;
		ck_turn(EXECSRV_WAITING);
		ck_assert_str_eq(x->recovery.why.text,
		    "the server does not answer a ping");
	}
	stop();
}
END_TEST

/* Or sooner, if the caller wants that; in the same proportion. */
START_TEST(test_short_silence)
{
	start();
	x->transport.silence_ms = 7000;
	ck_assert_int_eq(execsrv_wait_ms(x), 3000);
	now += 3000;
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(peer_heard().type, WS_EV_PING);
	ck_assert_int_eq(execsrv_wait_ms(x), 4000);
	now += 3999;
	ck_turn(EXECSRV_OPEN);
	now++;
	ck_turn(EXECSRV_WAITING);
	ck_assert_str_eq(x->recovery.why.text,
	    "the server does not answer a ping");
	stop();
}
END_TEST

/* Who did not look for long does not blame the server. */
START_TEST(test_late)
{
	start();
	now += 3600000;
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(peer_heard().type, WS_EV_PING);
	ck_assert_int_eq(execsrv_wait_ms(x), 20000);
	now += 3600000;
	peer_frame(0x8a, NULL, 0);
	ck_turn(EXECSRV_OPEN);
	/* Held, nothing is read: nothing is missed either. */
	execsrv_hold(x, true);
	now += 3600000;
	ck_turn(EXECSRV_OPEN);
	execsrv_hold(x, false);
	ck_assert_int_eq(execsrv_wait_ms(x), 15000);
	stop();
}
END_TEST

/* --- what was on its way --- */

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
on_path(void *arg, const struct execsrv_path *r, const struct execsrv_error *e)
{
	ck_assert_ptr_null(e);
	peer_note("%s=%s;", (char *)arg, r->path);
}

static void
on_done(void *arg, const struct execsrv_error *e)
{
	peer_note("%s: %s;", (char *)arg, e != NULL ? e->text : "done");
}

#define LOST	"the connection was lost before the answer"

START_TEST(test_requests)
{
	struct execsrv_fs_path		 look = { .path = "/a" };
	struct execsrv_fs_remove	 gone = { .path = "/a" };
	char				 a[] = "a", b[] = "b", c[] = "c",
					 d[] = "d";

	start();
	ck_assert_int_eq(execsrv_fs_canonicalize(x, &look, on_path, a), 0);
	ck_assert_int_eq(execsrv_fs_remove(x, &gone, on_done, b), 0);
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, c), 0);
	lose();
	/* Never again, as nobody knows whether it was done. */
	peer_ck_trace("b: " LOST ";c: 0 " LOST ";");
	/* New ones wait. */
	ck_assert_int_eq(execsrv_call_json(x, "n", NULL, 0, on_json, d), 0);
	ck_turn(EXECSRV_CONNECTING);
	ck_upgrading();
	peer_accept();
	peer_upgraded();
	ck_turn(EXECSRV_INITIALIZING);
	resumed(ck_initialize(), EXECSRV_OPEN);
	/* What only looks is asked again, under its old number. */
	peer_ck_heard("{\"id\":1,\"method\":\"fs/canonicalize\",\"params\":"
	    "{\"path\":\"file:///a\"}}");
	peer_ck_heard("{\"id\":4,\"method\":\"n\",\"params\":null}");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_say("{\"id\":1,\"result\":{\"path\":\"file:///b\"}}");
	peer_say("{\"id\":4,\"result\":1}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("a=/b;d=1;");
	stop();
}
END_TEST

/* Input goes again, under the numbers by which the server knows it. */
START_TEST(test_input)
{
	unsigned	 id;

	start_process();
	ck_assert_int_eq(execsrv_process_write(p, "x", 1), 0);
	(void)peer_heard();
	ck_assert_int_eq(execsrv_process_signal(p, "SIGHUP"), 0);
	id = to_resuming();
	peer_ck_trace("signal 0 " LOST ";");
	ck_assert_int_eq(execsrv_process_write(p, "y", 1), 0);
	resumed(id, EXECSRV_CATCHING_UP);
	ck_read(6, "p1", 1);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_say("{\"id\":6,\"result\":{\"chunks\":[],\"nextSeq\":2}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_heard("{\"id\":2,\"method\":\"process/write\",\"params\":"
	    "{\"processId\":\"p1\",\"writeId\":\"w1\",\"chunk\":\"eA==\"}}");
	peer_ck_heard("{\"id\":5,\"method\":\"process/write\",\"params\":"
	    "{\"processId\":\"p1\",\"writeId\":\"w2\",\"chunk\":\"eQ==\"}}");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	stop();
}
END_TEST

/* A start that was not answered: an error, and what may run is ended. */
START_TEST(test_start)
{
	start();
	p = ask_process(one);
	again();
	peer_ck_trace("start 0 " LOST ";");
	peer_ck_heard("{\"id\":3,\"method\":\"process/terminate\",\"params\":"
	    "{\"processId\":\"p1\"}}");
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	/* Whatever it says: it was told to have failed. */
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	peer_say("{\"id\":3,\"result\":{\"running\":true}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("");
	stop();
}
END_TEST

/* --- what processes said meanwhile --- */

START_TEST(test_catch_up)
{
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_read(3, "p1", 1);
	/* Live ones, before the answer that has the missing ones. */
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":4,\"stream\":\"stdout\",\"chunk\":\"Zm91cg==\"}}");
	ck_turn(EXECSRV_CATCHING_UP);
	peer_ck_trace("");
	peer_say("{\"id\":3,\"result\":{\"chunks\":[{\"seq\":2,\"stream\":"
	    "\"stdout\",\"chunk\":\"dHdv\"},{\"seq\":3,\"stream\":\"stdout\","
	    "\"chunk\":\"dGhyZWU=\"},{\"seq\":4,\"stream\":\"stdout\","
	    "\"chunk\":\"Zm91cg==\"}],\"nextSeq\":5,\"exited\":false}}");
	ck_turn(EXECSRV_CATCHING_UP);
	peer_ck_trace("two;three;four;");
	ck_read(4, "p1", 4);
	peer_say("{\"id\":4,\"result\":{\"chunks\":[],\"nextSeq\":5}}");
	ck_turn(EXECSRV_OPEN);
	stop();
}
END_TEST

/* How much was asked for. */
static void
ck_size(unsigned want)
{
	struct ws_event	 ev = peer_heard();
	char		 text[256], *at;

	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	snprintf(text, sizeof(text), "%.*s", (int)ev.len, (char *)ev.data);
	ck_assert_ptr_nonnull(at = strstr(text, "\"maxBytes\":"));
	ck_assert_uint_eq(strtoul(at + 11, NULL, 10), want);
}

/*
 * A line that holds for little is asked for little, and goes on so for as long
 * as there is something to catch up with: a server that keeps 1 MiB forgot what
 * was asked for in too big pieces again and again.
 */
START_TEST(test_catch_up_size)
{
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_size(1 << 20);
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_size(1 << 18);
	peer_say("{\"id\":5,\"result\":{\"chunks\":[{\"seq\":2,\"stream\":"
	    "\"stdout\",\"chunk\":\"dHdv\"}],\"nextSeq\":3}}");
	ck_turn(EXECSRV_CATCHING_UP);
	peer_ck_trace("two;");
	ck_size(1 << 18);
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_size(1 << 18);
	peer_say("{\"id\":8,\"result\":{\"chunks\":[],\"nextSeq\":3}}");
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":3,\"stream\":\"stdout\",\"chunk\":\"dHdv\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("two;");
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_size(1 << 20);
	stop();
}
END_TEST

static void
ck_hold(unsigned id, unsigned after)
{
	char	 want[256];

	snprintf(want, sizeof(want), "{\"id\":%u,\"method\":\"process/read\","
	    "\"params\":{\"processId\":\"p1\",\"afterSeq\":%u,\"waitMs\":0,"
	    "\"maxBytes\":1048576,\"execsrvHold\":true}}", id, after);
	peer_ck_heard(want);
}

/* New output waits for what was missed, but not for a process nobody wants. */
START_TEST(test_catch_up_holds)
{
	start_process();
	x->opening.caps = ~0U;
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_hold(3, 1);
	peer_say("{\"id\":3,\"result\":{\"chunks\":[{\"seq\":2,\"stream\":"
	    "\"stdout\",\"chunk\":\"dHdv\"}],\"nextSeq\":3}}");
	ck_turn(EXECSRV_CATCHING_UP);
	peer_ck_trace("two;");
	ck_hold(4, 2);
	if (_i == 1) {
		peer_say("{\"id\":4,\"result\":{\"chunks\":[],\"nextSeq\":3}}");
		ck_turn(EXECSRV_OPEN);
	}
	execsrv_process_free(&p);
	if (_i == 0)
		peer_ck_heard("{\"id\":5,\"method\":\"process/read\","
		    "\"params\":{\"processId\":\"p1\",\"maxBytes\":1}}");
	else
		ck_assert_ptr_null(TAILQ_FIRST(&x->calls.list));
	stop();
}
END_TEST

/* An exit has no chunk: it is the one number that is missing in the end. */
START_TEST(test_catch_up_ends)
{
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_read(3, "p1", 1);
	peer_say("{\"id\":3,\"result\":{\"chunks\":[{\"seq\":%d,\"stream\":"
	    "\"stdout\",\"chunk\":\"dHdv\"}],\"nextSeq\":%d,"
	    "\"exited\":%s,\"exitCode\":7,\"closed\":%s}}", 3 + (_i == 1),
	    4 + (_i == 1), _i == 2 ? "false" : "true",
	    _i == 2 ? "false" : "true");
	ck_turn(_i == 2 ? EXECSRV_OPEN : EXECSRV_CATCHING_UP);
	if (_i < 2) {
		peer_ck_trace("");
		ck_read(4, "p1", 3 + (unsigned)_i);
		peer_say("{\"id\":4,\"result\":{\"chunks\":[],\"nextSeq\":%d,"
		    "\"exited\":true,\"exitCode\":7,\"closed\":true,"
		    "\"sandboxDenied\":true}}", 5 + _i);
		ck_turn(EXECSRV_OPEN);
	}
	if (_i == 0)
		peer_ck_trace("exit 7 denied;two;closed;");
	else			/* 1: two are missing, one was output */
		peer_ck_trace("lost output was lost: the server no "
		    "longer has it;");
	stop();
}
END_TEST

START_TEST(test_catch_up_exit)
{
	start_process();
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	(void)peer_heard();
	peer_say("{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":4,"
	    "\"exited\":true,\"exitCode\":7,\"closed\":true,"
	    "\"sandboxDenied\":true}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("exit 7 denied;closed;");
	stop();
}
END_TEST

/* An exit that was told is not told again: only the end is missing. */
START_TEST(test_catch_up_after_exit)
{
	start_process();
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"exitCode\":7,\"sandboxDenied\":false}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("exit 7;");
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	(void)peer_heard();
	peer_say("{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":4,"
	    "\"exited\":true,\"exitCode\":7,\"closed\":true,"
	    "\"sandboxDenied\":false}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("closed;");
	stop();
}
END_TEST

/* A gap is the end of that process, and of no other. */
START_TEST(test_gap)
{
	struct execsrv_process	*q;

	start_process();
	q = ask_process(other);
	(void)peer_heard();
	peer_say("{\"id\":2,\"result\":{\"processId\":\"p2\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("other: start;");
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_read(4, "p1", 1);
	ck_read(5, "p2", 0);
	peer_say("{\"id\":4,\"error\":{\"code\":-32600,\"message\":\"unknown "
	    "process id p1\"}}");
	peer_say("{\"id\":5,\"result\":{\"chunks\":[],\"nextSeq\":1}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("lost unknown process id p1;");
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p2\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("other: one;");
	execsrv_process_free(&q);
	stop();
}
END_TEST

/* Notifications before the answer to initialize are no surprise. */
START_TEST(test_early_notes)
{
	unsigned	 id;

	start_process();
	id = to_resuming();
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"stream\":\"stdout\",\"chunk\":\"dHdv\"}}");
	ck_turn(EXECSRV_INITIALIZING);
	peer_ck_trace("two;");
	resumed(id, EXECSRV_CATCHING_UP);
	ck_read(3, "p1", 2);
	stop();
}
END_TEST

/* Half a message of the old connection is nothing on the new one. */
START_TEST(test_generations)
{
	static const char	 half[] = "\x81\x7e\x01\x00{\"method\":\"proc";

	start_process();
	peer_put(half, sizeof(half) - 1);
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(execsrv_process_write(p, "x", 1), 0);
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_read(4, "p1", 1);
	peer_say("{\"id\":4,\"result\":{\"chunks\":[],\"nextSeq\":2}}");
	ck_turn(EXECSRV_OPEN);
	/* An answer to a request of the old one that was settled. */
	peer_ck_trace("");
	ck_assert_int_eq(peer_heard().type, WS_EV_MESSAGE);	/* write */
	peer_say("{\"id\":2,\"result\":{\"status\":\"accepted\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("write;");
	stop();
}
END_TEST

/* An exit that was being asked about is asked for with the rest. */
START_TEST(test_compatibility_read)
{
	start_process();
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"exitCode\":7}}");
	ck_turn(EXECSRV_OPEN);
	ck_assert_int_eq(peer_heard().type, WS_EV_MESSAGE);	/* read */
	peer_ck_trace("");
	resumed(to_resuming(), EXECSRV_CATCHING_UP);
	ck_read(4, "p1", 1);
	peer_say("{\"id\":4,\"result\":{\"chunks\":[],\"nextSeq\":4,"
	    "\"exited\":true,\"exitCode\":7,\"closed\":true,"
	    "\"sandboxDenied\":true}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("exit 7 denied;closed;");
	stop();
}
END_TEST

/* --- what a connection takes with it --- */

static void
on_body(void *arg, const void *data, size_t len)
{
	(void)arg;
	peer_note("%.*s;", (int)len, (const char *)data);
}

START_TEST(test_streams)
{
	static const struct execsrv_http_hooks		 h = {
		.on_body = on_body, .on_done = on_done
	};
	static const struct execsrv_transfer_hooks	 t = {
		.on_data = on_body
	};
	struct execsrv_http_request	 in = { .method = "GET", .url = "u" };
	struct execsrv_file		 f = { .path = "/f" };
	struct execsrv_transfer		*transfer;
	struct execsrv_http		*http;
	char				 name[] = "http";

	start();
	http = execsrv_http_request(x, &in, &h, name);
	transfer = execsrv_file_read(x, &f, &t, NULL);
	peer_say("{\"id\":1,\"result\":{\"status\":200,\"headers\":[]}}");
	peer_say("{\"id\":2,\"result\":{}}");
	peer_say("{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"h1\",\"seq\":1,\"deltaBase64\":\"b25l\"}}");
	ck_turn(EXECSRV_OPEN);
	peer_ck_trace("one;");
	lose();
	/* At once, not when there is another one. */
	peer_ck_trace("http: the connection was lost before the end of the "
	    "body;");
	execsrv_http_free(&http);
	execsrv_transfer_free(&transfer);
	ck_assert(TAILQ_EMPTY(&x->transfers.live));
	stop();
}
END_TEST

START_TEST(test_token)
{
	struct execsrv_options	 o = { .bearer_token = "s3cret",
				    .no_wait = true };
	struct execsrv_error	 e;
	struct execsrv		*made;

	start();
	ck_assert_ptr_nonnull(made = execsrv_open("ws://127.0.0.1:1", &o, &e));
	x->opening.token = made->opening.token;
	made->opening.token = NULL;
	execsrv_free(&made);
	to_upgrading();
	ck_assert_ptr_nonnull(strstr(peer_request,
	    "\r\nAuthorization: Bearer s3cret\r\n"));
	stop();
}
END_TEST

static Suite *
recover_suite(void)
{
	Suite	*s = suite_create("recover");
	TCase	*t = tcase_create("all");
	int	 i;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_moves, 0, STATES * STATES);
	for (i = 0; i < STATES * STATES; i++)
		if (!is_legal(i))
			tcase_add_loop_test_raise_signal(t, test_no_moves,
			    SIGABRT, i, i + 1);
	tcase_add_test(t, test_round);
	tcase_add_test(t, test_lost_between);
	tcase_add_test(t, test_open_to_gone);
	tcase_add_loop_test(t, test_deadline, 0, 4);
	tcase_add_loop_test(t, test_reason, 0, 4);
	tcase_add_loop_test(t, test_deadline_exact, 0, 2);
	tcase_add_loop_test(t, test_pauses, 0, 8);
	tcase_add_test(t, test_connecting_ends);
	tcase_add_loop_test(t, test_upgrading_ends, 0, 3);
	tcase_add_loop_test(t, test_upgrading_refused, 0, 3);
	tcase_add_loop_test(t, test_resuming_ends, 0, 3);
	tcase_add_test(t, test_resuming_refused);
	tcase_add_loop_test(t, test_catching_up_ends, 0, 2);
	tcase_add_test(t, test_catching_up_fails);
	tcase_add_test(t, test_goodbye);
	tcase_add_loop_test(t, test_silence, 0, 2);
	tcase_add_test(t, test_short_silence);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_input);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_catch_up);
	tcase_add_test(t, test_catch_up_size);
	tcase_add_loop_test(t, test_catch_up_holds, 0, 2);
	tcase_add_loop_test(t, test_catch_up_ends, 0, 3);
	tcase_add_test(t, test_catch_up_exit);
	tcase_add_test(t, test_catch_up_after_exit);
	tcase_add_test(t, test_gap);
	tcase_add_test(t, test_early_notes);
	tcase_add_test(t, test_generations);
	tcase_add_test(t, test_compatibility_read);
	tcase_add_test(t, test_streams);
	tcase_add_test(t, test_token);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(recover_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
