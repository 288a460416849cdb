/*
 * Memory that streams share: each has a reserve that no other can take, the
 * rest is for who comes first.  Pure.
 */
#ifndef COMMON_NOISE_QUOTA_H
#define COMMON_NOISE_QUOTA_H

#include <stddef.h>

/* Embedded; members are private. */
struct quota {
	size_t	 reserve;	/* bytes of each */
	size_t	 left;		/* of what is shared */
};

/* What one holds; all zero: nothing, and without a bound.  Embedded. */
struct quota_share {
	struct quota	*quota;	/* set by the owner, while it holds nothing */
	size_t		 held;	/* private */
};

/* LIMIT_RELAY_HELD bytes for LIMIT_STREAMS streams, LIMIT_STREAM_RESERVE
   of them for each. */
void	 quota_init(struct quota *q);

/*
 * It holds that many bytes now.  0, or -1 with errno EDQUOT: more than is
 * left, and it counts what it did before.
 */
int	 quota_set(struct quota_share *s, size_t bytes)
	    __attribute__((warn_unused_result));

/* The same for fewer bytes than before, which cannot fail. */
void	 quota_lower(struct quota_share *s, size_t bytes);

#endif
