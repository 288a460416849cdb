/* What execsrv-uplink and execsrv-reach begin with. */
#pragma once

#include <stdbool.h>

#include "common/dial/dial.h"
#include "common/dial/resolve.h"

/*
 * Close all descriptors but the channel, standard input, whose new descriptor
 * is returned, and standard error if keeps_stderr; prepare what needs neither
 * secrets nor settings.  how is for log_init().  -1 after a line in the log.
 */
int	 netstart(const char *role, const char *how, bool keeps_stderr,
	    struct dialer *d, struct resolver **resolver_out) MUST_CHECK;
