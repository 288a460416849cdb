/*
 * Bytes of a tunnel that go from socket to socket without being copied.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <sys/types.h>

#include "common/attributes.h"
#include "worker/proxy/helper/proxy_side.h"

/* Whether it pays after so many bytes that were read at once. */
bool	 proxy_splice_pays(size_t n);

/*
 * Move up to LIMIT_NET_BUFFER bytes by way of a pipe, which is empty before and
 * after; what the receiver does not take is queued, by way of scratch.  Bytes;
 * 0: end; -1 with errno, EAGAIN if there is nothing now.
 */
ssize_t	 proxy_splice(struct proxy_side *from, struct proxy_side *to,
	    const int pipe[2], char *scratch) MUST_CHECK;
