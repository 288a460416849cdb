#include "common/linux/usage.h"

#include <sys/resource.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/ptree.h"

#define TEXT_MAX	4096	/* bytes of a file of /proc */
#define BLOCK		512	/* bytes that ru_inblock counts, getrusage(2) */

static uint64_t
ms_of(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000 + (uint64_t)tv->tv_usec / 1000;
}

static void
from_rusage(int who, struct usage *u)
{
	struct rusage	 ru;

	memset(u, 0, sizeof(*u));
	if (getrusage(who, &ru) == -1)
		return;
	u->cpu_ms = ms_of(&ru.ru_utime) + ms_of(&ru.ru_stime);
	u->read = (uint64_t)ru.ru_inblock * BLOCK;
	u->written = (uint64_t)ru.ru_oublock * BLOCK;
	u->peak_kib = (uint64_t)ru.ru_maxrss;
}

void
usage_self(struct usage *own, struct usage *gone)
{
	from_rusage(RUSAGE_SELF, own);
	from_rusage(RUSAGE_CHILDREN, gone);
}

void
usage_add(struct usage *sum, const struct usage *one)
{
	sum->cpu_ms += one->cpu_ms;
	sum->read += one->read;
	sum->written += one->written;
	sum->rss_kib += one->rss_kib;
	if (one->peak_kib > sum->peak_kib)
		sum->peak_kib = one->peak_kib;
}

int
usage_number(const char *text, const char *key, uint64_t *out)
{
	size_t	 n = strlen(key);
	char	*end;

	for (; text != NULL; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, key, n) != 0)
			continue;
		*out = strtoull(text + n, &end, 10);
		return end == text + n ? -1 : 0;
	}
	return -1;
}

/* Own time and that of the children it reaped. */
void
usage_parse_stat(const char *text, long ticks, struct usage *u)
{
	unsigned long long	 t[4];
	const char		*p = strrchr(text, ')');

	if (p == NULL || ticks <= 0 || sscanf(p + 1, " %*c %*s %*s %*s %*s "
	    "%*s %*s %*s %*s %*s %*s %llu %llu %llu %llu", &t[0], &t[1],
	    &t[2], &t[3]) != 4)
		return;
	u->cpu_ms = (t[0] + t[1] + t[2] + t[3]) * 1000 /
	    (unsigned long long)ticks;
}

void
usage_parse_io(const char *text, struct usage *u)
{
	if (usage_number(text, "read_bytes: ", &u->read) == -1 ||
	    usage_number(text, "write_bytes: ", &u->written) == -1)
		u->read = u->written = 0;
}

void
usage_parse_status(const char *text, struct usage *u)
{
	if (usage_number(text, "VmHWM:", &u->peak_kib) == -1)
		u->peak_kib = 0;
	if (usage_number(text, "VmRSS:", &u->rss_kib) == -1)
		u->rss_kib = 0;
}

static void
usage_read(pid_t pid, const char *name, char text[TEXT_MAX])
{
	char	 path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	/* On failure the text is empty. */
	(void)fd_read_file(AT_FDCWD, path, text, TEXT_MAX);
}

/* A ptree_match_fn for its side effect: it never matches. */
static bool
add_one(pid_t pid, void *arg)
{
	struct usage	 u;
	char		 text[TEXT_MAX];

	memset(&u, 0, sizeof(u));
	usage_read(pid, "stat", text);
	usage_parse_stat(text, sysconf(_SC_CLK_TCK), &u);
	usage_read(pid, "io", text);
	usage_parse_io(text, &u);
	usage_read(pid, "status", text);
	usage_parse_status(text, &u);
	usage_add(arg, &u);
	return false;
}

void
usage_add_living(struct usage *sum)
{
	ptree_kill(0, NULL, add_one, sum);
}
