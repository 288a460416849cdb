/*
 * common/client/transport/transport.c without a client: its states, and what
 * its events tell, over a socketpair and on a clock of the test's.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/client/transport/transport_priv.h"

#define STATES	(TRANSPORT_DOWN + 1)

static struct transport	 t;
static uint64_t		 now;
static int		 peer;
static char		 trace[512];

static void
note(const char *what, const char *text, size_t len)
{
	size_t	 n = strlen(trace);

	snprintf(trace + n, sizeof(trace) - n, "%s %.*s;", what, (int)len,
	    text);
}

static void
ck_trace(const char *want)
{
	ck_assert_str_eq(trace, want);
	trace[0] = '\0';
}

static void
on_message(void *arg, char *text, size_t len)
{
	ck_assert_ptr_eq(arg, trace);
	note("message", text, len);
}

static void
on_hello(void *arg, char *text, size_t len)
{
	ck_assert_ptr_eq(arg, trace);
	note("hello", text, len);
	transport_up(&t);
}

static void
on_lost(void *arg, const struct execsrv_error *why)
{
	ck_assert_ptr_eq(arg, trace);
	ck_assert(!transport_is_up(&t));
	note("lost", why->text, strlen(why->text));
}

static void
on_failed(void *arg, const struct execsrv_error *why)
{
	ck_assert_ptr_eq(arg, trace);
	ck_assert(!transport_is_up(&t));
	note("failed", why->text, strlen(why->text));
}

static void
on_change(void *arg)
{
	ck_assert_ptr_eq(arg, trace);
}

static uint64_t
fake_clock(void)
{
	return now;
}

static void
start(bool is_lines)
{
	static const struct transport_events	 events = {
		on_message, on_hello, on_lost, on_failed, on_change
	};
	int					 pair[2];

	trace[0] = '\0';
	ck_assert_int_eq(transport_init(&t, &events, trace), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    pair), 0);
	t.fd = pair[0];
	peer = pair[1];
	t.is_lines = is_lines;
	t.clock = fake_clock;
	now = t.last_sent = t.last_heard = 1000000;
	ck_assert_int_eq(transport_poll_events(&t), 0);
	transport_set_state(&t, TRANSPORT_CONNECTING);
	ck_assert_int_eq(transport_poll_events(&t), POLLOUT);
}

static void
stop(void)
{
	transport_fini(&t);
	ck_assert_int_eq(t.fd, -1);
	close(peer);
}

static void
say(const char *text)
{
	ck_assert_int_eq(send(peer, text, strlen(text), MSG_NOSIGNAL),
	    (ssize_t)strlen(text));
	transport_handle(&t, transport_poll(&t, 0));
}

/* --- every arrow --- */

static const unsigned	 arrows[STATES] = {
#define TO(state)	(1u << TRANSPORT_##state)
	[TRANSPORT_CLOSED] = TO(CONNECTING),
	[TRANSPORT_CONNECTING] = TO(UPGRADING) | TO(UP) | TO(DOWN) |
	    TO(CLOSED),
	[TRANSPORT_UPGRADING] = TO(UP) | TO(DOWN) | TO(CLOSED),
	[TRANSPORT_UP] = TO(DOWN) | TO(CLOSED),
	[TRANSPORT_DOWN] = TO(CLOSED)
#undef TO
};

static bool
is_legal(int i)
{
	return (arrows[i / STATES] >> (i % STATES) & 1) != 0;
}

START_TEST(test_moves)
{
	start(true);
	t.state = (enum transport_state)(_i / STATES);
	if (!is_legal(_i))
		fclose(stderr);		/* assert() says a lot */
	transport_set_state(&t, (enum transport_state)(_i % STATES));
	ck_assert_int_eq(t.state, _i % STATES);
	stop();
}
END_TEST

/* --- events --- */

