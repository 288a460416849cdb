/* The listening sockets of a hub, which its master binds. */
#pragma once

#include "common/conf/conf.h"
#include "master/hub/hubworker.h"

/* Those of Listen and MetricsListen.  0 and an array for free(); -1 with e. */
int	 hublisten_open(const struct hubconf *c, struct hublistener **out,
	    size_t *n_out, struct conf_error *e) MUST_CHECK;

/* Check the addresses only. */
int	 hublisten_check(const struct hubconf *c, struct conf_error *e)
	    MUST_CHECK;

/* Unlink the sockets that have names, ours only. */
void	 hublisten_unlink(const struct hublistener *l, size_t n,
	    int control);

/* Make the run directory, lock it and listen there; -1 after a log line. */
int	 hublisten_control(const struct hubconf *c, int *lock_out) MUST_CHECK;
