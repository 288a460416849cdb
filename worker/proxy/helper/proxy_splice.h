/*
 * Tunneled bytes go from socket to socket without a copy. A trick
 * (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <sys/types.h>

#include "common/attributes.h"
#include "worker/proxy/helper/proxy_side.h"

/* After n bytes that were read at once. */
bool	 proxy_splice_pays(size_t n);

/*
 * Up to LIMIT_NET_BUFFER bytes by an empty pipe; what is not taken is queued by
 * scratch. Bytes; 0: end; -1 with errno (EAGAIN: nothing now).
 */
ssize_t	 proxy_splice(struct proxy_side *from, struct proxy_side *to,
	    const int pipe[2], char *scratch) MUST_CHECK;
