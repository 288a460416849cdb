/*
 * worker/conn/conn.c by itself: when it reads, asks, waits and ends.  Framing,
 * events, the clock and the kernel are ours.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "t/unit/ev_stand_in.h"
#include "t/unit/fault.h"
#include "worker/conn/conn_priv.h"

#define QUEUE_MAX	(2 * (size_t)LIMIT_MESSAGE)
#define LOST		"out of memory for the connection"
#define FRAME		3	/* bytes around a message */

static struct conn	*c;
static struct conn_ops	 ops;
static int		 fds[2];
static uint64_t		 now;
static size_t		 unfinished, room, sent;
static int		 waiting;	/* SIOCOUTQ */
static int		 send_errno;	/* of the next one */
static char		 text[2000];	/* what was sent first */
static bool		 allows;	/* on_hungry() does */

/* --- in the place of the clock and the kernel --- */

uint64_t
clock_ms(void)
{
	return now;
}

uint64_t
clock_us(void)
{
	return now * 1000;
}

ssize_t
send(int fd, const void *data, size_t len, int flags)
{
	ck_assert(fd == fds[0] && flags == MSG_NOSIGNAL && len > 0);
	errno = send_errno;
	if (send_errno != 0) {
		send_errno = 0;
		return -1;
	}
	errno = EAGAIN;
	if (room == 0)
		return -1;
	len = len < room ? len : room;
	if (sent < sizeof(text) - 1)
		memcpy(text + sent, data, len < sizeof(text) - 1 - sent ? len :
		    sizeof(text) - 1 - sent);
	sent += len;
	room -= len;
	return (ssize_t)len;
}

int
shutdown(int fd, int how)
{
	ck_assert(fd == fds[0] && how == SHUT_WR);
	did("shutdown");
	return 0;
}

int
ioctl(int fd, unsigned long request, ...)
{
	va_list	 ap;

	ck_assert(fd == fds[0] && request == TIOCOUTQ);
	if (waiting == -1)
		return -1;
	va_start(ap, request);
	*va_arg(ap, int *) = waiting;
	va_end(ap);
	return 0;
}

/* --- framing, and the owner --- */

static size_t
head_len(size_t len)
{
	(void)len;
	return 2;
}

static size_t
tail_len(size_t len)
{
	(void)len;
	return 1;
}

static void
put_head(char *at, size_t len, bool first, bool last)
{
	ck_assert_uint_gt(len, 0);
	at[0] = first ? '<' : '+';
	at[1] = last ? '=' : '-';
}

static void
put_tail(char *at)
{
	at[0] = '>';
}

static void
on_input(struct conn *of)
{
	ck_assert_ptr_eq(of, c);
	did("input");
}

static size_t
get_unfinished(const struct conn *of)
{
	(void)of;
	return unfinished;
}

static void
ask_receipt(struct conn *of, uint64_t pos, enum conn_place place)
{
	did("ask %llu%s", (unsigned long long)pos,
	    place == CONN_SOON ? " soon" : "");
	ck_assert_int_eq(conn_put(of, place, "PING", 4), 0);
}

static void
put_close(struct conn *of, uint16_t code, const char *why)
{
	did("close %u %s", code, why);
	ck_assert_int_eq(conn_put(of, CONN_IN_TURN, "BYE", 3), 0);
}

static void
on_flushed(struct conn *of)
{
	ck_assert_ptr_eq(of, c);
	did("flushed");
}

static void
trim(struct conn *of)
{
	ck_assert_ptr_eq(of, c);
	did("trim");
}

static void
fini(struct conn *of)
{
	(void)of;
	did("fini");
}

static const struct conn_ops	 all_ops = {
	head_len, tail_len, put_head, put_tail, on_input, get_unfinished,
	ask_receipt, put_close, on_flushed, trim, fini
};

static void
on_receipt(void *arg, uint64_t pos)
{
	ck_assert_ptr_eq(arg, &c);
	did("receipt %llu", (unsigned long long)pos);
}

static void
on_hungry(void *arg, size_t want)
{
	ck_assert_ptr_eq(arg, &c);
	did("hungry %zu", want);
	if (allows)
		conn_allow(c, unfinished + 1);
}

static void
on_end(void *arg, const char *why)
{
	ck_assert_ptr_eq(arg, &c);
	did("end: %s", why);
}

static void
on_gone(void *arg, struct conn *of)
{
	ck_assert(arg == &c && of == c);
	did("gone");
}

