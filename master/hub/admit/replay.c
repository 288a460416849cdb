#include "master/hub/admit/replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct replay_entry {
	struct map_node			 node;
	TAILQ_ENTRY(replay_entry)	 entry;
	uint64_t			 until;
	uint8_t				 nonce[TICKET_NONCE_LEN];
};

void
replay_init(struct replay *r)
{
	map_init(&r->map);
	TAILQ_INIT(&r->queue);
}

static void
replay_forget(struct replay *r, struct replay_entry *e)
{
	TAILQ_REMOVE(&r->queue, e, entry);
	map_del(&r->map, &e->node);
	free(e);
}

void
replay_fini(struct replay *r)
{
	struct replay_entry	*e;

	while ((e = TAILQ_FIRST(&r->queue)) != NULL)
		replay_forget(r, e);
	assert(r->map.count == 0);
	map_fini(&r->map);
}

bool
replay_take(struct replay *r, const uint8_t nonce[TICKET_NONCE_LEN],
    uint64_t until, uint64_t now)
{
	struct replay_entry	*e;

	while ((e = TAILQ_FIRST(&r->queue)) != NULL && e->until < now)
		replay_forget(r, e);
	if (map_find(&r->map, nonce, TICKET_NONCE_LEN) != NULL ||
	    (e = calloc(1, sizeof(*e))) == NULL)
		return false;
	e->until = until;
	memcpy(e->nonce, nonce, TICKET_NONCE_LEN);
	if (map_add(&r->map, &e->node, e->nonce, TICKET_NONCE_LEN, e) == -1) {
		free(e);
		return false;
	}
	TAILQ_INSERT_TAIL(&r->queue, e, entry);
	return true;
}

bool
replay_has(const struct replay *r, const uint8_t nonce[TICKET_NONCE_LEN])
{
	return map_find(&r->map, nonce, TICKET_NONCE_LEN) != NULL;
}
