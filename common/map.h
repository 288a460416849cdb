/*
 * A hash map of nodes embedded in the caller's objects.  Keyed: clients cannot
 * choose colliding keys.  Keys stay the caller's and must not move.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_node {
	struct map_node	*next;
	uint64_t	 hash;
	const void	*key;
	size_t		 len;
	void		*owner;		/* that has the node */
};

struct map {
	struct map_node	**slots;
	size_t		 nslots;	/* a power of 2 */
	size_t		 count;
	uint8_t		 secret[16];
};

void	 map_init(struct map *m);
void	 map_fini(struct map *m);	/* frees the table, not the nodes */

/* Return the owner, or NULL. */
void	*map_find(const struct map *m, const void *key, size_t len);

/* In any order.  Before you remove a node, take the next; remove no other. */
void	*map_first(const struct map *m);
void	*map_next(const struct map *m, const struct map_node *n);

/* n: zeroed or removed before; the key is new.  -1: errno ENOMEM. */
int	 map_add(struct map *m, struct map_node *n, const void *key,
	    size_t len, void *owner) MUST_CHECK;

void	 map_del(struct map *m, struct map_node *n);
