/*
 * Builds for coverage and with sanitizers write files at exit, which a confined
 * process may not: they relax confinement.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Defined by gcov, if it is linked. */
extern void	 __gcov_exit(void) __attribute__((weak));

static inline bool
is_measured(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return __gcov_exit != NULL;
#endif
}
