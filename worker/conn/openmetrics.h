/* /metrics (OpenMetrics 1.0.0, prometheus.io/docs/specs).  Pure. */
#pragma once

#include "common/buf.h"
#include "common/ipc/ipc.h"

#define OPENMETRICS_TYPE						\
	"application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Append; -1: errno EINVAL (another version), or of buf_put(). */
int	 openmetrics_put(struct buf *b, const Ipc__Figures *f) MUST_CHECK;
