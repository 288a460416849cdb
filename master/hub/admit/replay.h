/* Tickets that are good once: used ones, until they expire.  Pure. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/map.h"
#include "master/hub/admit/ticket.h"

struct replay {
	struct map			 map;
	TAILQ_HEAD(, replay_entry)	 queue;	/* by time of use */
};

void	 replay_init(struct replay *r);
void	 replay_fini(struct replay *r);

/* until: as for all others.  False: it was used, or there is no memory. */
bool	 replay_take(struct replay *r, const uint8_t nonce[TICKET_NONCE_LEN],
	    uint64_t until, uint64_t now) MUST_CHECK;

/* Whether it was. */
bool	 replay_has(const struct replay *r,
	    const uint8_t nonce[TICKET_NONCE_LEN]);
