/*
 * A hash map from byte strings to nodes embedded in the caller's objects.  The
 * hash has a secret key, so that clients cannot choose colliding keys.  Keys
 * stay the caller's and must not move while their node is in the map.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct map_node {
	struct map_node	*next;
	uint64_t	 hash;
	const void	*key;
	size_t		 len;
	void		*owner;		/* the object the node is in */
};

struct map {
	struct map_node	**slots;	/* NULL until used */
	size_t		 nslots;	/* a power of 2 */
	size_t		 count;
	uint8_t		 secret[16];
};

void	 map_init(struct map *m);
void	 map_fini(struct map *m);	/* frees the table, not the nodes */

/* Return the owner of a key; NULL if there is none. */
void	*map_find(const struct map *m, const void *key, size_t len);

/* Walk over all owners, in any order.  Take the next one before you remove a
   node, and remove no other one. */
void	*map_first(const struct map *m);
void	*map_next(const struct map *m, const struct map_node *n);

/* Add a node, zeroed or removed before, whose key is not in the map.  0, or -1
   with errno ENOMEM. */
int	 map_add(struct map *m, struct map_node *n, const void *key,
	    size_t len, void *owner) MUST_CHECK;

/* Remove a node, which must be in m. */
void	 map_del(struct map *m, struct map_node *n);
