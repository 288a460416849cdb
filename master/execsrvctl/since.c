#include "master/execsrvctl/since.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Read "2h" and the like.  0: seconds before now; -1: it is none. */
static int
read_ago(const char *text, time_t *ago_out)
{
	static const struct {
		const char	*unit;
		unsigned	 seconds;
	} units[] = {
		{ "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 },
		{ "d", 86400 }, { "w", 604800 },
	};
	unsigned long	 n;
	char		*end;
	size_t		 i;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	n = strtoul(text, &end, 10);
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0 && errno == 0 &&
		    n <= UINT32_MAX) {
			*ago_out = (time_t)n * units[i].seconds;
			return 0;
		}
	return -1;
}

/* Read a date, a time of today, or both. */
static int
since_read_date(const char *text, time_t *out)
{
	static const char *const	 forms[] = {
		"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
		"%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%H:%M", "%H:%M:%S"
	};
	const char			*end;
	struct tm			 tm;
	size_t				 i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		*out = time(NULL);
		if (localtime_r(out, &tm) == NULL)
			return -1;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_isdst = -1;
		if ((end = strptime(text, forms[i], &tm)) == NULL)
			continue;
		if (end[0] == 'Z' && end[1] == '\0')
			*out = timegm(&tm);
		else if (end[0] == '\0')
			*out = mktime(&tm);
		else
			continue;
		return *out == -1 ? -1 : 0;
	}
	return -1;
}

int
since_read(const char *text, time_t *out)
{
	time_t	 ago;

	if (read_ago(text, &ago) == -1)
		return since_read_date(text, out);
	*out = time(NULL) - ago;
	return 0;
}
