#include "common/map.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define MAP_FIRST	16	/* slots; doubled when as many nodes are in */

void
map_init(struct map *m)
{
	memset(m, 0, sizeof(*m));
	randombytes_buf(m->secret, sizeof(m->secret));
}

void
map_fini(struct map *m)
{
	assert(m->nslots == 0 || m->slots != NULL);
	free(m->slots);
	m->slots = NULL;
	m->nslots = m->count = 0;
}

static uint64_t
hash_of(const struct map *m, const void *key, size_t len)
{
	uint64_t	 h;

	_Static_assert(crypto_shorthash_BYTES == sizeof(h), "hash size");
	_Static_assert(crypto_shorthash_KEYBYTES == sizeof(m->secret),
	    "key size");
	crypto_shorthash((unsigned char *)&h, key, len, m->secret);
	return h;
}

static struct map_node **
slot_of(const struct map *m, uint64_t hash)
{
	return &m->slots[hash & (m->nslots - 1)];
}

void *
map_find(const struct map *m, const void *key, size_t len)
{
	struct map_node	*n;
	uint64_t	 hash;

	if (m->count == 0)
		return NULL;
	hash = hash_of(m, key, len);
	for (n = *slot_of(m, hash); n != NULL; n = n->next)
		if (n->hash == hash && n->len == len &&
		    memcmp(n->key, key, len) == 0)
			return n->owner;
	return NULL;
}

static int
map_grow(struct map *m)
{
	struct map	 old = *m;
	struct map_node	*n, *next, **slot;
	size_t		 i;

	assert(m->count >= m->nslots);
	m->nslots = old.nslots == 0 ? MAP_FIRST : old.nslots * 2;
	if ((m->slots = calloc(m->nslots, sizeof(*m->slots))) == NULL) {
		m->slots = old.slots;
		m->nslots = old.nslots;
		return old.nslots == 0 ? -1 : 0;	/* slower */
	}
	for (i = 0; i < old.nslots; i++)
		for (n = old.slots[i]; n != NULL; n = next) {
			next = n->next;
			slot = slot_of(m, n->hash);
			n->next = *slot;
			*slot = n;
		}
	free(old.slots);
	return 0;
}

int
map_add(struct map *m, struct map_node *n, const void *key, size_t len,
    void *owner)
{
	struct map_node	**slot;

	assert((m->nslots & (m->nslots - 1)) == 0 && owner != NULL);
	assert(n->owner == NULL);	/* it is in no map */
	if (m->count >= m->nslots && map_grow(m) == -1)
		return -1;
	n->hash = hash_of(m, key, len);
	n->key = key;
	n->len = len;
	n->owner = owner;
	slot = slot_of(m, n->hash);
	n->next = *slot;
	*slot = n;
	m->count++;
	return 0;
}

void
map_del(struct map *m, struct map_node *n)
{
	struct map_node	**p;

	assert(m->count > 0 && m->slots != NULL && n->owner != NULL);
	for (p = slot_of(m, n->hash); *p != n; p = &(*p)->next)
		assert(*p != NULL);
	*p = n->next;
	n->owner = NULL;
	m->count--;
}

static void *
first_from(const struct map *m, size_t i)
{
	for (; i < m->nslots; i++)
		if (m->slots[i] != NULL)
			return m->slots[i]->owner;
	return NULL;
}

void *
map_first(const struct map *m)
{
	return m->count == 0 ? NULL : first_from(m, 0);
}

void *
map_next(const struct map *m, const struct map_node *n)
{
	return n->next != NULL ? n->next->owner :
	    first_from(m, (size_t)(slot_of(m, n->hash) - m->slots) + 1);
}
