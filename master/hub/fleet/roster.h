/* The other hubs that were heard of lately.  Pure; now: ms, monotonic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"

#define ROSTER_MAX	64	/* hubs */
#define ROSTER_NAME_MAX	64
#define ROSTER_ID_LEN	8
#define ROSTER_FORGET	20000	/* ms of silence */

struct roster {
	size_t	 n;
	struct {
		uint8_t		 id[ROSTER_ID_LEN];
		char		 name[ROSTER_NAME_MAX + 1];
		uint64_t	 heard;
	} hub[ROSTER_MAX];
};

/* Those of whom something is awaited. */
struct roster_wait {
	bool	 is_all;
	size_t	 n;
	uint8_t	 id[ROSTER_MAX][ROSTER_ID_LEN];
};

void		 roster_init(struct roster *r);

/* One says its name.  Whether it was not known; one of the same name goes. */
bool		 roster_hello(struct roster *r, const uint8_t *id,
		    struct span name, uint64_t now);
void		 roster_bye(struct roster *r, const uint8_t *id);
void		 roster_sweep(struct roster *r, uint64_t now);

/* The id of a name, or NULL. */
const uint8_t	*roster_find(const struct roster *r, const char *name);

/* Wait for all of them; one was heard: whether it was the last one. */
void		 roster_expect(const struct roster *r, struct roster_wait *w);
bool		 roster_heard(struct roster_wait *w, const uint8_t *id);
