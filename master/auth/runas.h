/* Users that settings name for sessions to run as. */
#pragma once

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
 * Look up name; "": our own user, unless that is root.  Another one needs us to
 * be root; root needs PermitRootSession.  what: the setting, for why.  0, or
 * -1.
 */
int	 runas_find(const struct conf *c, const char *what, const char *name,
	    struct runas *out, char *why, size_t size) MUST_CHECK;
