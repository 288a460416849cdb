#include "worker/conn/openmetrics.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

#define LINE_MAX_	256

static const struct {
	const char	*name, *help;
} stats[] = {
#define STAT(name, metric, meaning)	{ #metric, meaning },
#include "proto/stat.def"
#undef STAT
};

static const struct {
	const char	*family, *state, *help;
} gauges[] = {
#define GAUGE(name, family, state, help)	{ family, state, help },
#include "proto/gauge.def"
#undef GAUGE
};

#define STATS	(sizeof(stats) / sizeof(stats[0]))
#define GAUGES	(sizeof(gauges) / sizeof(gauges[0]))

static int
openmetrics_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

static int
openmetrics_printf(struct buf *b, const char *fmt, ...)
{
	char	 line[LINE_MAX_];
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line)) {
		errno = EMSGSIZE;
		return -1;
	}
	return buf_put(b, line, (size_t)n);
}

/* A unit is part of the name and has a line of its own. */
static int
put_family(struct buf *b, const char *name, const char *type,
    const char *help)
{
	static const char	 unit[] = "seconds";
	size_t			 len = strlen(name), ulen = strlen(unit);

	if (openmetrics_printf(b, "# TYPE execsrv_%s %s\n", name, type) == -1 ||
	    (len > ulen && strcmp(name + len - ulen, unit) == 0 &&
	    openmetrics_printf(b, "# UNIT execsrv_%s %s\n", name, unit) == -1))
		return -1;
	return openmetrics_printf(b, "# HELP execsrv_%s %s.\n", name, help);
}

static int
put_gauge(struct buf *b, size_t i, uint64_t value)
{
	if ((i == 0 || strcmp(gauges[i - 1].family, gauges[i].family) !=
	    0) && put_family(b, gauges[i].family, "gauge", gauges[i].help) ==
	    -1)
		return -1;
	if (gauges[i].state[0] == '\0')
		return openmetrics_printf(b, "execsrv_%s %llu\n",
		    gauges[i].family, (unsigned long long)value);
	return openmetrics_printf(b, "execsrv_%s{state=\"%s\"} %llu\n",
	    gauges[i].family, gauges[i].state, (unsigned long long)value);
}

int
openmetrics_put(struct buf *b, const Ipc__Figures *f)
{
	size_t	 i;

	if (f->n_stat != STATS || f->n_gauge != GAUGES) {
		errno = EINVAL;
		return -1;
	}
	if (put_family(b, "build", "info", "which version this is") == -1 ||
	    openmetrics_printf(b, "execsrv_build_info{version=\"%s\"} 1\n",
	    PACKAGE_VERSION) == -1)
		return -1;
	for (i = 0; i < STATS; i++)
		if (put_family(b, stats[i].name, "counter", stats[i].help) ==
		    -1 || openmetrics_printf(b, "execsrv_%s_total %llu\n",
		    stats[i].name, (unsigned long long)f->stat[i]) == -1)
			return -1;
	for (i = 0; i < GAUGES; i++)
		if (put_gauge(b, i, f->gauge[i]) == -1)
			return -1;
	return openmetrics_printf(b, "# EOF\n");
}
