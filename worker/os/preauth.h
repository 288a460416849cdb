/* For a process that reads bytes of an unauthenticated peer. */
#pragma once

#include <stdbool.h>

/*
 * For good: no file, process or further descriptor; a seccomp filter kills on
 * other calls than for sockets and memory.  is_alone: nobody else has our real
 * uid.  0, or -1 with errno: serve nobody.
 */
int	 preauth_confine(bool is_alone) MUST_CHECK;
