/* From what a caller asks for to an open session. */
#pragma once

#include <stdbool.h>

#include "common/client/execsrv.h"

/* As execsrv_spawn_local(); is_server: one of ours, by its path. */
struct execsrv	*execsrv_spawn_open(const char *const *argv, bool is_server,
		    const struct execsrv_options *options,
		    struct execsrv_error *e);
