/* Times as people write them.  Pure, but for the clock. */
#pragma once

#include <time.h>

#include "common/attributes.h"

/*
 * "10min", "2h", "1d" ago; "14:30" of today, "2026-01-31", "2026-01-31
 * 14:30[:30]", with T between and Z behind for UTC.  0, or -1.
 */
int	 since_read(const char *text, time_t *out) MUST_CHECK;
