/*
 * worker/conn/conn.c: long messages, and what goes before, between and behind.
 */
#include <sys/socket.h>

#include <check.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/net/ws.h"
#include "worker/conn/conn.h"

#define PART	((size_t)LIMIT_FRAGMENT)
#define FRAMES	256

/* A frame that came; one that did not come whole is not among them. */
struct frame {
	int		 op;
	bool		 fin;
	const uint8_t	*data;
	size_t		 len;
};

static struct event_base	*base;
static struct conn		*conn;
static int			 peer;		/* its other end */
static struct buf		 got;		/* what came there */
static struct frame		 frames[FRAMES];
static size_t			 nframes;
static unsigned			 nmessages, nreceipts, nended, nsources;
static uint64_t			 receipt;
static unsigned			 nhungry;
static size_t			 wanted;
static bool			 is_padded;	/* blanks before it */

/* --- the owner --- */

static void
on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	ck_assert_ptr_eq(arg, &base);
	ck_assert(is_utf8 && (len == 2 || is_padded) &&
	    memcmp(text + len - 2, "{}", 2) == 0);
	nmessages++;
}

static void
on_receipt(void *arg, uint64_t pos)
{
	ck_assert_ptr_eq(arg, &base);
	nreceipts++;
	receipt = pos;
}

static void
on_end(void *arg, const char *why)
{
	ck_assert_ptr_eq(arg, &base);
	ck_assert_ptr_nonnull(why);
	nended++;
}

static void
on_gone(void *arg, struct conn *c)
{
	ck_assert_ptr_eq(arg, &base);
	ck_assert_ptr_eq(c, conn);
	conn_free(&conn);
}

static void
on_hungry(void *arg, size_t want)
{
	ck_assert_ptr_eq(arg, &base);
	nhungry++;
	wanted = want;
}

static const struct conn_events	 events = {
	on_message, on_receipt, on_hungry, on_end, on_gone
};

/* --- a source: letters in turn --- */

struct letters {
	struct conn_source	 src;
	size_t			 off;
};

#define ALPHABET	(26 * (size_t)1000)
static char	 alphabet[ALPHABET];	/* filled in setup() */

static char
letter(size_t off)
{
	return (char)('a' + off % 26);
}

/* How many letters from there on are a piece of the alphabet, up to n. */
static size_t
letters_in(const char **from, size_t off, size_t n)
{
	*from = alphabet + off % 26;
	return n < ALPHABET - 26 ? n : ALPHABET - 26;
}

static void
letters_write(struct conn_source *src, char *at, size_t n)
{
	struct letters	*l = (struct letters *)src;
	const char	*from;
	size_t		 k;

	for (; n > 0; n -= k, at += k, l->off += k) {
		k = letters_in(&from, l->off, n);
		memcpy(at, from, k);
	}
}

static void
letters_free(struct conn_source *src)
{
	nsources--;
	free(src);
}

static int
send_letters(size_t len)
{
	struct letters	*l = calloc(1, sizeof(*l));

	l->src.write = letters_write;
	l->src.free = letters_free;
	nsources++;
	return conn_send_source(conn, &l->src, len);
}

/* --- both ends --- */

static void
setup(void)
{
	size_t	 i;
	int	 pair[2];

	for (i = 0; i < ALPHABET; i++)
		alphabet[i] = letter(i);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(fd_nonblock(pair[1], 1), 0);
	ck_assert_ptr_nonnull(base = event_base_new());
	peer = pair[1];
	buf_init(&got, SIZE_MAX);
	nframes = 0;
	nmessages = nreceipts = nended = nsources = 0;
	receipt = 0;
	ck_assert_ptr_nonnull(conn = conn_ws_new(base, pair[0], &events,
	    &base));
}

static void
teardown(void)
{
	conn_free(&conn);
	ck_assert_uint_eq(nsources, 0);
	event_base_free(base);
	fd_close(&peer);
	buf_fini(&got);
}

/* A turn of the loop, as the session's. */
static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(base, EVLOOP_NONBLOCK), -1);
	if (conn != NULL)
		conn_flush(conn);
}

