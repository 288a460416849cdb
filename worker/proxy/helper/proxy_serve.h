/* The worker's wishes: networks of processes, their listeners, answers. */
#pragma once

#include "common/net/target.h"

/* Until sock (taken) closes; exit status.  diag: of sockdiag_open(), or -1. */
int	 proxy_serve(int sock, const struct proxy_env *upstream, int diag);
