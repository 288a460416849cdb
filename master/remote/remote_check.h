/* Checks Uplink blocks, before anything is started. */
#pragma once

#include <stdio.h>

#include "common/conf/conf.h"
#include "master/auth/runas.h"
#include "master/remote/cred.h"

/*
 * Check that all blocks are complete and valid, their users exist, and no two
 * are about the same environment.  0, or -1 with the reason in e.
 */
int	 remote_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/* Print what is valid, but probably not meant. */
void	 remote_warn(const struct conf *c, FILE *out);

/*
 * Find the user that the sessions run as; with Forward our own, as the other
 * server decides.  0, or -1 with the reason in e.
 */
int	 remote_find_user(const struct conf *c, const struct conf_uplink *u,
	    struct runas *out, struct conf_error *e) MUST_CHECK;

/*
 * What the process of an uplink was told that cannot change, in hexadecimal: 33
 * bytes.
 */
void	 remote_fingerprint(const struct conf *c, const struct conf_uplink *u,
	    char *out, size_t size);

/*
 * The credential for its registry: of a file, or env, that of the environment.
 * 0, or -1 after a line in the log.
 */
int	 remote_find_cred(const struct conf_uplink *u, const struct cred *env,
	    struct cred *out) MUST_CHECK;
