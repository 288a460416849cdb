/*
 * Whether a uid or gid that the kernel reports is real: in a user namespace
 * (user_namespaces(7)) all that are not in its map appear as the overflow id.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

struct idmap {
	bool	 has_all_users, has_all_groups;	/* the maps are complete */
	uid_t	 overflow_uid;			/* else not a user */
	gid_t	 overflow_gid;			/* else not a group */
};

/* This process's maps; if that fails they count as partial. */
void	 idmap_read(struct idmap *im);

/* From a folder like /proc, for tests. */
void	 idmap_read_from(struct idmap *im, const char *folder);

bool	 idmap_is_user(const struct idmap *im, uid_t uid);
bool	 idmap_is_group(const struct idmap *im, gid_t gid);
