/* Where an HTTP/1 body ends (RFC 9112 section 6).  Pure, strict. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "worker/proxy/helper/proxyhead.h"

/* Embedded. */
struct proxybody {
	enum proxybody_kind kind;
	int		 state;		/* of chunks */
	uint64_t	 left;		/* of the length, or of a chunk */
	unsigned	 digits;	/* of a chunk's size */
	size_t		 line;		/* bytes of lines, not of data */
	bool		 is_over;
};

void	 proxybody_start(struct proxybody *b, enum proxybody_kind kind,
	    uint64_t length);

/* Bytes of the body; b->is_over may be true then.  -1: malformed chunks. */
ssize_t	 proxybody_take(struct proxybody *b, const char *data, size_t len)
	    MUST_CHECK;
