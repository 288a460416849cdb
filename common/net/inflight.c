#include "common/net/inflight.h"

#include <assert.h>
#include <string.h>

#include "common/limit.h"

#define SECOND	1000000		/* in microseconds */
#define RATE_MAX 100000000000ULL	/* bytes a second, and no overflow */
#define RTT_MIN	2000		/* below it scheduling is all there is */
#define RATE_US	20000		/* the least time that a rate is taken over */
#define IDLE_US	2000		/* more than a turn of the sender's loop */

/* For a reader that pauses, on a slow line and on a fast one. */
#define SLOW_US		60000
#define FAST_US		20000

/*
 * The limit as a multiple of bandwidth times delay.  As half of it may follow
 * the ping, 2 would do; the rest lets it grow until the line is full, and is a
 * queue from then on.
 */
#define GAIN(n)	((n) * 5 / 2)

static uint64_t
clamp(uint64_t n, uint64_t low, uint64_t high)
{
	assert(low <= high);
	return n < low ? low : n > high ? high : n;
}

void
inflight_init(struct inflight *f, uint64_t pos, uint64_t first, uint64_t min)
{
	assert(min > 0 && min <= first);
	memset(f, 0, sizeof(*f));
	f->read = f->asked = pos;
	f->min = min;
	f->limit = first;
	f->is_idle = true;
}

bool
inflight_must_ask(const struct inflight *f, uint64_t pos)
{
	assert(pos >= f->asked);
	return !f->is_asked &&
	    (f->is_probing || pos - f->asked >= f->limit / 2);
}

void
inflight_ask(struct inflight *f, uint64_t pos, uint64_t now)
{
	assert(!f->is_asked && pos >= f->asked && pos >= f->read);
	f->is_asked = true;
	f->asked = pos;
	f->asked_at = now;
	f->ahead = pos - f->read;
}

uint64_t
inflight_piece(const struct inflight *f, uint64_t max)
{
	return f->limit / 2 < max ? f->limit / 2 : max;
}

/* Return how many bytes leave the line as good as empty. */
static uint64_t
alone(const struct inflight *f)
{
	return f->min / 8;
}

static uint64_t
best_rate(const struct inflight *f)
{
	uint64_t	 best = 0;
	unsigned	 i;

	for (i = 0; i < INFLIGHT_RATES; i++)
		if (f->rates[i] > best)
			best = f->rates[i];
	return best;
}

/*
 * Keep the round trip of the line without our queue.  It expires, as lines
 * change; to measure it again, the line has to be empty first.
 */
static void
measure(struct inflight *f, uint64_t us, uint64_t now)
{
	bool	 is_alone = f->ahead <= alone(f);

	if (f->rtt == 0 || us <= f->rtt || (is_alone && f->is_probing)) {
		f->rtt = us;
		f->rtt_at = now;
	}
	if (is_alone)
		f->is_known = true;
	f->is_probing = !is_alone && !f->was_idle && (!f->is_known ||
	    now - f->rtt_at >= (uint64_t)LIMIT_INFLIGHT_AGE * 1000);
}

/*
 * Pongs come close together after a loss or a delay, so what was sent between
 * their pings may not have gone through faster than it was sent.  What buffers
 * on the way take at once is no rate either, hence RATE_US.  While there was
 * not always something to send, the rate is a lower bound.
 */
static void
add_rate(struct inflight *f, uint64_t now)
{
	uint64_t	 bytes = f->asked > f->base ? f->asked - f->base : 0;
	uint64_t	 apart = f->asked_at > f->base_sent ?
			    f->asked_at - f->base_sent : 0;
	uint64_t	 us = clamp(now - f->base_at > apart ?
			    now - f->base_at : apart, 1, 60 * SECOND);
	uint64_t	 rate = clamp(bytes * SECOND / us, 0, RATE_MAX);

	if (us < RATE_US)
		return;
	if (bytes > alone(f) && (!f->was_idle || rate > best_rate(f)))
		f->rates[f->nrates++ % INFLIGHT_RATES] = rate;
	f->base = f->asked;
	f->base_at = now;
	f->base_sent = f->asked_at;
	f->was_idle = f->is_idle;
}

/*
 * On a short way bandwidth times delay is next to nothing.  Leave the reader
 * what keeps it busy while one of us waits for a processor, but no more than a
 * request may wait for: where processors are wanted by others, 128 KiB in
 * flight were 30 MB/s.
 */
static uint64_t
least_of(const struct inflight *f, uint64_t rate)
{
	uint64_t	 slow = clamp(rate * SLOW_US / SECOND, 0,
			    LIMIT_INFLIGHT_FIRST);
	uint64_t	 fast = clamp(rate * FAST_US / SECOND, 0,
			    LIMIT_INFLIGHT_PAUSE);

	return clamp(slow > fast ? slow : fast, f->min, UINT64_MAX);
}

static void
set_limit(struct inflight *f)
{
	uint64_t	 rate = best_rate(f);

	f->limit = clamp(GAIN(rate * clamp(f->rtt, RTT_MIN, 60 * SECOND) /
	    SECOND), least_of(f, rate), LIMIT_INFLIGHT_MAX);
}

void
inflight_drained(struct inflight *f, uint64_t pos, uint64_t now)
{
	if (f->drained_at == 0 && !inflight_is_full(f, pos))
		f->drained_at = now;
}

/* It has been so for longer than the sender takes for more. */
static void
check_idle(struct inflight *f, uint64_t now)
{
	if (f->drained_at != 0 && now - f->drained_at >= IDLE_US)
		inflight_idle(f, f->drained_at);
}

void
inflight_answer(struct inflight *f, uint64_t now)
{
	assert(f->is_asked && f->asked >= f->read && now >= f->asked_at);
	check_idle(f, now);
	f->is_asked = false;
	measure(f, clamp(now - f->asked_at, 1, 60 * SECOND), now);
	add_rate(f, now);
	f->read = f->asked;
	if (f->nrates > 0)
		set_limit(f);
}

void
inflight_idle(struct inflight *f, uint64_t now)
{
	if (!f->is_idle)
		f->idle_at = now;
	f->is_idle = f->was_idle = true;
}

void
inflight_resume(struct inflight *f, uint64_t pos, uint64_t now)
{
	check_idle(f, now);
	f->drained_at = 0;
	if (!f->is_idle)
		return;
	assert(pos >= f->asked && now >= f->idle_at);
	f->is_idle = false;
	if (now - f->idle_at < clamp(f->rtt, RTT_MIN, 60 * SECOND))
		return;
	/* The line is empty by now: start over. */
	f->was_idle = false;
	f->base = pos;
	f->base_at = f->base_sent = now;
}

bool
inflight_is_full(const struct inflight *f, uint64_t pos)
{
	assert(pos >= f->read);
	if (f->is_probing && f->ahead > alone(f))
		return true;
	/* The rate of a line that is not known yet may be that of a burst. */
	return pos - f->read >= (f->is_probing && !f->is_known ?
	    f->limit / 4 : f->limit);
}
