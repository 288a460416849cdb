/*
 * Whether this build counts what is executed or looks for faults: it writes
 * files at its end, which confined programs may not.
 */
#ifndef COMMON_MEASURED_H
#define COMMON_MEASURED_H

#include <stdbool.h>
#include <stddef.h>

/* Of gcov; only there in a build that counts. */
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

#endif
