/*
 * worker/conn/conn.c: when a silent client is asked for a sign of life, and
 * given up.  Time is ours; the line is the kernel's.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/sockios.h>
#include <netinet/in.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/net/ws.h"
#include "worker/conn/conn.h"

#define MUCH		(32 << 20)	/* bytes: no buffer takes so many */

static uint64_t			 now;	/* ms */
static struct event_base	*base;
static struct conn		*conn;
static int			 ours, theirs;
static unsigned			 nended;

int
clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	out->tv_sec = (time_t)(now / 1000);
	out->tv_nsec = (long)(now % 1000 * 1000000);
	return 0;
}

static void
on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	(void)arg;
	(void)text;
	(void)len;
	(void)is_utf8;
}

static void
on_receipt(void *arg, uint64_t pos)
{
	(void)arg;
	(void)pos;
}

static void
on_hungry(void *arg, size_t len)
{
	(void)arg;
	(void)len;
}

static void
on_end(void *arg, const char *why)
{
	(void)arg;
	(void)why;
	nended++;
}

static void
on_gone(void *arg, struct conn *c)
{
	(void)arg;
	(void)c;
	conn_free(&conn);
}

static const struct conn_events	 events = {
	.on_message = on_message, .on_receipt = on_receipt,
	.on_hungry = on_hungry, .on_end = on_end, .on_gone = on_gone
};

