/*
 * Memory shared by streams: each has a reserve, the rest is first come, first
 * served.  Pure.
 */
#pragma once

#include <stddef.h>

/* Embedded; members are private. */
struct quota {
	size_t	 reserve;	/* bytes for each */
	size_t	 left;		/* of the shared rest */
};

/* What a stream holds.  All zero: nothing, unlimited.  Embedded. */
struct quota_share {
	struct quota	*quota;	/* set by the owner while held is 0 */
	size_t		 held;	/* private */
};

/* LIMIT_RELAY_HELD bytes, LIMIT_STREAM_RESERVE of them for each stream. */
void	 quota_init(struct quota *q);

/* Account for bytes in all.  0, or -1 with errno EDQUOT, unchanged. */
int	 quota_set(struct quota_share *s, size_t bytes) MUST_CHECK;

/* The same for fewer bytes than before; cannot fail. */
void	 quota_lower(struct quota_share *s, size_t bytes);