static const struct conn_events	 events = {
	NULL, on_receipt, on_hungry, on_end, on_gone
};

static const char *
ev_name(const void *it)
{
	return c == NULL ? "new" : it == &c->read_ev ? "read" :
	    it == &c->write_ev ? "write" : it == &c->timer_ev ? "timer" :
	    it == &c->gone_ev ? "gone" : it == &c->slow_ev ? "slow" : "?";
}

static void
start(bool is_socket)
{
	ck_assert_ptr_nonnull(c = conn_new(sizeof(*c), NULL, fds[0],
	    is_socket ? fds[0] : fds[1], &ops, &events, &c));
	ck_assert((fcntl(fds[0], F_GETFL) & O_NONBLOCK) != 0);
	did_forget();
}

static void
setup(void)
{
	ops = all_ops;
	c = NULL;
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	memset(ev_known, 0, sizeof(ev_known));
	memset(text, 0, sizeof(text));
	now = 1000000;
	room = SIZE_MAX;
	sent = unfinished = 0;
	send_errno = waiting = 0;
	allows = ev_fails = false;
}

static void
teardown(void)
{
	if (c != NULL)
		did_forget();
	conn_free(&c);
	ck_assert_ptr_null(c);
}

/* --- new, freed --- */

START_TEST(test_new)
{
	ck_assert_ptr_nonnull(c = conn_new(sizeof(*c), NULL, fds[0], fds[0],
	    &ops, &events, &c));
	ck_did("start new; set new 15000");
	conn_free(&c);
	ck_did("fini; stop new; stop new");
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), -1);
	/* Without receipts nobody is asked. */
	memset(ev_known, 0, sizeof(ev_known));
	ops.ask_receipt = NULL;
	ops.fini = NULL;
	ck_assert_ptr_nonnull(c = conn_new(sizeof(*c), NULL, fds[1], fds[1],
	    &ops, &events, &c));
	ck_did("start new");
	conn_free(&c);
	ck_did("stop new");
}
END_TEST

/* The descriptors stay the caller's. */
START_TEST(test_new_fails)
{
	if (_i == 3)
		ev_fails = true;
	else if (_i == 0)
		fault_call("calloc", 1);
	else	/* Two calls each. */
		fault_call("fcntl", _i == 1 ? 1 : 3);
	ck_assert_ptr_null(conn_new(sizeof(*c), NULL, fds[0], fds[1], &ops,
	    &events, &c));
	ck_assert(_i == 3 || fault_came());
	ck_did(_i == 0 ? "" : "fini");
	ck_assert_int_ne(fcntl(fds[0], F_GETFD), -1);
	ck_assert_int_ne(fcntl(fds[1], F_GETFD), -1);
}
END_TEST

/* O_NONBLOCK is shared with others. */
START_TEST(test_stdio)
{
	start(false);
	ck_assert((fcntl(fds[1], F_GETFL) & O_NONBLOCK) != 0);
	ck_assert_int_eq(dup3(fds[0], 50, O_CLOEXEC), 50);
	ck_assert_int_eq(dup3(fds[1], 51, O_CLOEXEC), 51);
	conn_free(&c);
	ck_assert_int_eq(fcntl(fds[0], F_GETFD), -1);
	ck_assert_int_eq(fcntl(fds[1], F_GETFD), -1);
	ck_assert((fcntl(50, F_GETFL) & O_NONBLOCK) == 0);
	ck_assert((fcntl(51, F_GETFL) & O_NONBLOCK) == 0);
	close(50);
	close(51);
}
END_TEST

/* --- silence --- */

START_TEST(test_silent)
{
	start(true);
	now += LIMIT_PEER_PING - 1;
	ev_time_is_up(&c->timer_ev);
	ck_did("trim; set timer 1");
	now += 1;
	ev_time_is_up(&c->timer_ev);
	ck_did("ask 0 soon; set timer 15000");
	/* Less patience; not more, nor the same. */
	conn_probe(c, 15000);
	conn_probe(c, 15001);
	ck_did("");
	if (_i == 0) {
		conn_probe(c, 14999);
		ck_did("ask 0 soon; set timer 14999");
		ev_time_is_up(&c->timer_ev);
		ck_did("close 1001 the client does not answer; "
		    "set timer 1000; end: the client does not answer; "
		    "shutdown; set timer 1000");
		return;
	}
	/* It lives: all that is asked is answered. */
	conn_on_bytes(c);
	ck_did("");
	ev_time_is_up(&c->timer_ev);
	ck_did("trim; set timer 15000");
	conn_probe(c, 20000);
	ck_did("ask 0 soon; set timer 20000");
}
END_TEST

