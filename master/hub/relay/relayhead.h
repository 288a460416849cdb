/*
 * The stream id of a relay frame (proto/relay.proto, PROTOCOL 12.5), and
 * nothing else of it: a hub forwards frames as they are.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"

#define RELAYHEAD_ID_MAX	200	/* bytes of a stream id */
#define RELAYHEAD_RESET_MAX	(RELAYHEAD_ID_MAX + 48)

struct relayhead {
	struct span	 id;
	bool		 is_reset;	/* the last of its bodies is one */
};

/* 0, or -1: it is to be dropped. */
int	 relayhead_read(struct relayhead *h, const void *data, size_t len)
	    MUST_CHECK;

/*
 * Whether a reset is surely one for every executor, too, which drops a frame of
 * another version, or with an empty reason, or one that is no UTF-8.
 */
bool	 relayhead_is_plain_reset(const struct relayhead *h, const void *data,
	    size_t len);

/* Write a reset with a short reason; return its length. */
size_t	 relayhead_reset(struct span id, const char *reason,
	    uint8_t out[RELAYHEAD_RESET_MAX]);

/* Write what stops a stream of an executor of ours, or lets it go on. */
size_t	 relayhead_flow(struct span id, bool is_stopped,
	    uint8_t out[RELAYHEAD_RESET_MAX]);