START_TEST(test_lines)
{
	char	 text[16];

	start(true);
	ck_assert_int_eq(transport_connect_error(&t), 0);
	ck_assert_int_eq(transport_send(&t, "early", 5), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(transport_hello(&t, "who\n", 4), 0);
	ck_assert_int_eq(recv(peer, text, sizeof(text), 0), 4);
	ck_assert(transport_is_upgrading(&t));
	say("me\r\n\n{}\n[");
	ck_trace("hello me;message {};");
	say("]\n\xff\nlate\n");
	ck_trace("message [];lost the server sent a message that is not "
	    "UTF-8;");
	/* Nothing goes in or out any more, and it is told once. */
	say("later\n");
	ck_assert_int_eq(transport_feed(&t, "x\n", 2), -1);
	ck_assert_int_eq(transport_send(&t, "{}", 2), -1);
	ck_assert_int_eq(transport_flush(&t), -1);
	ck_assert_int_eq(transport_lose(&t, EXECSRV_WHY_LOST, "again"), -1);
	ck_assert_int_eq(transport_poll_events(&t), 0);
	ck_trace("");
	stop();
}
END_TEST

/* Closed, it is as new: of the old connection nothing is left. */
START_TEST(test_close)
{
	static char	 much[1 << 20];

	start(true);
	transport_up(&t);
	memset(much, ' ', sizeof(much));
	ck_assert_int_eq(transport_send(&t, much, sizeof(much)), 0);
	ck_assert(transport_has_output(&t));
	ck_assert_int_eq(transport_poll_events(&t), POLLIN | POLLOUT);
	say("half a li");
	transport_close(&t);
	ck_assert(!transport_has_output(&t));
	ck_assert_int_eq(t.fd, -1);
	ck_assert_int_eq(t.state, TRANSPORT_CLOSED);
	ck_assert_uint_eq(t.head.len, 0);
	transport_close(&t);
	transport_stop(&t);
	ck_assert_int_eq(t.state, TRANSPORT_CLOSED);
	ck_trace("");
	stop();
}
END_TEST

START_TEST(test_peer_closes)
{
	start(true);
	transport_up(&t);
	close(peer);
	peer = -1;
	transport_handle(&t, POLLIN);
	ck_trace("lost the server closed the connection;");
	stop();
}
END_TEST

/* --- time --- */

/* A ping after 3/7 of the time, the loss at its end; any byte is a sign. */
START_TEST(test_silence)
{
	char	 frame[16];

	start(false);
	transport_set_silence(&t, 7000);
	transport_up(&t);
	ck_assert_int_eq(transport_wait_ms(&t), 3000);
	now += 2999;
	transport_check_silence(&t);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), -1);
	now++;
	transport_check_silence(&t);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), 6);
	ck_assert_int_eq((unsigned char)frame[0], 0x80 | WS_PING);
	ck_assert_int_eq(transport_wait_ms(&t), 4000);
	say("\x8a");				/* half a pong */
	ck_assert_int_eq(transport_wait_ms(&t), 3000);
	now += 3000;
	transport_check_silence(&t);
	now += 3999;
	transport_check_silence(&t);
	ck_trace("");
	now++;
	transport_check_silence(&t);
	ck_trace("lost the server does not answer a ping;");
	stop();
}
END_TEST

/* --- a slow line --- */

#define RATE	125		/* bytes a ms: 1 Mbit/s */
#define DELAY	10		/* ms, of a pong */

static struct {
	struct ws_reader	 reader;
	uint64_t		 free_at;	/* when all has gone through */
	uint64_t		 pong_at;	/* 0: nothing to answer */
	uint8_t			 pong[16];	/* a frame */
	size_t			 len;
} line;

static void
line_take(const struct ws_event *ev)
{
	if (line.free_at < now)
		line.free_at = now;
	if (ev->type == WS_EV_MESSAGE) {
		line.free_at += ev->len / RATE;
		return;
	}
	ck_assert_int_eq(ev->type, WS_EV_PING);
	ck_assert_uint_eq(line.pong_at, 0);
	ck_assert_uint_le(ev->len, sizeof(line.pong) - 2);
	line.pong[0] = 0x80 | WS_PONG;
	line.pong[1] = (uint8_t)ev->len;
	memcpy(line.pong + 2, ev->data, ev->len);
	line.len = ev->len + 2;
	line.pong_at = line.free_at + DELAY;
}

/* What the client sent is on its way now. */
static void
line_read(void)
{
	struct ws_event	 ev;
	uint8_t		*room;
	size_t		 size;
	ssize_t		 n;

	for (;;) {
		room = ws_reader_room(&line.reader, 4096, &size);
		ck_assert_ptr_nonnull(room);
		if ((n = recv(peer, room, size, 0)) == -1)
			break;
		ws_reader_fed(&line.reader, (size_t)n);
		for (;;) {
			ws_reader_next(&line.reader, &ev);
			if (ev.type == WS_EV_NONE)
				break;
			line_take(&ev);
		}
	}
	ck_assert_int_eq(errno, EAGAIN);
}

static void
line_pong(void)
{
	ck_assert_int_eq(send(peer, line.pong, line.len, MSG_NOSIGNAL),
	    (ssize_t)line.len);
	line.pong_at = 0;
	transport_handle(&t, transport_poll(&t, 0));
	line_read();
}

static void
line_start(void)
{
	start(false);
	transport_up(&t);
	memset(&line, 0, sizeof(line));
	ws_reader_init(&line.reader, true, LIMIT_MESSAGE, LIMIT_MESSAGE);
}

static size_t
line_flood(void)
{
	static char	 blanks[1 << 20];
	size_t		 n, sum = 0;

	memset(blanks, ' ', sizeof(blanks));
	while ((n = transport_room(&t, false)) > 0) {
		ck_assert_uint_le(n, sizeof(blanks));
		ck_assert_int_eq(transport_send(&t, blanks, n), 0);
		line_read();
		sum += n;
	}
	return sum;
}

