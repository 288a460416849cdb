#include "common/net/inflight.h"

#include <assert.h>
#include <string.h>

#include "common/limit.h"

#define SECOND	1000000		/* in microseconds */
#define RATE_MAX 100000000000ULL	/* bytes a second, and no overflow */
#define RTT_MIN	2000		/* below it scheduling is all there is */
#define RATE_US	20000		/* the least time that a rate is taken over */
#define QUEUE_US 60000		/* of a slow line, for its reader to pause */

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
 * what keeps it busy while we sleep, but no more than a request may wait for.
 */
static void
set_limit(struct inflight *f)
{
	uint64_t	 rate = best_rate(f);
	uint64_t	 least = rate * QUEUE_US / SECOND;

	if (least > LIMIT_INFLIGHT_FIRST)
		least = LIMIT_INFLIGHT_FIRST;
	if (least < f->min)
		least = f->min;

	f->limit = clamp(GAIN(rate * clamp(f->rtt, RTT_MIN, 60 * SECOND) /
	    SECOND), least, LIMIT_INFLIGHT_MAX);
}

void
inflight_answer(struct inflight *f, uint64_t now)
{
	assert(f->is_asked && f->asked >= f->read && now >= f->asked_at);
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