/* Take what the peer can read now.  False: that was the end. */
static bool
take(void)
{
	void	*p = buf_reserve(&got, 65536);
	ssize_t	 n = read(peer, p, 65536);

	if (n > 0)
		buf_commit(&got, (size_t)n);
	return n != 0;
}

/* Where a source is in the middle of its message: at most so far. */
static size_t	 most;

/* Letters, and what was sent of them is read meanwhile. */
static void
read_write(struct conn_source *src, char *at, size_t n)
{
	char	 c;

	while (recv(peer, &c, 1, MSG_PEEK) > 0)
		take();
	letters_write(src, at, n);
}

/* Letters, and the peer hears none of them. */
static void
cut_write(struct conn_source *src, char *at, size_t n)
{
	fd_close(&peer);
	letters_write(src, at, n);
	most = ((struct letters *)src)->off;
}

/* Turns in which nobody reads: as much is on its way as may be. */
static void
fill(void)
{
	int	 i;

	for (i = 0; i < 50; i++)
		turn();
}

/* Split what came. */
static void
split(void)
{
	const uint8_t	*p = buf_data(&got);
	size_t		 at = 0, n, i, k;

	for (nframes = 0; got.len - at >= 2; nframes++, at += n) {
		ck_assert_uint_lt(nframes, FRAMES);
		ck_assert_uint_eq(p[at] & 0x70, 0);
		ck_assert_uint_eq(p[at + 1] & 0x80, 0);
		n = p[at + 1];
		k = n == 127 ? 8 : n == 126 ? 2 : 0;
		if (got.len - at < 2 + k)
			break;
		for (i = 0, n = k > 0 ? 0 : n; i < k; i++)
			n = n << 8 | p[at + 2 + i];
		if (got.len - at - 2 - k < n)
			break;
		frames[nframes].op = p[at] & 15;
		frames[nframes].fin = (p[at] & 0x80) != 0;
		frames[nframes].len = n;
		at += 2 + k;
		frames[nframes].data = p + at;
	}
}

/* Go on until nothing is left to be sent and all of it was read. */
static void
read_all(void)
{
	struct pollfd	 p = { peer, POLLIN, 0 };

	while (conn != NULL && nended == 0 && conn_queued(conn) > 0) {
		take();
		turn();
	}
	while (poll(&p, 1, 0) == 1 && take())
		turn();
	split();
}

/* A frame of the client's; its mask is 0. */
static void
say(enum ws_opcode op, const void *data, size_t len)
{
	static const uint8_t	 mask[4];
	uint8_t			 frame[WS_HEADER_MAX + WS_CONTROL_MAX];
	size_t			 n;

	n = ws_header(frame, true, op, len, mask);
	memcpy(frame + n, data, len);
	ck_assert_int_eq(write(peer, frame, n + len), (ssize_t)(n + len));
}

static void
ask(void)
{
	say(WS_TEXT, "{}", 2);
}

static uint64_t
ping_pos(const struct frame *f)
{
	uint64_t	 pos = 0;
	int		 i;

	ck_assert_int_eq(f->op, WS_PING);
	ck_assert_uint_eq(f->len, 8);
	for (i = 0; i < 8; i++)
		pos = pos << 8 | f->data[i];
	return pos;
}

/* The message of letters that begins with frame i; the frame behind it. */
static size_t
check_letters(size_t i, size_t len)
{
	const char	*want;
	size_t		 off = 0, k, n;

	for (;; i++) {
		ck_assert_uint_lt(i, nframes);
		if (frames[i].op >= 8)
			continue;
		ck_assert_int_eq(frames[i].op,
		    off == 0 ? WS_TEXT : WS_CONTINUATION);
		for (k = 0; k < frames[i].len; k += n) {
			n = letters_in(&want, off + k, frames[i].len - k);
			if (memcmp(frames[i].data + k, want, n) != 0)
				ck_abort_msg("letters after %zu", off + k);
		}
		off += k;
		if (frames[i].fin)
			break;
	}
	ck_assert_uint_eq(off, len);
	return i + 1;
}

