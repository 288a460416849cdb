/*
 * Time that only goes forward (CLOCK_MONOTONIC).  No time limit of ours is
 * measured by the wall clock.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <sys/time.h>

#include <stdint.h>

/* Milliseconds since some moment in the past. */
uint64_t	 clock_ms(void);

/* Microseconds since the same moment. */
uint64_t	 clock_us(void);

/* ms as libevent wants its timers, at most some 30 years. */
struct timeval	 clock_timeval(uint64_t ms);

#endif
