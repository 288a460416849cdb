#include "master/hub/hubmetrics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char	*metric, *reason, *meaning;
} rows[HUB_STATS] = {
#define HUBSTAT(name, metric, meaning)	{ metric, NULL, meaning },
#define HUBWHY(name, reason, meaning)	{ NULL, reason, meaning },
#include "proto/hubstat.def"
#undef HUBSTAT
#undef HUBWHY
};

static int PRINTF(2, 3)
hubmetrics_line(struct buf *b, const char *fmt, ...)
{
	char	 text[512];
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return n < 0 ? -1 : buf_put(b, text, (size_t)n < sizeof(text) ?
	    (size_t)n : sizeof(text) - 1);
}

static int
hubmetrics_value(struct buf *b, const char *name, const char *type,
    const char *help, uint64_t n)
{
	return hubmetrics_line(b, "# HELP execsrv_hub_%s %s\n"
	    "# TYPE execsrv_hub_%s %s\nexecsrv_hub_%s %llu\n", name, help,
	    name, type, name, (unsigned long long)n);
}

static int
hubmetrics_rows(const struct hub *h, struct buf *b)
{
	char	 name[64];
	size_t	 i;

	for (i = 0; i < HUB_STATS; i++) {
		if (rows[i].metric == NULL)
			continue;
		snprintf(name, sizeof(name), "%s_total", rows[i].metric);
		if (hubmetrics_value(b, name, "counter", rows[i].meaning,
		    h->stat[i]) == -1)
			return -1;
	}
	if (hubmetrics_line(b, "# HELP execsrv_hub_refused_total requests "
	    "that were refused\n# TYPE execsrv_hub_refused_total counter\n") ==
	    -1)
		return -1;
	for (i = 0; i < HUB_STATS; i++)
		if (rows[i].reason != NULL && hubmetrics_line(b,
		    "execsrv_hub_refused_total{reason=\"%s\"} %llu\n",
		    rows[i].reason, (unsigned long long)(h->stat[i] +
		    (i == HUBWHY_malformed ? h->doors.counts.malformed : 0)))
		    == -1)
			return -1;
	return 0;
}

int
hubmetrics_put(const struct hub *h, struct buf *b)
{
	const struct switchboard_counts	*c = &h->board.counts;
	const struct {
		const char	*name, *type, *help;
		uint64_t	 n;
	} values[] = {
		{ "executors", "gauge", "executors that are attached",
		    h->board.executors.count },
		{ "harnesses_connected", "gauge", "harnesses on executors",
		    h->board.nharness },
		{ "streams", "gauge", "streams between them",
		    h->board.streams.count },
		{ "connections", "gauge", "connections of all kinds",
		    h->conns.n },
		{ "unauthenticated", "gauge", "connections without a valid "
		    "ticket or token yet", h->doors.n },
		{ "draining", "gauge", "1: no executor may attach",
		    h->drain.is_on },
		{ "engine_up", "gauge", "1: the other hubs can be asked",
		    h->engine->ops->is_up(h->engine) },
		{ "splices_open", "gauge", "harnesses whose bytes are carried "
		    "to another hub now", h->splices.n },
		{ "splice_bytes_total", "counter", "bytes that were carried "
		    "so, both ways", h->splices.bytes },
		{ "asked_total", "counter", "questions to other hubs",
		    h->engine->counts.asked },
		{ "asked_microseconds_total", "counter", "time that they "
		    "took", h->engine->counts.asked_us },
		{ "forged_total", "counter", "messages of the engine that no "
		    "hub of the site has signed", h->engine->counts.forged },
		{ "replayed_total", "counter", "messages of the engine that "
		    "came twice, late, or for another question",
		    h->engine->counts.replayed },
		{ "accepted_total", "counter", "connections accepted",
		    h->doors.counts.accepted },
		{ "requests_total", "counter", "requests read",
		    h->doors.counts.requests },
		{ "head_timeouts_total", "counter", "connections that did "
		    "not send a request in time", h->doors.counts.timeouts },
		{ "crowded_total", "counter", "the oldest of too many such "
		    "connections, closed", h->doors.counts.crowded },
		{ "full_total", "counter", "connections beyond "
		    "MaxConnections, closed", h->doors.counts.full },
		{ "strangers_total", "counter", "connections from elsewhere "
		    "than ProxyFrom, closed", h->doors.counts.strangers },
		{ "handshakes_total", "counter", "handshakes of TLS",
		    h->conns.handshakes },
		{ "handshakes_failed_total", "counter", "those that were not "
		    "finished", h->conns.failures },
		{ "frames_total", "counter", "frames forwarded", c->frames },
		{ "bytes_total", "counter", "bytes of them", c->bytes },
		{ "frames_dropped_total", "counter", "frames of no stream of "
		    "their sender's, or none at all", c->dropped },
		{ "violations_total", "counter", "websockets closed for what "
		    "RFC 6455 forbids, or for a message too long",
		    h->board.links.violations },
		{ "streams_total", "counter", "streams opened",
		    c->streams_opened },
		{ "streams_refused_total", "counter", "streams beyond those "
		    "that an executor may have", c->streams_refused },
		{ "stops_total", "counter", "streams that executors were told "
		    "to stop, for harnesses that read slowly", c->stops },
		{ "stalls_total", "counter", "harnesses that read too slowly, "
		    "and were reset", c->stalls },
		{ "audit_lost_total", "counter", "events that could not be "
		    "written", h->audit_lost },
	};
	size_t	 i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (hubmetrics_value(b, values[i].name, values[i].type,
		    values[i].help, values[i].n) == -1)
			return -1;
	return hubmetrics_rows(h, b);
}
