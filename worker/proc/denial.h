/* Did its sandbox make a process fail?  A heuristic (PROTOCOL 9.4).  Pure. */
#pragma once

#include <stdbool.h>

#include "worker/proc/retain.h"

/* It failed and its newest output looks like a denial, or SIGSYS killed it. */
bool	 denial(const struct retain *r, int exit_code);
