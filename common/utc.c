#include "common/utc.h"

#include <stdio.h>

void
utc_text(const struct timespec *at, char text[UTC_MAX])
{
	struct tm	 tm;
	size_t		 n = 0;

	if (gmtime_r(&at->tv_sec, &tm) != NULL)
		n = strftime(text, UTC_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, UTC_MAX - n, ".%03ldZ", at->tv_nsec / 1000000);
}

void
utc_now(char text[UTC_MAX])
{
	struct timespec	 now;

	clock_gettime(CLOCK_REALTIME, &now);
	utc_text(&now, text);
}
