#include "common/noise/quota.h"

#include <assert.h>
#include <errno.h>

#include "common/limit.h"

void
quota_init(struct quota *q)
{
	_Static_assert(LIMIT_STREAMS * LIMIT_STREAM_RESERVE <=
	    LIMIT_RELAY_HELD - LIMIT_MESSAGE, "room for one long message");

	q->reserve = LIMIT_STREAM_RESERVE;
	q->left = LIMIT_RELAY_HELD - LIMIT_STREAMS * LIMIT_STREAM_RESERVE;
}

/* Return how many of the bytes are above the reserve. */
static size_t
beyond(const struct quota *q, size_t bytes)
{
	return bytes > q->reserve ? bytes - q->reserve : 0;
}

int
quota_set(struct quota_share *s, size_t bytes)
{
	struct quota	*q = s->quota;
	size_t		 left;

	if (q != NULL) {
		left = q->left + beyond(q, s->held);
		if (beyond(q, bytes) > left) {
			errno = EDQUOT;
			return -1;
		}
		q->left = left - beyond(q, bytes);
	}
	s->held = bytes;
	return 0;
}

void
quota_lower(struct quota_share *s, size_t bytes)
{
	int	 r;

	assert(bytes <= s->held);
	r = quota_set(s, bytes);
	assert(r == 0);
	(void)r;
}
