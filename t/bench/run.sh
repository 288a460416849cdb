#!/bin/sh
# usage: [VARIABLE=...] sh t/bench/run.sh BUILD [BEFORE]
#
# Measure BUILD/execsrvd against the reference and print a table; or against
# another build of ours, the one in the folder BEFORE.
#
# ROUNDS=3		interleaved rounds (two more for the p99 values)
# METRICS='connect echo'	only these groups of t/bench/metric.def
# SERVERS=execsrvd	only this one (or: reference)
# REFERENCE=PATH	the codex program to compare with
# RESULTS=1		also write t/bench/RESULTS.md
set -eu

build=${1:?usage: run.sh BUILD [BEFORE]}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$build"
build=$(cd "$build" && pwd)

[ $# -lt 2 ] || { BEFORE=$(cd "$2" && pwd) && export BEFORE; }
cd "$root"
make -s BUILD="$build" bench-tools
exec python3 t/bench/bench.py "$build"
