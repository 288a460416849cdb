/* What execsrv-uplink and execsrv-reach begin with. */
#pragma once

#include <stdbool.h>

#include "common/dial/dial.h"
#include "common/dial/resolve.h"

/*
 * Close all descriptors but the channel, standard input (returned as a new one)
 * and, if keeps_stderr, standard error; prepare what needs no secrets or
 * settings. how: of log_init().  -1 after a line in the log.
 */
int	 netstart(const char *role, const char *how, bool keeps_stderr,
	    struct dialer *d, struct resolver **resolver_out) MUST_CHECK;