static void
check_text(const struct frame *f, const char *text)
{
	ck_assert_int_eq(f->op, WS_TEXT);
	ck_assert(f->fin);
	ck_assert_uint_eq(f->len, strlen(text));
	ck_assert_mem_eq(f->data, text, f->len);
}

/* --- tests --- */

START_TEST(test_parts)
{
	static const size_t	 lens[] = { LIMIT_OUT_READING + 1,
				     5 * PART - 1, 5 * PART, 5 * PART + 1,
				     7 * PART + 7 };
	size_t			 len = lens[_i];

	ck_assert_int_eq(send_letters(len), 0);
	ck_assert_uint_eq(conn_queued(conn), len);
	ck_assert_uint_eq(conn_behind(conn), 0);
	ck_assert_uint_eq(conn_pos(conn), len);
	read_all();
	ck_assert_uint_eq(check_letters(0, len), nframes);
	ck_assert_uint_eq(nframes, (len + PART - 1) / PART);
	ck_assert_uint_eq(nsources, 0);
	ck_assert_uint_eq(nended, 0);
}
END_TEST

/* Little of it is in memory, and none of it is written in vain. */
START_TEST(test_unread)
{
	struct letters	*l = calloc(1, sizeof(*l));

	l->src.write = letters_write;
	l->src.free = letters_free;
	nsources++;
	ck_assert_int_eq(conn_send_source(conn, &l->src, 10 * PART), 0);
	turn();
	ck_assert_uint_eq(l->off, PART);
	fill();
	ck_assert_uint_le(l->off, 3 * PART);
	read_all();
	ck_assert_uint_eq(check_letters(0, 10 * PART), nframes);
}
END_TEST

/* Messages wait behind it in their order, control frames do not. */
START_TEST(test_between)
{
	size_t	 i, last, pong = 0, ping = 0;

	ck_assert_int_eq(conn_send(conn, "before", 6), 0);
	ck_assert_int_eq(send_letters(10 * PART), 0);
	ck_assert_int_eq(conn_send(conn, "behind", 6), 0);
	fill();
	ck_assert_uint_eq(conn_behind(conn), 2 + 6);
	conn_ask_receipt(conn);
	say(WS_PING, "hello", 5);
	turn();
	conn_probe(conn, 60000);
	ck_assert_int_eq(conn_send(conn, "last", 4), 0);
	read_all();

	check_text(&frames[0], "before");
	last = check_letters(1, 10 * PART);
	for (i = 1; i < last; i++) {
		pong = frames[i].op == WS_PONG ? i : pong;
		ping = frames[i].op == WS_PING ? i : ping;
	}
	ck_assert(pong > 0 && ping > 0);
	ck_assert_mem_eq(frames[pong].data, "hello", 5);
	/* What is behind it may not be taken for read by an early answer. */
	ck_assert_uint_eq(ping_pos(&frames[ping]), 6);
	check_text(&frames[last], "behind");
	ck_assert_uint_eq(ping_pos(&frames[last + 1]), 10 * PART + 12);
	check_text(&frames[last + 2], "last");
	ck_assert_uint_eq(nframes, last + 3);

	say(WS_PONG, frames[ping].data, 8);
	turn();
	ck_assert_uint_eq(receipt, 6);
	say(WS_PONG, frames[last + 1].data, 8);
	turn();
	ck_assert_uint_eq(receipt, 10 * PART + 12);
	ck_assert_uint_eq(nreceipts, 2);
}
END_TEST

/* Requests are read while it is not, until too many answers wait behind it. */
START_TEST(test_requests)
{
	char	*at;

	ck_assert_int_eq(send_letters(20 * PART), 0);
	fill();
	ask();
	turn();
	ck_assert_uint_eq(nmessages, 1);
	ck_assert_ptr_nonnull(at = conn_begin(conn, LIMIT_OUT_READING));
	memset(at, ' ', LIMIT_OUT_READING);
	conn_commit(conn);
	ask();
	fill();
	ck_assert_uint_eq(nmessages, 1);
	read_all();
	ck_assert_uint_eq(nmessages, 2);
	ck_assert_uint_eq(check_letters(0, 20 * PART), nframes - 1);
}
END_TEST

