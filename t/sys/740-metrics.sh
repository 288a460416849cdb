#!/bin/sh
# /metrics: OpenMetrics, read strictly, and the same as status says.
exec python3 "${0%.sh}.py" "$@"
