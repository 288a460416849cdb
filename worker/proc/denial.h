/*
 * Whether a sandboxed process failed because of its sandbox: a heuristic of the
 * reference (PROTOCOL 9.4), on which clients act.  Pure.
 */
#pragma once

#include <stdbool.h>

#include "worker/proc/retain.h"

/*
 * True if it failed and the newest LIMIT_RETAINED bytes of output look like a
 * denial, or if SIGSYS killed it.
 */
bool	 denial(const struct retain *r, int exit_code);
