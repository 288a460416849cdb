/* What an Uplink block must have, before anything is started for it. */
#ifndef MASTER_REMOTE_REMOTE_CHECK_H
#define MASTER_REMOTE_REMOTE_CHECK_H

#include "common/conf/conf.h"
#include "master/auth/runas.h"

/*
 * Whether the blocks are complete, of use to an uplink, and no two about the
 * same; users are looked up.
 * 0, or -1 with the reason in e.
 */
int	 remote_check(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * Find the user whom its sessions run as; our own with Forward, where another
 * server decides.  0, or -1 with the reason in e.
 */
int	 remote_find_user(const struct conf *c, const struct conf_uplink *u,
	    struct runas *out, struct conf_error *e)
	    __attribute__((warn_unused_result));

#endif
