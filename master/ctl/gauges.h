/*
 * The gauges of proto/gauge.def, for /metrics.  A worker formats them
 * (worker/conn/openmetrics.c).
 */
#pragma once

#include <stdint.h>

#include "master/world.h"

/* Fill in the current values. */
void	 gauges_take(const struct master *m, uint64_t gauges[GAUGES]);

/* Count sessions: attached, detached, tombstones (without a worker). */
void	 gauges_sessions(const struct master *m, uint64_t n[3]);
