/* Whom sessions run as that the configuration names a user for. */
#ifndef MASTER_AUTH_RUNAS_H
#define MASTER_AUTH_RUNAS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "common/conf/conf.h"

#define RUNAS_WHY	512	/* bytes of a reason */

struct runas {
	uid_t	 uid;
	gid_t	 gid;
	bool	 has_gid;
};

/*
 * Look a user up by name; empty is who we are, unless that is root.  what is
 * the setting that names him, for the reason: we are root or he is us, and he
 * is not root unless PermitRootSession says yes.  0, or -1 with the reason.
 */
int	 runas_find(const struct conf *c, const char *what, const char *name,
	    struct runas *out, char *why, size_t size)
	    __attribute__((warn_unused_result));

#endif
