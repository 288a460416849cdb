/* The worker's wishes: networks of processes, their listeners, answers. */
#pragma once

#include "common/net/target.h"

/*
 * Serve the worker at sock (taken) until it closes the channel.  upstream:
 * proxies of the environment; diag: of sockdiag_open(), or -1.  Return the exit
 * status.
 */
int	 proxy_serve(int sock, const struct proxy_env *upstream, int diag);
