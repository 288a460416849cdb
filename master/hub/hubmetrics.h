/* The text of a hub's /metrics: the rows of proto/hubstat.def, and gauges. */
#pragma once

#include "common/buf.h"
#include "master/hub/hub.h"

#define HUBMETRICS_TYPE	"text/plain; version=0.0.4; charset=utf-8"

/* 0, or -1 with errno of buf_put(). */
int	 hubmetrics_put(const struct hub *h, struct buf *b) MUST_CHECK;
