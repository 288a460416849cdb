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
mkdir -p "$build/bench"
build=$(cd "$build" && pwd)
out=$build/bench
: "${CC:=cc}"

cd "$root"
set -- -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I.
$CC "$@" -o "$out/bench" t/bench/bench.c t/bench/client.c t/bench/usage.c \
	t/bench/latency.c t/bench/bulk.c t/bench/many.c t/bench/startup.c \
	t/bench/fscall.c t/bench/files.c t/bench/sandbox.c t/bench/stock.c
$CC "$@" -o "$out/command" t/bench/command.c
exec python3 t/bench/bench.py "$build"
