/*
 * Whether a sandboxed process failed because of its sandbox.  Nobody can
 * know; this is the rule of the reference (spec/protocol.md section 11), which
 * clients act on.  Pure.
 */
#ifndef WORKER_PROC_DENIED_H
#define WORKER_PROC_DENIED_H

#include <stdbool.h>

#include "worker/proc/retain.h"

/*
 * True when it failed and the newest LIMIT_RETAINED bytes of its output sound
 * like a denial, or it was killed for a system call.
 */
bool	 denied(const struct retain *r, int exit_code);

#endif