/* Who is held for two reasons goes on when there is none any more. */
START_TEST(test_holds)
{
	conn_pause(conn, true);
	conn_slow(conn, 60000);
	ask();
	fill();
	conn_pause(conn, false);
	fill();
	ck_assert_uint_eq(nmessages, 0);
	teardown();
	setup();
	conn_slow(conn, 1);
	conn_pause(conn, true);
	conn_pause(conn, true);
	ask();
	/* Nothing else may wake it. */
	ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
	fill();
	ck_assert_uint_eq(nmessages, 0);
	conn_pause(conn, false);
	turn();
	ck_assert_uint_eq(nmessages, 1);
}
END_TEST

/* One more is an answer that waits. */
START_TEST(test_two)
{
	size_t	 i;

	ck_assert_int_eq(send_letters(5 * PART), 0);
	ck_assert_int_eq(conn_send(conn, "between", 7), 0);
	ck_assert_int_eq(send_letters(6 * PART), 0);
	ck_assert_int_eq(conn_send(conn, "behind", 6), 0);
	ask();
	fill();
	ck_assert_uint_eq(nmessages, 0);
	ck_assert_uint_ge(conn_behind(conn), 6 * PART);
	read_all();
	i = check_letters(0, 5 * PART);
	check_text(&frames[i], "between");
	i = check_letters(i + 1, 6 * PART);
	check_text(&frames[i], "behind");
	ck_assert_uint_eq(nframes, i + 1);
	ck_assert_uint_eq(nmessages, 1);
	ck_assert_uint_eq(conn_pos(conn), 11 * PART + 13);
}
END_TEST

/* One frame that is written at once, however much of it is sent on the way. */
START_TEST(test_one_frame)
{
	static const size_t	 lens[] = { 1, 125, 126, 65535, 65536, 300000,
				     LIMIT_OUT_READING };
	size_t			 len = lens[_i];

	ck_assert_int_eq(send_letters(len), 0);
	ck_assert_uint_eq(nsources, 0);
	ck_assert_uint_eq(conn_pos(conn), len);
	ck_assert_int_eq(conn_send(conn, "behind", 6), 0);
	read_all();
	ck_assert_uint_eq(check_letters(0, len), 1);
	check_text(&frames[1], "behind");
	ck_assert_uint_eq(nframes, 2);
}
END_TEST

/* Behind a long message it is one frame as well, and waits. */
START_TEST(test_frame_behind)
{
	size_t	 i;

	ck_assert_int_eq(send_letters(5 * PART), 0);
	ck_assert_int_eq(send_letters(300000), 0);
	ck_assert_uint_eq(nsources, 1);
	ck_assert_uint_ge(conn_behind(conn), 300000);
	read_all();
	i = check_letters(0, 5 * PART);
	ck_assert_uint_eq(check_letters(i, 300000), nframes);
	ck_assert_uint_eq(nframes, i + 1);
}
END_TEST

/* The peer goes away in the middle of it: no more is written. */
START_TEST(test_frame_cut)
{
	struct letters	*l = calloc(1, sizeof(*l));

	l->src.write = cut_write;
	l->src.free = letters_free;
	nsources++;
	ck_assert_int_eq(conn_send_source(conn, &l->src, LIMIT_OUT_READING),
	    -1);
	ck_assert_uint_eq(nsources, 0);
	ck_assert_uint_eq(nended, 1);
	ck_assert_uint_eq(conn_pos(conn), 0);
	ck_assert_uint_lt(most, LIMIT_OUT_READING / 4);
	while (conn != NULL)
		turn();
}
END_TEST

