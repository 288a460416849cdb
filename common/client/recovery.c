#include "common/client/recovery.h"

#include <assert.h>
#include <string.h>

#include "common/client/error.h"

#define RECOVER_MS	25000	/* as the stock client */
#define BACKOFF_MIN	100
#define BACKOFF_MAX	1000
#define READ_MAX	(1024 * 1024)
#define READ_MIN	(16 * 1024)
#define WAIT_MAX	60000

void
recovery_init(struct recovery *r)
{
	memset(r, 0, sizeof(*r));
	r->recover_ms = RECOVER_MS;
	r->has_progress = true;		/* the first is good for something */
	r->backoff = BACKOFF_MIN;
	r->read_max = READ_MAX;
}

void
recovery_set_limit(struct recovery *r, int ms)
{
	assert(ms >= 0);
	r->recover_ms = ms;
}

bool
recovery_is_enabled(const struct recovery *r)
{
	return r->recover_ms > 0;
}

void
recovery_open(struct recovery *r, uint64_t now, int ms)
{
	assert(ms > 0);
	r->attempt_at = now;
	r->deadline = now + (uint64_t)ms;
}

void
recovery_allow(struct recovery *r, uint64_t now, int ms, bool is_all)
{
	assert(ms > 0);
	r->attempt_at = now + (uint64_t)ms;
	if (is_all)
		r->deadline = r->attempt_at;
}

void
recovery_retry_in(struct recovery *r, uint64_t now, unsigned ms)
{
	r->attempt_at = now + ms;
}

/* A little shorter at random, so that clients of one server spread. */
static void
back_off(struct recovery *r, uint64_t now)
{
	assert(r->backoff >= BACKOFF_MIN && r->backoff <= BACKOFF_MAX);
	r->attempt_at = now + r->backoff - r->backoff * (now % 8) / 32;
	r->backoff = r->backoff * 2 < BACKOFF_MAX ? r->backoff * 2 :
	    BACKOFF_MAX;
}

void
recovery_failed(struct recovery *r, uint64_t now,
    const struct execsrv_error *why)
{
	r->why = *why;
	back_off(r, now);
}

void
recovery_reset_backoff(struct recovery *r)
{
	r->backoff = BACKOFF_MIN;
}

void
recovery_lost(struct recovery *r, uint64_t now,
    const struct execsrv_error *why, bool was_behind)
{
	assert(r->recover_ms > 0);
	assert(r->read_max >= READ_MIN && r->read_max <= READ_MAX);
	r->why = *why;
	if (r->has_progress) {
		r->deadline = now + (uint64_t)r->recover_ms;
		r->attempt_at = now;
		r->backoff = BACKOFF_MIN;
		/* After a loss while behind, stay with smaller reads. */
		if (!was_behind)
			r->read_max = r->read_max * 4 < READ_MAX ?
			    r->read_max * 4 : READ_MAX;
	} else {
		/* Perhaps connections last for so few bytes only. */
		if (was_behind && r->read_max > READ_MIN)
			r->read_max /= 4;
		back_off(r, now);
	}
	/* A connection that is lost before anything came counts as none. */
	r->has_progress = false;
}

const struct execsrv_error *
recovery_why(const struct recovery *r)
{
	return &r->why;
}

void
recovery_progress(struct recovery *r)
{
	r->has_progress = true;
}

bool
recovery_is_over(const struct recovery *r, uint64_t now)
{
	return now >= r->deadline;
}

bool
recovery_is_due(const struct recovery *r, uint64_t now)
{
	return now >= r->attempt_at;
}

int
recovery_wait_ms(const struct recovery *r, uint64_t now)
{
	uint64_t	 until = r->attempt_at < r->deadline ? r->attempt_at :
			    r->deadline;

	if (until <= now)
		return 0;
	return until - now < WAIT_MAX ? (int)(until - now) : WAIT_MAX;
}

unsigned
recovery_read_max(const struct recovery *r)
{
	return r->read_max;
}