/* Who still reads what is before the question has more time. */
START_TEST(test_reading)
{
	start(true);
	ck_assert_int_eq(conn_send(c, "0123456789", 10), 0);
	waiting = 13;
	conn_flush(c);
	ck_did("flushed");
	conn_probe(c, 3000);
	ck_did("ask 10 soon; set timer 3000");
	conn_flush(c);
	did_forget();
	ck_assert_uint_eq(sent, 17);
	if (_i < 2) {
		waiting = _i == 0 ? 16 : 1;
		ev_time_is_up(&c->timer_ev);
		ck_did("set timer 3000");
		/* No further one. */
		ev_time_is_up(&c->timer_ev);
	} else {
		/* None, all, or nobody knows. */
		waiting = _i == 2 ? 17 : _i == 3 ? 0 : -1;
		ev_time_is_up(&c->timer_ev);
	}
	ck_did_begin("close 1001 the client does not answer; ");
}
END_TEST

/* Only messages are life when another wants the session. */
START_TEST(test_contested)
{
	start(true);
	conn_set_relayed(c);
	conn_send(c, "0123456789", 10);
	waiting = 13;
	conn_flush(c);
	conn_probe(c, LIMIT_TAKEOVER + (unsigned)_i);
	conn_flush(c);
	did_forget();
	waiting = 16;
	ck_assert_uint_ne(c->asked, 0);
	conn_on_bytes(c);
	ck_assert_int_eq(c->asked != 0, _i == 0);
	if (_i == 0) {
		ev_time_is_up(&c->timer_ev);
		ck_did_begin("close 1001 the client does not answer; ");
	} else {
		conn_probe(c, LIMIT_TAKEOVER);
		conn_alive(c);
		ck_assert_uint_eq(c->asked, 0);
	}
}
END_TEST

/* A long message: its beginning is what was read before. */
START_TEST(test_probe_long)
{
	char	*big = calloc(1, LIMIT_OUT_READING + 1);

	start(true);
	conn_send(c, "abc", 3);
	ck_assert_int_eq(conn_send(c, big, LIMIT_OUT_READING + 1), 0);
	conn_send(c, "abc", 3);
	ck_assert_uint_eq(conn_pos(c), LIMIT_OUT_READING + 7);
	conn_probe(c, 1);
	ck_did("ask 3 soon; set timer 1");
	conn_ask_receipt(c);
	ck_did("ask 4194311");
	conn_close(c, 1000, "x");
	did_forget();
	conn_probe(c, 0);
	conn_ask_receipt(c);
	ck_did("");
	free(big);
}
END_TEST

/* --- ends --- */

START_TEST(test_close)
{
	start(true);
	room = 1;
	conn_close(c, 1000, "why");
	ck_did("close 1000 why; set timer 1000; end: why; start write");
	conn_close(c, 1000, "again");
	conn_flush(c);
	ck_did("");
	/* It takes something; then no more. */
	ev_time_is_up(&c->timer_ev);
	ck_did("set timer 1000");
	ck_assert_int_eq(conn_send(c, "x", 1), -1);
	if (_i == 0) {
		ev_time_is_up(&c->timer_ev);
		ck_did("stop read; stop write; fire gone");
		ev_time_is_up(&c->gone_ev);
		ck_did("gone");
		ck_assert_int_eq(fcntl(fds[0], F_GETFD), -1);
		ck_assert_int_eq(conn_put(c, CONN_IN_TURN, "x", 1), -1);
		return;
	}
	room = 100;
	c->write_ev.fn(c->write_ev.arg);
	ck_did("shutdown; set timer 1000");
	ck_assert_str_eq(text, "BYE");
	ck_assert_int_eq(conn_put(c, CONN_IN_TURN, "x", 1), -1);
	waiting = 0;
	ev_time_is_up(&c->timer_ev);
	ck_did("stop read; stop write; fire gone");
}
END_TEST

START_TEST(test_end_of_input)
{
	start(_i == 0);
	conn_end_of_input(c, "it closed");
	ck_did("stop read; stop timer; fire gone; end: it closed");
	conn_end(c, "again");
	conn_end_of_input(c, "again");
	ck_did("");
}
END_TEST

