/* Checks Uplink blocks, before anything is started. */
#pragma once

#include "common/conf/conf.h"
#include "master/auth/runas.h"

/*
 * Check that all blocks are complete and valid, their users exist, and no two
 * are about the same environment.  0, or -1 with the reason in e.
 */
int	 remote_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/*
 * Find the user that the sessions run as; with Forward our own, as the other
 * server decides.  0, or -1 with the reason in e.
 */
int	 remote_find_user(const struct conf *c, const struct conf_uplink *u,
	    struct runas *out, struct conf_error *e) MUST_CHECK;
