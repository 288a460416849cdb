/* "execsrvctl tail": the output of a process, from its session's worker. */
#pragma once

#include <stdbool.h>

/*
 * Show the packets on fd (taken) until it ends: output on standard output,
 * errors on standard error, byte for byte; on a terminal, control characters
 * become '?'.  As JSON: a line for each piece.  Return the exit status.
 */
int	 ctl_tail_show(int fd, bool is_json);