/* What is queued goes first. */
START_TEST(test_end_of_input_queued)
{
	start(true);
	conn_pause(c, true);
	conn_send(c, "x", 1);
	did_forget();
	conn_end_of_input(c, "it closed");
	/* What a socket still sends is discarded. */
	ck_did("set timer 1000; start read; end: it closed; shutdown; "
	    "set timer 1000");
}
END_TEST

START_TEST(test_abandon)
{
	start(true);
	conn_set_exact(c, true);
	ck_assert_int_eq(conn_fd(c), fds[0]);
	conn_abandon(c);
	ck_did("stop read; stop timer; fire gone; end: handed over");
}
END_TEST

START_TEST(test_send_fails)
{
	static const int	 errors[] = { EPIPE, ECONNRESET, EIO, EINTR };

	start(true);
	conn_send(c, "x", 1);
	send_errno = errors[_i];
	conn_flush(c);
	if (_i == 3) {
		ck_did("flushed");
		ck_assert_str_eq(text, "<=x>");
		return;
	}
	ck_did(_i < 2 ? "stop read; stop timer; fire gone; "
	    "end: the connection was lost" :
	    "stop read; stop timer; fire gone; end: Input/output error");
}
END_TEST

/* --- reading --- */

START_TEST(test_holds)
{
	start(true);
	ck_assert(conn_may_read(c));
	conn_pause(c, false);
	conn_slow(c, 70);
	ck_did("set slow 70; stop read");
	conn_slow(c, 80);
	conn_pause(c, true);
	ck_did("");
	ev_time_is_up(&c->slow_ev);
	ck_did("");
	ck_assert(!conn_may_read(c));
	conn_pause(c, false);
	ck_did("start read; fire read");
	c->read_ev.fn(c->read_ev.arg);
	ck_did("input");
	conn_pause(c, true);
	conn_slow(c, 80);
	conn_pause(c, false);
	ck_did("stop read; set slow 80");
	conn_close(c, 1000, "x");
	did_forget();
	ck_assert(!conn_may_read(c));
	ev_time_is_up(&c->slow_ev);
	conn_slow(c, 80);
	conn_pause(c, true);
	ck_did("");
}
END_TEST

START_TEST(test_hungry)
{
	start(true);
	ck_assert(conn_may_hold(c, 7));
	conn_allow(c, 10);
	unfinished = 9;
	ck_assert(conn_may_hold(c, 7));
	ck_did("");
	unfinished = 10;
	ck_assert(!conn_may_hold(c, 7));
	ck_did("stop read; hungry 7");
	ck_assert(!conn_may_hold(c, 8));
	/* What came is still handed out. */
	ck_assert(conn_may_read(c));
	now += LIMIT_PEER_PING;
	conn_allow(c, 10);
	ck_did("");
	/* The silence was ours. */
	ev_time_is_up(&c->timer_ev);
	ck_did("trim; set timer 15000");
	conn_allow(c, 11);
	ck_did("start read; fire read");
	allows = true;
	unfinished = 11;
	ck_assert(conn_may_hold(c, 9));
	ck_did("stop read; hungry 9; start read; fire read");
}
END_TEST

/* Who does not read its answers is not read. */
START_TEST(test_stalled)
{
	char	*big = calloc(1, LIMIT_OUT_READING);

	start(true);
	room = 0;
	conn_send(c, big, LIMIT_OUT_READING - FRAME);
	ck_did("");
	ck_assert_uint_eq(conn_behind(c), LIMIT_OUT_READING);
	conn_put(c, CONN_IN_TURN, "x", 1);
	conn_send(c, big, 1);
	ck_did("stop read");
	conn_flush(c);
	ck_did("start write");
	room = LIMIT_OUT_READING / 2 + 1 + 1 + FRAME;
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(conn_queued(c), LIMIT_OUT_READING / 2);
	ck_did("flushed");
	room = 1;
	c->write_ev.fn(c->write_ev.arg);
	ck_did("start read; fire read; flushed");
	free(big);
}
END_TEST

/* --- how much is queued --- */

START_TEST(test_queue_max)
{
	start(true);
	ck_assert_ptr_nonnull(conn_begin(c, QUEUE_MAX - FRAME));
	conn_put(c, CONN_IN_TURN, "x", 1);
	ck_assert_ptr_nonnull(conn_begin(c, QUEUE_MAX - FRAME - 1));
	ck_did("");
	ck_assert_ptr_null(conn_begin(c, QUEUE_MAX - FRAME));
	ck_did("stop read; stop timer; fire gone; end: " LOST);
	ck_assert_ptr_null(conn_begin(c, 1));
	ck_did("");
}
END_TEST

