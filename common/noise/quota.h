/* Memory shared by streams: a reserve for each, the rest first come.  Pure. */
#pragma once

#include <stddef.h>

/* Embedded; private. */
struct quota {
	size_t	 reserve;	/* bytes for each */
	size_t	 left;		/* of the shared rest */
};

/* Embedded.  Zeroed: holds nothing, unlimited. */
struct quota_share {
	struct quota	*quota;	/* set by the owner while held is 0 */
	size_t		 held;	/* private */
};

/* LIMIT_RELAY_HELD bytes, a stream's reserve LIMIT_STREAM_RESERVE. */
void	 quota_init(struct quota *q);

/* What it holds in all.  0, or -1 with errno EDQUOT, unchanged. */
int	 quota_set(struct quota_share *s, size_t bytes) MUST_CHECK;

/* Not more than before; cannot fail. */
void	 quota_lower(struct quota_share *s, size_t bytes);
