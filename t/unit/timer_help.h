/* The only timer of a loop: when it is due, and what happens then. */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

/* Milliseconds of the clock by which it is set. */
uint64_t timer_help_now(void);

/* Whether it is set for min to max ms after some moment since "before". */
bool	 timer_help_is_due(struct event_base *base, uint64_t before,
	    uint64_t min, uint64_t max);
bool	 timer_help_is_set(struct event_base *base);

/* Its time is up. */
void	 timer_help_fire(struct event_base *base);
