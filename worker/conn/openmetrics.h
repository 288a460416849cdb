/*
 * What /metrics answers: the figures of the master in OpenMetrics' text form
 * (OpenMetrics 1.0.0, prometheus.io/docs/specs).  Labels are those of the rows
 * and no others, so that nothing a client says is in it.  Pure.
 */
#ifndef WORKER_CONN_OPENMETRICS_H
#define WORKER_CONN_OPENMETRICS_H

#include "common/buf.h"
#include "common/ipc/ipc.h"

#define OPENMETRICS_TYPE						\
	"application/openmetrics-text; version=1.0.0; charset=utf-8"

/*
 * Append the text.  0, or -1 with errno: EINVAL (figures of another version),
 * or as buf_put().
 */
int	 openmetrics_put(struct buf *b, const Ipc__Figures *f)
	    __attribute__((warn_unused_result));

#endif
