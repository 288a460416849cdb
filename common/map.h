/*
 * A hash map from byte strings to nodes that live in the caller's objects.
 * The hash is keyed, so nobody can choose keys that collide.  The map owns
 * its table only; keys and nodes are the caller's and must outlive their
 * stay.
 */
#ifndef COMMON_MAP_H
#define COMMON_MAP_H

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
void	 map_fini(struct map *m);	/* the table, not the nodes */

/* The owner under that key, or NULL. */
void	*map_find(const struct map *m, const void *key, size_t len);

/* Any owner, or NULL when the map is empty. */
void	*map_any(const struct map *m);

/*
 * Add a node that is not in any map; the key is not looked up first.  0, or
 * -1 with errno ENOMEM.
 */
int	 map_add(struct map *m, struct map_node *n, const void *key,
	    size_t len, void *owner) __attribute__((warn_unused_result));

/* Remove a node that is in m. */
void	 map_del(struct map *m, struct map_node *n);

#endif
