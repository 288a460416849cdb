#!/bin/sh
# usage: [VARIABLE=...] sh t/bench/run.sh BUILD
#
# Measure BUILD/execsrvd against the reference and print a table.
#
# ROUNDS=3		interleaved rounds (two more for the p99 values)
# METRICS='connect echo'	only these groups of t/bench/metric.def
# SERVERS=execsrvd	only this one (or: reference)
# REFERENCE=PATH	the codex program to compare with
# RESULTS=1		also write t/bench/RESULTS.md
set -eu

build=${1:?usage: run.sh BUILD}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$build"
build=$(cd "$build" && pwd)

cd "$root"
make -s BUILD="$build" bench-tools
exec python3 t/bench/bench.py "$build"
