/* Built for coverage or with sanitizers: files are written at exit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of gcov, if linked. */
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
