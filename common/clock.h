/* Clocks.  No timeout here is measured by the wall clock. */
#pragma once

#include <sys/time.h>

#include <stdint.h>

uint64_t	 clock_ms(void);	/* CLOCK_MONOTONIC */
uint64_t	 clock_us(void);
uint64_t	 clock_wall_ms(void);	/* since 1970 */

/* For libevent; cut to about 30 years. */
struct timeval	 clock_timeval(uint64_t ms);