/* It was put inside of a frame when that was sent on the way. */
START_TEST(test_pong_in_frame)
{
	static char	 text[100000];
	struct letters	*l = calloc(1, sizeof(*l));

	memset(text, 'x', sizeof(text));
	ck_assert_int_eq(conn_send(conn, text, sizeof(text)), 0);
	say(WS_PING, "one", 3);
	say(WS_PING, "two", 3);
	ck_assert_int_ne(event_base_loop(base, EVLOOP_NONBLOCK), -1);
	l->src.write = read_write;
	l->src.free = letters_free;
	nsources++;
	ck_assert_int_eq(conn_send_source(conn, &l->src, 400000), 0);
	turn();
	read_all();
	ck_assert_uint_eq(nframes, 4);
	ck_assert_int_eq(frames[1].op, WS_PONG);
	ck_assert_uint_eq(frames[2].len, 400000);
	ck_assert_uint_eq(check_letters(2, 400000), 3);
	ck_assert_int_eq(frames[3].op, WS_PONG);
	ck_assert_mem_eq(frames[3].data, "two", 3);
}
END_TEST

/* A receipt for what was never sent is none. */
START_TEST(test_receipts)
{
	uint8_t	 pos[8] = { 0 };
	int	 i;

	ck_assert_int_eq(send_letters(10), 0);
	read_all();
	for (i = 11; i >= 10; i--) {
		pos[7] = (uint8_t)i;
		say(WS_PONG, pos, sizeof(pos));
		turn();
		ck_assert_uint_eq(nreceipts, i == 10);
	}
	ck_assert_uint_eq(receipt, 10);
	say(WS_PONG, pos, sizeof(pos) - 1);
	turn();
	ck_assert_uint_eq(nreceipts, 1);
	ck_assert_uint_eq(nended, 0);
}
END_TEST

/* A piece of bulk: bytes of output that become a message. */
static void
send_bulk(size_t n)
{
	static char	 text[LIMIT_READ_CHUNK];

	memset(text, 'x', sizeof(text));
	ck_assert(conn_has_room(conn));
	ck_assert_int_eq(conn_send(conn, text, n), 0);
	conn_sent_bulk(conn, n);
	conn_flush(conn);
}

/* The pings that came are answered; nseen: frames that were looked at. */
static void
answer_pings(size_t *nseen)
{
	for (read_all(); *nseen < nframes; ++*nseen)
		if (frames[*nseen].op == WS_PING)
			say(WS_PONG, frames[*nseen].data, frames[*nseen].len);
	turn();
}

/*
 * Bulk waits until pongs say that the client has read; what is no bulk does
 * not.  How much, and in what pieces, is tested in check_inflight.c.
 */
START_TEST(test_bulk)
{
	size_t	 n, total = 0, first, nseen = 0;

	ck_assert_uint_eq(conn_piece(conn, 1000), 1000);
	while (conn_has_room(conn)) {
		n = conn_piece(conn, LIMIT_READ_CHUNK);
		ck_assert_uint_eq(n, LIMIT_READ_CHUNK);
		send_bulk(n);
		total += n;
		ck_assert_uint_le(total, LIMIT_INFLIGHT_FIRST);
	}
	first = total;
	ck_assert_uint_eq(first, LIMIT_INFLIGHT_FIRST);
	ck_assert_int_eq(send_letters(10), 0);
	read_all();
	check_letters(nframes - 1, 10);
	/* It was read, but not so that we would know. */
	ck_assert(!conn_has_room(conn));
	ck_assert_uint_eq(nreceipts, 0);
	while (total < 10 * first) {
		for (n = 0; !conn_has_room(conn); n++) {
			ck_assert_uint_lt(n, 10);
			answer_pings(&nseen);
		}
		n = conn_piece(conn, LIMIT_READ_CHUNK);
		ck_assert_uint_ge(n, LIMIT_INFLIGHT_MIN / 2);
		send_bulk(n);
		total += n;
	}
	ck_assert_uint_eq(nended, 0);
}
END_TEST