struct letters {
	struct conn_source	 src;
	size_t			 off;
};

static void
letters_write(struct conn_source *src, char *at, size_t n)
{
	struct letters	*l = (struct letters *)src;

	for (; n > 0; n--)
		*at++ = (char)('a' + l->off++ % 26);
}

static void
letters_free(struct conn_source *src)
{
	(void)src;
	did("free");
}

static int
send_letters(struct letters *l, size_t len)
{
	memset(l, 0, sizeof(*l));
	l->src.write = letters_write;
	l->src.free = letters_free;
	return conn_send_source(c, &l->src, len);
}

START_TEST(test_sources_max)
{
	static struct letters	 a, b, x;

	start(true);
	ck_assert_int_eq(send_letters(&a, LIMIT_MESSAGE), 0);
	ck_assert_int_eq(send_letters(&b, LIMIT_MESSAGE), 0);
	ck_assert_uint_eq(conn_queued(c), QUEUE_MAX);
	ck_assert_uint_eq(conn_behind(c), LIMIT_MESSAGE);
	ck_did("stop read");
	ck_assert_int_eq(send_letters(&x, 1), -1);
	ck_did("stop timer; fire gone; end: " LOST "; free");
	ck_assert_int_eq(send_letters(&x, 1), -1);
	ck_did("free");
}
END_TEST

/* A part in each turn, a frame each; others come between. */
START_TEST(test_parts)
{
	static struct letters	 a;

	start(true);
	ck_assert_int_eq(send_letters(&a, 4 * LIMIT_FRAGMENT + 5), 0);
	conn_send(c, "behind", 6);
	ck_assert_uint_eq(conn_behind(c), 6 + FRAME);
	conn_flush(c);
	ck_did("start write; flushed");
	ck_assert_uint_eq(sent, LIMIT_FRAGMENT + 2);
	ck_assert_int_eq(memcmp(text, "<-abc", 5), 0);
	conn_put(c, CONN_SOON, "PONG", 4);
	sent = 0;
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(sent, LIMIT_FRAGMENT + 2 + 4);
	ck_assert_int_eq(memcmp(text, "PONG+-", 6), 0);
	did_forget();
	/* Nothing is made while there is so much. */
	room = 0;
	c->write_ev.fn(c->write_ev.arg);
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(c->queue.len, LIMIT_FRAGMENT + 2);
	room = 3;
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(c->queue.len, LIMIT_FRAGMENT - 1);
	room = 0;
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(c->queue.len, 2 * LIMIT_FRAGMENT + 1);
	room = SIZE_MAX;
	c->write_ev.fn(c->write_ev.arg);
	did_forget();
	memset(text, 0, sizeof(text));
	sent = 0;
	c->write_ev.fn(c->write_ev.arg);
	/* After its end what was behind. */
	ck_did("free; flushed");
	ck_assert_int_eq(memcmp(text, "+=", 2), 0);
	ck_assert_str_eq(text + 7, ">");
	ck_assert_uint_eq(conn_queued(c), 6 + FRAME);
	sent = 0;
	c->write_ev.fn(c->write_ev.arg);
	ck_assert_uint_eq(conn_queued(c), 0);
	ck_assert_str_eq(text, "<=behind>");
	ck_did("flushed");
}
END_TEST

/* No memory for one: the connection ends, nothing is kept. */
START_TEST(test_no_memory)
{
	static struct letters	 a;
	struct buf		 b;
	char			*big = calloc(1, LIMIT_OUT_READING + 1);

	start(true);
	if (_i == 0) {
		fault_call("realloc", 1);
		ck_assert_int_eq(conn_send(c, "x", 1), -1);
	} else if (_i == 1) {
		fault_call("realloc", 1);
		ck_assert_int_eq(conn_send(c, big, LIMIT_OUT_READING + 1), -1);
	} else if (_i == 2) {
		buf_init(&b, SIZE_MAX);
		ck_assert_int_eq(buf_put(&b, big, LIMIT_OUT_READING + 1), 0);
		fault_call("calloc", 1);
		ck_assert_int_eq(conn_send_buf(c, &b), -1);
		ck_assert_uint_eq(b.len, 0);
	} else if (_i == 3) {
		fault_call("realloc", 1);
		ck_assert_int_eq(send_letters(&a, 5), -1);
		ck_did("stop read; stop timer; fire gone; end: " LOST
		    "; free");
		conn_end(c, "again");
	} else {
		ck_assert_int_eq(send_letters(&a, LIMIT_MESSAGE), 0);
		did_forget();
		fault_call("realloc", 1);
		conn_flush(c);
	}
	if (_i != 3)
		ck_did("stop read; stop timer; fire gone; end: " LOST);
	ck_assert(fault_came());
	free(big);
}
END_TEST

