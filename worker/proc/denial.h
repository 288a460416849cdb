/*
 * Whether a sandboxed process failed because of its sandbox.  Nobody can
 * know; this is the rule of the reference (PROTOCOL 9.4), on which clients act.
 * Pure.
 */
#ifndef WORKER_PROC_DENIAL_H
#define WORKER_PROC_DENIAL_H

#include <stdbool.h>

#include "worker/proc/retain.h"

/*
 * True when it failed and the newest LIMIT_RETAINED bytes of its output sound
 * like a denial, or it was killed for a system call.
 */
bool	 denial(const struct retain *r, int exit_code);

#endif
