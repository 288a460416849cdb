/* What execsrv-uplink and execsrv-reach begin with. */
#ifndef MASTER_UPLINK_START_H
#define MASTER_UPLINK_START_H

#include <stdbool.h>

#include "master/uplink/dial.h"
#include "master/uplink/resolve.h"

/*
 * Shed all but the channel, standard input, whose new descriptor is returned,
 * and standard error if it is to be kept; prepare what needs neither secrets
 * nor settings.  how is for log_init().  Ends the process if it fails.
 */
int	 start_process(const char *role, const char *how, bool keeps_stderr,
	    struct dialer *d, struct resolver **resolver_out);

#endif
