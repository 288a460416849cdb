/*
 * The text of /metrics (OpenMetrics 1.0.0, prometheus.io/docs/specs).  Labels
 * are from the rows only, nothing in it comes from a client.  Pure.
 */
#pragma once

#include "common/buf.h"
#include "common/ipc/ipc.h"

#define OPENMETRICS_TYPE						\
	"application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Append it.  0, or -1 with errno EINVAL (another version), or as buf_put(). */
int	 openmetrics_put(struct buf *b, const Ipc__Figures *f) MUST_CHECK;
