/* "execsrvctl tail": the output of a process, from its session's worker. */
#ifndef MASTER_EXECSRVCTL_CTL_TAIL_H
#define MASTER_EXECSRVCTL_CTL_TAIL_H

#include <stdbool.h>

/*
 * Show what comes on fd (taken) until it ends: output on standard output,
 * errors on standard error, byte for byte; where that is a terminal, what
 * could do something to it becomes '?'.  As JSON: a line for each piece.  The
 * exit status.
 */
int	 ctl_tail_show(int fd, bool is_json);

#endif