/* All that was sent before the last word comes before it. */
START_TEST(test_close)
{
	size_t	 i;

	ck_assert_int_eq(send_letters(8 * PART), 0);
	ck_assert_int_eq(conn_send(conn, "behind", 6), 0);
	fill();
	conn_close(conn, 1000, "a test");
	ck_assert_uint_eq(nended, 1);
	ck_assert_int_eq(conn_send(conn, "more", 4), -1);
	ck_assert_int_eq(send_letters(8), -1);
	ck_assert_uint_eq(nsources, 1);
	while (take())
		turn();
	split();
	i = check_letters(0, 8 * PART);
	check_text(&frames[i], "behind");
	ck_assert_int_eq(frames[i + 1].op, WS_CLOSE);
	ck_assert_uint_eq(nframes, i + 2);
	say(WS_CLOSE, frames[i + 1].data, frames[i + 1].len);
	fd_close(&peer);
	while (conn != NULL)
		turn();
	ck_assert_uint_eq(nended, 1);
}
END_TEST

/* The client said its last word, but listens. */
START_TEST(test_half_close)
{
	ck_assert_int_eq(send_letters(8 * PART), 0);
	fill();
	ck_assert_int_eq(shutdown(peer, SHUT_WR), 0);
	turn();
	ck_assert_uint_eq(nended, 1);
	while (take())
		turn();
	split();
	ck_assert_uint_eq(check_letters(0, 8 * PART), nframes);
}
END_TEST

START_TEST(test_vanishes)
{
	ck_assert_int_eq(send_letters(8 * PART), 0);
	ck_assert_int_eq(send_letters(8 * PART), 0);
	ck_assert_int_eq(conn_send(conn, "behind", 6), 0);
	if (_i > 0)
		fill();
	fd_close(&peer);
	while (conn != NULL)
		turn();
	ck_assert_uint_eq(nended, 1);
	ck_assert_uint_eq(nsources, 0);
}
END_TEST

START_TEST(test_freed)
{
	ck_assert_int_eq(send_letters(8 * PART), 0);
	ck_assert_int_eq(send_letters(8 * PART), 0);
	fill();
	conn_free(&conn);
	ck_assert_uint_eq(nsources, 0);
}
END_TEST

/* There is an end to what may wait. */
START_TEST(test_too_much)
{
	ck_assert_int_eq(send_letters(LIMIT_MESSAGE), 0);
	ck_assert_int_eq(send_letters(LIMIT_MESSAGE), 0);
	ck_assert_uint_eq(nended, 0);
	if (_i == 0)
		ck_assert_int_eq(send_letters(1), -1);
	else
		ck_assert_int_eq(conn_send(conn, "more", 4), -1);
	ck_assert_uint_eq(nended, 1);
	while (conn != NULL)
		turn();
	ck_assert_uint_eq(nsources, 0);
}
END_TEST

/* Messages that are there already, short and long. */
START_TEST(test_texts)
{
	static const size_t	 lens[] = { 5, LIMIT_OUT_READING,
				     LIMIT_OUT_READING + 1 };
	size_t			 len = lens[_i];
	struct letters		 l = { .off = 0 };
	struct buf		 b;
	char			*p;

	buf_init(&b, len);
	ck_assert_ptr_nonnull(p = buf_reserve(&b, len));
	letters_write(&l.src, p, len);
	buf_commit(&b, len);
	ck_assert_int_eq(conn_send(conn, p, len), 0);
	ck_assert_int_eq(conn_send_buf(conn, &b), 0);
	ck_assert_uint_eq(b.len, 0);
	read_all();
	ck_assert_uint_eq(check_letters(check_letters(0, len), len), nframes);
	ck_assert_uint_eq(conn_pos(conn), 2 * len);
	buf_fini(&b);
}
END_TEST

