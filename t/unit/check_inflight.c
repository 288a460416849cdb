/* common/net/inflight.c: what may be under way, on lines made up here. */
#include <check.h>

#include "common/limit.h"
#include "common/net/inflight.h"

#define FRAME		61440
#define SECOND		1000000ULL
#define SENDER		1000000000ULL	/* bytes a second that we write */

/* A line that delays and a reader behind a queue, in order. */
struct line {
	struct inflight	 f;
	uint64_t	 rate;		/* bytes a second */
	uint64_t	 rtt;		/* us, of the empty line */
	uint64_t	 now, free_at;	/* when all is read, but for the line */
	uint64_t	 pong_at;
	uint64_t	 pos, most;	/* sent; the longest queue in bytes */
	uint64_t	 frame;		/* bytes of the longest frame */
	unsigned	 pings;
};

static void
line_init(struct line *l, uint64_t rate, uint64_t rtt)
{
	*l = (struct line){ .rate = rate, .rtt = rtt, .now = 1,
	    .frame = FRAME };
	inflight_init(&l->f, 0, LIMIT_RENDEZVOUS_FIRST, LIMIT_RENDEZVOUS_LEAST);
}

static void
ask(struct line *l)
{
	inflight_ask(&l->f, l->pos, l->now);
	l->pong_at = (l->free_at > l->now ? l->free_at : l->now) + l->rtt;
	l->pings++;
}

static void
send_frame(struct line *l)
{
	uint64_t	 queue, n = inflight_piece(&l->f, l->frame);

	inflight_resume(&l->f, l->pos, l->now);
	if (l->free_at < l->now)
		l->free_at = l->now;
	l->free_at += n * SECOND / l->rate;
	l->pos += n;
	queue = (l->free_at - l->now) * l->rate / SECOND;
	if (queue > l->most)
		l->most = queue;
	l->now += n * SECOND / SENDER;
}

/* All that can be sent, until then. */
static void
flood(struct line *l, uint64_t until)
{
	while (l->now < until) {
		if (l->f.is_asked && l->pong_at <= l->now)
			inflight_answer(&l->f, l->now);
		if (inflight_must_ask(&l->f, l->pos)) {
			ask(l);
		} else if (inflight_is_full(&l->f, l->pos)) {
			ck_assert(l->f.is_asked);
			if (l->pong_at > l->now)
				l->now = l->pong_at;
		} else {
			send_frame(l);
		}
	}
}

/* The same, and what goes by between two times. */
static uint64_t
flooded(struct line *l, uint64_t from, uint64_t until)
{
	uint64_t	 before;

	flood(l, from * SECOND);
	before = l->pos;
	flood(l, until * SECOND);
	return l->pos - before;
}

/* A ping with nothing beside it. */
static void
quiet(struct line *l, uint64_t seconds)
{
	for (; seconds > 0; seconds--) {
		inflight_idle(&l->f, l->now);
		if (!l->f.is_asked)
			ask(l);
		l->now = l->pong_at;
		inflight_answer(&l->f, l->now);
		l->now += SECOND;
	}
}

static const struct {
	uint64_t	 rate, rtt;
} lines[] = {
	{ 800000000, 100 }, { 100000000, 1000 }, { 20000000, 50000 },
	{ 100000000, 50000 }, { 2000000, 50000 }, { 2000000, 100 },
	{ 50000000, 300000 }, { 1000000, 1000 },
};

/* The line is kept busy, and its queue is a few round trips at most. */
START_TEST(a_line_is_full_and_its_queue_short)
{
	struct line	 l;
	uint64_t	 before, hold;

	line_init(&l, lines[_i].rate, lines[_i].rtt);
	hold = l.rate * (l.rtt > 2000 ? l.rtt : 2000) / SECOND;
	flood(&l, 8 * SECOND);		/* it becomes known */
	before = l.pos;
	l.most = 0;
	flood(&l, 38 * SECOND);
	ck_assert_uint_ge(l.pos - before, l.rate * 27);
	ck_assert_uint_le(l.most, 3 * hold + FRAME + (l.rate < 6000000 ?
	    LIMIT_INFLIGHT_FIRST : LIMIT_INFLIGHT_PAUSE));
	/* One ping for half of what is in flight. */
	ck_assert_uint_le(l.pings, l.pos / (LIMIT_RENDEZVOUS_LEAST / 2) + 2);
}
END_TEST