/* A short one is copied, and sent as one frame. */
START_TEST(test_send_buf)
{
	struct buf	 b;

	start(true);
	buf_init(&b, 100);
	ck_assert_int_eq(buf_put(&b, "hello", 5), 0);
	ck_assert_int_eq(conn_send_buf(c, &b), 0);
	ck_assert_uint_eq(b.len, 0);
	conn_flush(c);
	ck_assert_str_eq(text, "<=hello>");
	ck_assert_uint_eq(conn_pos(c), 5);
	buf_fini(&b);
}
END_TEST

/* Without receipts, what is written is read. */
START_TEST(test_unmeasured)
{
	char	*big = calloc(1, LIMIT_OUT_CHILDREN);

	ops.ask_receipt = NULL;
	ops.on_flushed = NULL;
	ops.trim = NULL;
	start(true);
	conn_trim(c);
	conn_alive(c);
	conn_probe(c, 1);
	conn_ask_receipt(c);
	conn_sent_bulk(c, 5);
	ck_assert_uint_eq(c->bulk, 0);
	ck_assert_uint_eq(conn_piece(c, 12345678), 12345678);
	conn_send(c, "abc", 3);
	ck_did("");
	room = 2;
	conn_flush(c);
	ck_did("start write");
	room = 100;
	c->write_ev.fn(c->write_ev.arg);
	ck_did("receipt 3");
	conn_flush(c);
	ck_did("");
	room = 0;
	conn_send(c, big, LIMIT_OUT_CHILDREN - FRAME - 1);
	ck_assert(conn_has_room(c));
	conn_put(c, CONN_IN_TURN, "x", 1);
	ck_assert(!conn_has_room(c));
	free(big);
}
END_TEST

/* A receipt for bulk is asked for between frames, while it is open. */
START_TEST(test_bulk)
{
	start(true);
	conn_send(c, "abc", 3);
	conn_sent_bulk(c, LIMIT_INFLIGHT_FIRST);
	c->in_frame = true;
	conn_flush(c);
	c->in_frame = false;
	ck_did("");
	conn_flush(c);
	ck_did("ask 3; flushed");
	ck_assert(!conn_has_room(c));
	conn_flush(c);
	ck_did("");
	conn_on_receipt(c, 2);
	ck_assert(c->inflight.is_asked);
	conn_on_receipt(c, 3);
	ck_assert(!c->inflight.is_asked);
	ck_did("receipt 2; receipt 3");
	conn_sent_bulk(c, LIMIT_INFLIGHT_FIRST);
	conn_close(c, 1000, "x");
	ck_did_begin("close 1000 x; set timer 1000; end: x; shutdown");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("conn_alone");
	TCase	*t = tcase_create("conn_alone");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_new);
	tcase_add_loop_test(t, test_new_fails, 0, 4);
	tcase_add_test(t, test_stdio);
	tcase_add_loop_test(t, test_silent, 0, 2);
	tcase_add_loop_test(t, test_reading, 0, 5);
	tcase_add_loop_test(t, test_contested, 0, 2);
	tcase_add_test(t, test_probe_long);
	tcase_add_loop_test(t, test_close, 0, 2);
	tcase_add_loop_test(t, test_end_of_input, 0, 2);
	tcase_add_test(t, test_end_of_input_queued);
	tcase_add_test(t, test_abandon);
	tcase_add_loop_test(t, test_send_fails, 0, 4);
	tcase_add_test(t, test_holds);
	tcase_add_test(t, test_hungry);
	tcase_add_test(t, test_stalled);
	tcase_add_test(t, test_queue_max);
	tcase_add_test(t, test_sources_max);
	tcase_add_test(t, test_parts);
	tcase_add_loop_test(t, test_no_memory, 0, 5);
	tcase_add_test(t, test_send_buf);
	tcase_add_test(t, test_unmeasured);
	tcase_add_test(t, test_bulk);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
