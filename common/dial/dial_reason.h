/*
 * Why no connection can be made to an address: libwebsockets does not tell, so
 * a connect(2) of our own has to fail as well.
 */
#pragma once

#include <stdint.h>

#include "common/dial/wsloop.h"

struct dial_reason;

/*
 * Connect to a numeric address and close; fn is called from the loop with an
 * errno, 0: now it can be connected to.  NULL with errno.
 */
struct dial_reason *dial_reason_new(struct wsloop *l, const char *address,
	    uint16_t port, void (*fn)(void *arg, int error), void *arg);

/* fn is not called any more. */
void	 dial_reason_free(struct dial_reason **rp);
