/*
 * Who showed a valid token: what they hold, and how much of what they may.
 * Pure; now is in ms, monotonic.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/map.h"
#include "master/hub/admit/ticket.h"

struct subjects {
	struct map	 map;
};

struct subject {
	struct map_node	 node;
	struct subjects	*all;
	char		 name[TICKET_SUBJECT_MAX + 1];
	unsigned	 refs;
	unsigned	 executors, harnesses;
	uint64_t	 requests, requests_at;	/* thousandths of one, when */
	int64_t		 bytes;			/* may be sent */
	uint64_t	 bytes_at;
};

void		 subjects_init(struct subjects *all);

/* Forget those that nothing has asked of for a while.  Returns how many. */
size_t		 subjects_sweep(struct subjects *all, uint64_t now);
void		 subjects_fini(struct subjects *all);

/* Find or make one, and hold it.  NULL with errno ENOMEM. */
struct subject	*subject_ref(struct subjects *all, const char *name);

/* A second holder; and give it up. */
struct subject	*subject_share(struct subject *s);
void		 subject_unref(struct subject **sp);

/* A request; 10 s of rate at once.  0, or seconds after which to come again. */
unsigned	 subject_ask(struct subject *s, uint64_t rate, uint64_t now);

/*
 * Bytes, a second of rate at once: how many may go now; count some that went,
 * and return for how many ms to wait.
 */
uint64_t	 subject_room(struct subject *s, uint64_t rate, uint64_t now);
uint64_t	 subject_send(struct subject *s, uint64_t rate, int64_t n,
		    uint64_t now);
