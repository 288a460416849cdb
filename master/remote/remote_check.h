/* Checks Uplink blocks, before anything is started. */
#pragma once

#include <stdio.h>

#include "common/conf/conf.h"
#include "master/auth/runas.h"
#include "master/remote/cred.h"

/* Blocks complete and valid, users there, environments once?  0, or -1: e. */
int	 remote_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/* Print what is valid, but probably not meant. */
void	 remote_warn(const struct conf *c, FILE *out);

/*
 * The user that sessions run as; with Forward our own, as the other server
 * decides.  0, or -1 with the reason in e.
 */
int	 remote_find_user(const struct conf *c, const struct conf_uplink *u,
	    struct runas *out, struct conf_error *e) MUST_CHECK;

/* What cannot change of an uplink's process, in hexadecimal: 33 bytes. */
void	 remote_fingerprint(const struct conf *c, const struct conf_uplink *u,
	    char *out, size_t size);

/* From a file; or env, that of the environment.  0, or -1: logged. */
int	 remote_find_cred(const struct conf_uplink *u, const struct cred *env,
	    struct cred *out) MUST_CHECK;