/* From nothing to all of 1 Gbit/s at 100 ms, within two seconds. */
START_TEST(it_grows_soon)
{
	struct line	 l;

	line_init(&l, 125000000, 100000);
	ck_assert_uint_ge(flooded(&l, 2, 3), l.rate * 9 / 10);
}
END_TEST

static const struct {
	uint64_t	 rate, rtt, wait;	/* bytes a second; us; us */
} slow_lines[] = {
	{ 94000, 1000, 270000 }, { 94000, 100000, 350000 },
	{ 750000, 1000, 100000 }, { 750000, 100000, 350000 },
};

/* What is asked beside a flood of a slow line waits for no more than that. */
START_TEST(a_request_waits_little)
{
	struct line	 l;
	uint64_t	 before;

	line_init(&l, slow_lines[_i].rate, slow_lines[_i].rtt);
	l.frame = LIMIT_READ_CHUNK;
	inflight_init(&l.f, 0, LIMIT_INFLIGHT_FIRST, LIMIT_INFLIGHT_MIN);
	flood(&l, 5 * SECOND);
	before = l.pos;
	l.most = 0;
	flood(&l, 35 * SECOND);
	ck_assert_uint_ge(l.pos - before, l.rate * 27);
	ck_assert_uint_le(l.most * SECOND / l.rate, slow_lines[_i].wait);
}
END_TEST

/*
 * TCP repeats what was lost: all that came after it waits, then is there at
 * once.  That is not the rate of the line.
 */
START_TEST(a_loss_is_no_faster_line)
{
	struct line	 l;
	uint64_t	 limit, end;

	line_init(&l, 1000000, 100);
	l.frame = LIMIT_READ_CHUNK;
	inflight_init(&l.f, 0, LIMIT_INFLIGHT_FIRST, LIMIT_INFLIGHT_MIN);
	flood(&l, 5 * SECOND);
	limit = l.f.limit;
	for (end = 6; end < 12; end++) {
		flood(&l, end * SECOND);
		ck_assert(l.f.is_asked);
		l.pong_at += 200000;
		flood(&l, l.pong_at + 50000);
		ck_assert_uint_le(l.f.limit, limit * 5 / 4);
	}
}
END_TEST

/* On the way something takes a burst into its buffer, and answers. */
START_TEST(what_a_buffer_takes_is_no_rate)
{
	struct line	 l;
	uint64_t	 limit, end;
	int		 i;

	line_init(&l, 1000000, 100);
	l.frame = LIMIT_READ_CHUNK;
	inflight_init(&l.f, 0, LIMIT_INFLIGHT_FIRST, LIMIT_INFLIGHT_MIN);
	flood(&l, 5 * SECOND);
	limit = l.f.limit;
	for (end = 6; end < 12; end++) {
		flood(&l, end * SECOND);
		for (i = 0; i < 3; i++) {
			ck_assert(l.f.is_asked);
			l.pong_at = l.now + 50;
			flood(&l, l.pong_at + 1);
		}
		ck_assert_uint_le(l.f.limit, 2 * limit);
	}
}
END_TEST

/* A reader that becomes slow, and fast again. */
START_TEST(it_follows_the_rate)
{
	struct line	 l;

	line_init(&l, 100000000, 20000);
	flood(&l, 5 * SECOND);
	l.rate = 2000000;
	flood(&l, 40 * SECOND);
	ck_assert_uint_le(l.f.limit, LIMIT_INFLIGHT_FIRST);
	l.rate = 100000000;
	ck_assert_uint_ge(flooded(&l, 45, 50), l.rate * 4);
}
END_TEST

/* Of a longer way, and of a shorter one. */
START_TEST(it_follows_the_time)
{
	struct line	 l;

	line_init(&l, 50000000, 5000);
	flood(&l, 5 * SECOND);
	l.rtt = 100000;
	ck_assert_uint_ge(flooded(&l, 20, 30), l.rate * 8);
	l.rtt = 5000;
	flood(&l, 50 * SECOND);
	ck_assert_uint_le(l.f.limit, 3 * 250000 + LIMIT_INFLIGHT_PAUSE);
}
END_TEST

/* Who is out of breath all the time, but for less than the line holds. */
START_TEST(breaths_are_no_idleness)
{
	struct line	 l;
	uint64_t	 before = 0, end;

	line_init(&l, 30000000, 50000);
	for (end = 20000; end < 10 * SECOND; end += 20000) {
		if (end == 5 * SECOND)
			before = l.pos;
		flood(&l, end - 2000);
		inflight_idle(&l.f, l.now);
		l.now += 2000;
	}
	ck_assert_uint_ge(l.pos - before, l.rate * 5 * 9 / 10);
}
END_TEST

