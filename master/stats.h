/* Counters and gauges, shared by the modules of the master. */
#pragma once

/* Counters: the rows of proto/stat.def. */
enum master_stat {
#define STAT(name, metric, meaning)	STAT_##name,
#include "proto/stat.def"
#undef STAT
	STATS
};

/* The rows of proto/gauge.def. */
enum gauge {
#define GAUGE(name, family, state, help)	GAUGE_##name,
#include "proto/gauge.def"
#undef GAUGE
	GAUGES
};

/* Of anything with the member stats, which has STATS numbers. */
#define STAT_INC(of, name)	((of)->stats[STAT_##name]++)
