#!/bin/sh
# 943: without descriptors execsrvctl failed when it was needed, clients were
# reset, and the log said so ten times a second.
exec python3 "${0%.sh}.py" "$@"