/* Little to send says nothing about what could be. */
START_TEST(silence_leaves_it_as_it_is)
{
	struct line	 l;
	uint64_t	 limit;

	line_init(&l, 100000000, 20000);
	flood(&l, 5 * SECOND);
	limit = l.f.limit;
	ck_assert_uint_ge(limit, 2 * 2000000);
	quiet(&l, 60);
	ck_assert_uint_ge(l.f.limit, limit * 9 / 10);
	ck_assert_uint_eq(l.f.rtt, 20000);
}
END_TEST

/* The limit of a line of this rate without delay. */
static uint64_t
limit_of(uint64_t rate)
{
	struct inflight	 f;

	inflight_init(&f, 0, LIMIT_INFLIGHT_FIRST, LIMIT_INFLIGHT_MIN);
	inflight_resume(&f, 0, 0);
	inflight_ask(&f, rate, 0);
	inflight_answer(&f, SECOND);
	ck_assert_uint_eq(f.limit, 2 * rate + rate / 2);	/* a long way */
	inflight_ask(&f, rate + 1, SECOND);
	inflight_answer(&f, SECOND + 100);
	return f.limit;
}

/* What its reader may take while it pauses: 60 ms, then 20, then 1 MiB. */
START_TEST(a_reader_may_pause)
{
	ck_assert_uint_eq(limit_of(1000000), 60000);
	ck_assert_uint_eq(limit_of(2200000), LIMIT_INFLIGHT_FIRST);
	ck_assert_uint_eq(limit_of(6000000), LIMIT_INFLIGHT_FIRST);
	ck_assert_uint_eq(limit_of(10000000), 200000);
	ck_assert_uint_eq(limit_of(25000000), 500000);
}
END_TEST

START_TEST(bounds)
{
	struct inflight	 f;
	uint64_t	 pos = 1000;

	inflight_init(&f, pos, LIMIT_INFLIGHT_FIRST, LIMIT_INFLIGHT_MIN);
	inflight_resume(&f, pos, 1);
	ck_assert(!inflight_must_ask(&f, pos));
	ck_assert(!inflight_is_full(&f, pos + LIMIT_INFLIGHT_FIRST - 1));
	ck_assert(inflight_is_full(&f, pos + LIMIT_INFLIGHT_FIRST));
	ck_assert(inflight_must_ask(&f, pos + LIMIT_INFLIGHT_FIRST));
	/* A pong at once, and one after a year. */
	inflight_ask(&f, pos += 100UL << 20, 5);
	ck_assert(!inflight_must_ask(&f, pos + (100UL << 20)));
	inflight_answer(&f, 5);
	ck_assert_uint_eq(f.read, pos);
	/* So soon it may be what buffers took. */
	ck_assert_uint_eq(f.limit, LIMIT_INFLIGHT_FIRST);
	inflight_ask(&f, pos += 300UL << 20, 5);
	inflight_answer(&f, 20005);
	ck_assert_uint_eq(f.limit, LIMIT_INFLIGHT_MAX);
	for (uint64_t i = 1; i <= INFLIGHT_RATES; i++) {
		inflight_ask(&f, pos += 100000, 6);
		inflight_answer(&f, i * 365 * 86400 * SECOND);
	}
	ck_assert_uint_eq(f.limit, LIMIT_INFLIGHT_MIN);
	/* By now even that is too old to be true: it is taken again. */
	ck_assert(inflight_must_ask(&f, pos));
	inflight_ask(&f, pos, 7);
	ck_assert(!inflight_is_full(&f, pos));
	ck_assert(inflight_is_full(&f, pos + LIMIT_INFLIGHT_MIN));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("inflight");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, a_line_is_full_and_its_queue_short, 0,
	    sizeof(lines) / sizeof(lines[0]));
	tcase_add_loop_test(tc, a_request_waits_little, 0,
	    sizeof(slow_lines) / sizeof(slow_lines[0]));
	tcase_add_test(tc, it_grows_soon);
	tcase_add_test(tc, a_loss_is_no_faster_line);
	tcase_add_test(tc, what_a_buffer_takes_is_no_rate);
	tcase_add_test(tc, it_follows_the_rate);
	tcase_add_test(tc, it_follows_the_time);
	tcase_add_test(tc, breaths_are_no_idleness);
	tcase_add_test(tc, silence_leaves_it_as_it_is);
	tcase_add_test(tc, a_reader_may_pause);
	tcase_add_test(tc, bounds);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
