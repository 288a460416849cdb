/* CLOCK_MONOTONIC: no timeout here is measured by the wall clock. */
#pragma once

#include <sys/time.h>

#include <stdint.h>

uint64_t	 clock_ms(void);
uint64_t	 clock_us(void);

/* Convert ms for libevent; more than about 30 years is cut to that. */
struct timeval	 clock_timeval(uint64_t ms);
