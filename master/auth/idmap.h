/*
 * Whether a number that the kernel gives for a user or a group is one.  In a
 * user namespace (user_namespaces(7)) everybody who is not in its map has the
 * same number, the overflow id: usually 65534, which nobody has as well.
 */
#ifndef MASTER_AUTH_IDMAP_H
#define MASTER_AUTH_IDMAP_H

#include <sys/types.h>

#include <stdbool.h>

struct idmap {
	bool	 has_all_users, has_all_groups;	/* the maps leave out none */
	uid_t	 overflow_uid;			/* else no user */
	gid_t	 overflow_gid;			/* and no group */
};

/*
 * As it is for this process, once.  Where it cannot be read, without /proc for
 * example, the maps count as partial.
 */
void	 idmap_read(struct idmap *im);

/*
 * The same from a folder like /proc (self/uid_map, self/gid_map,
 * sys/kernel/overflowuid, sys/kernel/overflowgid); for tests.
 */
void	 idmap_read_from(struct idmap *im, const char *folder);

bool	 idmap_is_user(const struct idmap *im, uid_t uid);
bool	 idmap_is_group(const struct idmap *im, gid_t gid);

#endif
