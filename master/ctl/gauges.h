/*
 * What /metrics tells, as numbers: the counters of proto/stat.def and the
 * gauges of proto/gauge.def.  A worker writes the text
 * (worker/conn/openmetrics.c).
 */
#ifndef MASTER_CTL_GAUGES_H
#define MASTER_CTL_GAUGES_H

#include <stdint.h>

#include "master/world.h"

/* As they are now. */
void	 gauges_take(const struct master *m, uint64_t gauges[GAUGES]);

/* Sessions by how they are: attached, detached, kept without a worker. */
void	 gauges_sessions(const struct master *m, uint64_t n[3]);

#endif
