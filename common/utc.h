/* The time of day as text. */
#pragma once

#include <time.h>

#define UTC_MAX	80

/* "2026-01-02T03:04:05.678Z" */
void	 utc_text(const struct timespec *at, char text[UTC_MAX]);

void	 utc_now(char text[UTC_MAX]);