/* The line is busy all the time, but what is sent next does not wait long. */
START_TEST(test_room)
{
	uint64_t	 begin, most = 0, sum = 0;

	line_start();
	begin = now + 5000;
	for (; now < begin + 30000; now++) {
		if (line.pong_at != 0 && now >= line.pong_at)
			line_pong();
		sum += line_flood();
		if (now < begin)
			sum = 0;
		else if (line.free_at > now + most)
			most = line.free_at - now;
	}
	ck_assert_uint_le(most, 250);
	ck_assert_uint_ge(sum, 30000 * RATE * 9 / 10);
	ck_trace("");
	ws_reader_fini(&line.reader);
	stop();
}
END_TEST

/* It is the pong that counts; a little is always allowed to what has nothing
   under way; of lines, and of what is not up, nothing is known. */
START_TEST(test_room_full)
{
	line_start();
	ck_assert_uint_gt(line_flood(), LIMIT_INFLIGHT_FIRST / 2);
	ck_assert_uint_gt(line.pong_at, 0);
	now += 60;
	say("\x8a\x01x\x81\x02{}");
	ck_trace("message {};");
	ck_assert_uint_eq(transport_room(&t, false), 0);
	ck_assert_uint_eq(transport_room(&t, true), LIMIT_INFLIGHT_MIN / 2);
	while (line.pong_at != 0)
		line_pong();
	ck_assert_uint_gt(transport_room(&t, false), 0);
	line_pong();				/* nobody asked */
	ck_trace("");
	transport_close(&t);
	ck_assert_uint_eq(transport_room(&t, false), SIZE_MAX);
	ws_reader_fini(&line.reader);
	stop();
	start(true);
	transport_up(&t);
	ck_assert_uint_eq(transport_room(&t, false), SIZE_MAX);
	stop();
}
END_TEST

/* --- reading --- */

/* Paused, it does not read, sends pongs unasked, and forgives silence. */
START_TEST(test_paused)
{
	char	 frame[16];

	start(false);
	transport_set_silence(&t, 7000);
	transport_up(&t);
	transport_pause(&t, true);
	ck_assert_int_eq(transport_poll_events(&t), 0);
	say("\x81\x02{}");
	ck_trace("");
	ck_assert_int_eq(transport_wait_ms(&t), 5000);
	now += 4999;
	transport_handle(&t, 0);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), -1);
	now++;
	transport_handle(&t, 0);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), 6);
	ck_assert_int_eq((unsigned char)frame[0], 0x80 | WS_PONG);
	now += 90000;
	transport_pause(&t, false);
	ck_assert_int_eq(transport_wait_ms(&t), 3000);
	transport_handle(&t, transport_poll(&t, 0));
	ck_trace("message {};");
	stop();
}
END_TEST

/* --- a server of our own --- */

/* What it says last tells why it ended. */
START_TEST(test_last_line)
{
	static const char *const	 argv[] = { "/bin/sh", "-c",
		"echo first >&2; printf 'the reason\\n\\n' >&2", NULL };
	struct pollfd			 end = { .events = POLLIN };
	char				 text[64] = "?";

	start(true);
	ck_assert(!transport_last_line(&t, text, sizeof(text)));
	stop();
	ck_assert_int_eq(transport_init(&t, t.events, trace), 0);
	ck_assert_int_eq(transport_spawn(&t, argv, environ, true), 0);
	ck_assert(transport_has_child(&t));
	/* Programs that its owner starts besides get none of it. */
	ck_assert_int_eq(fcntl(t.fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(t.log, F_GETFD), FD_CLOEXEC);
	end.fd = t.child.pidfd;
	ck_assert_int_eq(poll(&end, 1, 30000), 1);
	ck_assert(transport_last_line(&t, text, sizeof(text)));
	ck_assert_str_eq(text, "the reason");
	/* Once: then it has said nothing more. */
	ck_assert(!transport_last_line(&t, text, sizeof(text)));
	transport_fini(&t);
}
END_TEST

static Suite *
transport_suite(void)
{
	Suite	*s = suite_create("transport");
	TCase	*c = tcase_create("all");
	int	 i;

	for (i = 0; i < STATES * STATES; i++)
		if (is_legal(i))
			tcase_add_loop_test(c, test_moves, i, i + 1);
		else
			tcase_add_loop_test_raise_signal(c, test_moves,
			    SIGABRT, i, i + 1);
	tcase_add_test(c, test_lines);
	tcase_add_test(c, test_close);
	tcase_add_test(c, test_peer_closes);
	tcase_add_test(c, test_silence);
	tcase_add_test(c, test_paused);
	tcase_add_test(c, test_room);
	tcase_add_test(c, test_room_full);
	tcase_add_test(c, test_last_line);
	suite_add_tcase(s, c);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(transport_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