/* Lines: nothing stands between the parts. */
START_TEST(test_stdio)
{
	const char	*p;
	size_t		 i, len = 5 * PART + 5;
	int		 in[2], out[2];

	conn_free(&conn);
	ck_assert_int_eq(pipe(in), 0);
	ck_assert_int_eq(pipe(out), 0);
	fd_close(&peer);
	peer = out[0];
	ck_assert_int_eq(fd_nonblock(peer, 1), 0);
	ck_assert_ptr_nonnull(conn = conn_stdio_new(base, in[0], out[1],
	    &events, &base));
	/* Nothing is measured there. */
	conn_sent_bulk(conn, 100 * LIMIT_INFLIGHT_FIRST);
	ck_assert(conn_has_room(conn));
	ck_assert_uint_eq(conn_piece(conn, SIZE_MAX), SIZE_MAX);
	ck_assert_int_eq(send_letters(len), 0);
	ck_assert_int_eq(conn_send(conn, "{}", 2), 0);
	conn_ask_receipt(conn);
	fill();
	ck_assert_int_eq(write(in[1], "{}\n", 3), 3);
	turn();
	ck_assert_uint_eq(nmessages, 1);
	ck_assert_uint_eq(nreceipts, 0);
	while (got.len < len + 4) {
		take();
		turn();
	}
	p = (const char *)buf_data(&got);
	for (i = 0; i < len; i++)
		if (p[i] != letter(i))
			ck_abort_msg("letter %zu", i);
	ck_assert_uint_eq(got.len, len + 4);
	ck_assert_mem_eq(p + len, "\n{}\n", 4);
	ck_assert_uint_eq(nreceipts, 1);
	ck_assert_uint_eq(receipt, len + 2);
	fd_close(&in[1]);
	while (conn != NULL)
		turn();
	ck_assert_uint_eq(nended, 1);
}
END_TEST

/*
 * No more than is allowed is held of a message that is not whole; it waits, and
 * comes whole when more is allowed.  Short ones need not ask.
 */
START_TEST(test_hungry)
{
	size_t	 len = 40000, n, i;
	uint8_t	 head[WS_HEADER_MAX], mask[4] = { 0 };
	char	*text = malloc(len);

	ck_assert_ptr_nonnull(text);
	memset(text, ' ', len);
	memcpy(text + len - 2, "{}", 2);
	nhungry = 0;
	conn_allow(conn, 10000);
	ask();
	turn();
	ck_assert_uint_eq(nmessages, 1);
	n = ws_header(head, true, WS_TEXT, len, mask);
	ck_assert_int_eq(write(peer, head, n), (ssize_t)n);
	ck_assert_int_eq(write(peer, text, len), (ssize_t)len);
	for (i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(nhungry, 1);
	ck_assert_uint_ge(wanted, n + len);
	ck_assert_uint_eq(conn_unfinished(conn), 10000);
	conn_allow(conn, 9000);
	conn_allow(conn, 10000);
	turn();
	ck_assert_uint_eq(nhungry, 1);
	conn_allow(conn, 20000);
	for (i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(nhungry, 2);
	ck_assert_uint_eq(conn_unfinished(conn), 20000);
	is_padded = true;
	conn_allow(conn, n + len);
	for (i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(nmessages, 2);
	ck_assert_uint_eq(conn_unfinished(conn), 0);
	is_padded = false;
	ask();
	turn();
	ck_assert_uint_eq(nmessages, 3);
	free(text);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("conn");
	TCase	*t = tcase_create("long");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_parts, 0, 5);
	tcase_add_test(t, test_unread);
	tcase_add_test(t, test_between);
	tcase_add_test(t, test_hungry);
	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_holds);
	tcase_add_test(t, test_two);
	tcase_add_loop_test(t, test_one_frame, 0, 7);
	tcase_add_test(t, test_frame_behind);
	tcase_add_test(t, test_frame_cut);
	tcase_add_test(t, test_pong_in_frame);
	tcase_add_test(t, test_receipts);
	tcase_add_test(t, test_bulk);
	tcase_add_test(t, test_close);
	tcase_add_test(t, test_half_close);
	tcase_add_loop_test(t, test_vanishes, 0, 2);
	tcase_add_test(t, test_freed);
	tcase_add_loop_test(t, test_too_much, 0, 2);
	tcase_add_loop_test(t, test_texts, 0, 3);
	tcase_add_test(t, test_stdio);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed > 0;
}
