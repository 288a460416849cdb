/* "execsrvctl forward": ports of a server here, and ports of here there. */
#pragma once

#include <stddef.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/forward/forward_spec.h"

struct forward_options {
	const char		*url;
	struct execsrv_options	 how;
	struct forward_spec	*spec;
	size_t			 n;
};

/*
 * Forward until a signal or an error.  The exit status, having said why.
 * Blocks signals: the process should end soon after.
 */
int	 forward_command(const struct forward_options *o);