/* A connection over loopback, with as little room as there can be. */
static void
connect_them(void)
{
	struct sockaddr_in	 at = { .sin_family = AF_INET };
	socklen_t		 len = sizeof(at);
	int			 fd, small = 4096;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_ne(fd = socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_ne(theirs = socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(setsockopt(theirs, SOL_SOCKET, SO_RCVBUF, &small,
	    sizeof(small)), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	ck_assert_int_eq(connect(theirs, (struct sockaddr *)&at, len), 0);
	ck_assert_int_ne(ours = accept(fd, NULL, NULL), -1);
	ck_assert_int_eq(fd_nonblock(theirs, 1), 0);
	close(fd);
}

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(base, EVLOOP_NONBLOCK), -1);
	if (conn != NULL)
		conn_flush(conn);
}

static void
pass(unsigned ms)
{
	turn();
	now += ms;
	turn();
}

static void
setup(void)
{
	now = 1000000;
	nended = 0;
	connect_them();
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(conn = conn_ws_new(base, ours, &events, NULL));
	turn();
}

static void
teardown(void)
{
	conn_free(&conn);
	event_base_free(base);
	close(theirs);
}

static int
unsent(void)
{
	int	 n;

	ck_assert_int_eq(ioctl(ours, SIOCOUTQ, &n), 0);
	return n;
}

/* Send so much that the line is full, and stays so. */
static void
fill(void)
{
	char	*much = calloc(1, MUCH);
	int	 i, before = -1;

	ck_assert_ptr_nonnull(much);
	ck_assert_int_eq(conn_send(conn, much, MUCH), 0);
	free(much);
	for (i = 0; i < 1000 && (before != unsent() || i < 50); i++) {
		before = unsent();
		turn();
		usleep(1000);
	}
}

/* The peer reads some of it, and its kernel tells ours. */
static void
read_some(void)
{
	char	 room[65536];
	int	 i, before = unsent(), got = 0;

	for (i = 0; i < 20000 && (got < (256 << 10) || unsent() >= before);
	    i++) {
		ssize_t	 n = read(theirs, room, sizeof(room));

		got += n > 0 ? (int)n : 0;
		if (n <= 0)
			usleep(100);
	}
	ck_assert_int_lt(unsent(), before);
}

static void
say(enum ws_opcode op, const char *text)
{
	static const uint8_t	 mask[4];
	uint8_t			 frame[WS_HEADER_MAX + 16];
	size_t			 n, len = strlen(text);

	n = ws_header(frame, true, op, len, mask);
	memcpy(frame + n, text, len);
	ck_assert_int_eq(write(theirs, frame, n + len), (ssize_t)(n + len));
	/* Until it is there. */
	for (len = 0; len < 50; len++) {
		turn();
		usleep(200);
	}
}

/* Whether a ping has come. */
static bool
was_asked(void)
{
	uint8_t	 room[64];
	ssize_t	 n = read(theirs, room, sizeof(room));

	return n > 0 && (room[0] & 15) == WS_PING;
}

START_TEST(test_silence)
{
	pass(LIMIT_PEER_PING - 1);
	ck_assert(!was_asked());
	pass(1);
	ck_assert(was_asked());
	pass(LIMIT_PEER_PONG - 1);
	ck_assert_uint_eq(nended, 0);
	pass(1);
	ck_assert_uint_eq(nended, 1);
}
END_TEST

/* Whatever it says is a sign of life. */
START_TEST(test_sign)
{
	pass(LIMIT_PEER_PING - 1000);
	say(WS_PONG, "x");
	pass(LIMIT_PEER_PING - 1);
	ck_assert(!was_asked());
	pass(1);
	ck_assert(was_asked());
	pass(LIMIT_PEER_PONG - 1);
	say(WS_PING, "x");
	pass(LIMIT_PEER_PING - 1);
	ck_assert_uint_eq(nended, 0);
}
END_TEST

/* The shorter time holds, from when it was asked. */
START_TEST(test_patience)
{
	conn_probe(conn, 2000);
	turn();
	ck_assert(was_asked());
	pass(1000);
	conn_probe(conn, 5000);
	conn_probe(conn, 2000);
	turn();
	ck_assert(!was_asked());
	pass(999);
	ck_assert_uint_eq(nended, 0);
	pass(1);
	ck_assert_uint_eq(nended, 1);
}
END_TEST

START_TEST(test_less_patience)
{
	conn_probe(conn, 5000);
	conn_probe(conn, 1000);
	pass(1000);
	ck_assert_uint_eq(nended, 1);
}
END_TEST

/* Who has much to read first gets more time, as long as that goes on. */
START_TEST(test_reading)
{
	int	 i;

	fill();
	conn_probe(conn, 1000);
	for (i = 0; i < 5; i++) {
		read_some();
		pass(1000);
		ck_assert_uint_eq(nended, 0);
	}
	pass(999);
	ck_assert_uint_eq(nended, 0);
	pass(1);
	ck_assert_uint_eq(nended, 1);
}
END_TEST

/* Behind a relay that is no sign, if somebody else wants the session. */
START_TEST(test_contested)
{
	conn_set_relayed(conn);
	fill();
	conn_probe(conn, LIMIT_TAKEOVER);
	read_some();
	pass(LIMIT_TAKEOVER);
	ck_assert_uint_eq(nended, 1);
}
END_TEST

START_TEST(test_relayed)
{
	conn_set_relayed(conn);
	fill();
	conn_probe(conn, LIMIT_TAKEOVER + 1);
	read_some();
	pass(LIMIT_TAKEOVER + 1);
	ck_assert_uint_eq(nended, 0);
}
END_TEST

/* While nothing is read, silence says nothing. */
START_TEST(test_hungry)
{
	conn_allow(conn, 0);
	say(WS_TEXT, "x");
	pass(LIMIT_PEER_PING);
	ck_assert(was_asked());
	pass(LIMIT_PEER_PONG - 1);
	conn_allow(conn, 0);
	pass(1);
	ck_assert_uint_eq(nended, 0);
	pass(LIMIT_PEER_PING - 1);
	ck_assert(was_asked());
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("silence");
	TCase	*t = tcase_create("silence");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_silence);
	tcase_add_test(t, test_sign);
	tcase_add_test(t, test_patience);
	tcase_add_test(t, test_less_patience);
	tcase_add_test(t, test_reading);
	tcase_add_test(t, test_contested);
	tcase_add_test(t, test_relayed);
	tcase_add_test(t, test_hungry);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
