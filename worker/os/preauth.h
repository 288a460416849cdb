/* Confinement of a process that reads bytes of an unauthenticated peer. */
#pragma once

#include <stdbool.h>

/*
 * Confine for good: no file, process or further descriptor, and a seccomp
 * filter that kills on any system call but those for sockets and memory.
 * is_alone: no other process has our real uid.  0, or -1 with errno: not
 * available, serve nobody.
 */
int	 preauth_confine(bool is_alone) MUST_CHECK;
