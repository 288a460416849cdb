#include "master/execsrvctl/cp/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_MIN	8u	/* columns */

/* In the largest unit below 1000, with one decimal. */
static void
print_size(char *out, size_t size, uint64_t bytes)
{
	static const char *const	 units[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"
	};
	size_t				 i;
	double				 n = (double)bytes;

	for (i = 0; n >= 1000 && i < 6; i++)
		n /= 1024;
	snprintf(out, size, i == 0 ? "%.0f %s" : "%.1f %s", n, units[i]);
}

static void
print_left(char *out, size_t size, uint64_t bytes, uint64_t total, uint64_t ms)
{
	uint64_t	 s;

	out[0] = '\0';
	if (bytes == 0 || total <= bytes)
		return;
	s = (uint64_t)((double)(total - bytes) * (double)ms /
	    (double)bytes / 1000);
	if (s < 3600)
		snprintf(out, size, "  %02" PRIu64 ":%02" PRIu64 " left",
		    s / 60, s % 60);
	else
		snprintf(out, size, "  %" PRIu64 " h left", s / 3600);
}

void
progress_line(char *out, size_t size, unsigned width, const char *name,
    uint64_t bytes, uint64_t total, uint64_t ms)
{
	char		 done[32], rate[32], left[32], percent[16] = "";
	char		 end[128];
	unsigned	 room;
	int		 n;

	print_size(done, sizeof(done), bytes);
	print_size(rate, sizeof(rate), ms == 0 ? 0 :
	    (uint64_t)((double)bytes * 1000 / (double)ms));
	print_left(left, sizeof(left), bytes, total, ms);
	if (total > 0)
		snprintf(percent, sizeof(percent), "%3u%%  ", bytes >= total ?
		    100 : (unsigned)((double)bytes * 100 / (double)total));
	n = snprintf(end, sizeof(end), "  %s%s  %s/s%s", percent, done, rate,
	    left);
	room = (unsigned)n + NAME_MIN < width ? width - (unsigned)n :
	    NAME_MIN;
	snprintf(out, size, "%-*.*s%s", (int)room, (int)room, name, end);
	/* If even that is too long: a wrapped line could not be erased. */
	if (strlen(out) > width && width < size)
		out[width] = '\0';
}
