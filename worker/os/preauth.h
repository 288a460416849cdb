/*
 * What a process may not do that reads bytes of somebody whom nobody knows
 * yet: anything but read, answer, and hand over.
 */
#ifndef WORKER_OS_PREAUTH_H
#define WORKER_OS_PREAUTH_H

#include <stdbool.h>

/*
 * For good: no file, no process, no further descriptor, and of system calls
 * the 30 or so that sockets and memory take; any other one ends the process.
 * is_alone: no other process has its real user id.  0, or -1 with errno:
 * something of it cannot be had here, and nobody may be served by this
 * process.
 */
int	 preauth_confine(bool is_alone) __attribute__((warn_unused_result));

#endif
