/* The gauges of proto/gauge.def, formatted by worker/conn/openmetrics.c. */
#pragma once

#include <stdint.h>

#include "master/stats.h"

struct master;

void	 gauges_take(const struct master *m, uint64_t gauges[GAUGES]);

/* Sessions: attached, detached, tombstones (without a worker). */
void	 gauges_sessions(const struct master *m, uint64_t n[3]);
