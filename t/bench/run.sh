#!/bin/sh
# usage: [VARIABLE=...] sh t/bench/run.sh BUILD [BEFORE]
#
# Measure BUILD/execsrvd against the reference and print a table; or against
# another build of ours, the one in the folder BEFORE; BUILD/bench/floor is the
# least that a server can do (t/bench/floor.c), for output, tty, ttyecho, echoack,
# input, noisy, connect, sessions, filebulk and filewrite.
#
# ROUNDS=3		interleaved rounds (two more for the p99 values)
# METRICS='connect hub'	only these groups of t/bench/metric.def, and those
#			whose names begin so, as hub_tls
# SERVERS=execsrvd	only this one (or: reference)
# REFERENCE=PATH	the codex program to compare with
# RESULTS=1		also write t/bench/RESULTS.md
#
# As root on a quiet machine, the rows that a busy one says nothing of (whether
# longer pauses pay: ROUNDS=5 sh t/bench/tricks.sh BUILD longerpauses):
#	ROUNDS=5 METRICS='connect sessions echoack output tty ttyecho input
#	    noisy beside quota memory filebulk filewrite sbstart' \
#	    sh t/bench/run.sh BUILD
#	ROUNDS=5 METRICS='remote_handshakes remote_echo remote_output
#	    remote_flood remote_resume' sh t/bench/run.sh BUILD
#	METRICS='line1 line8 remote_line1 remote_line8 growth' \
#	    SERVERS=execsrvd sh t/bench/run.sh BUILD
set -eu

build=${1:?usage: run.sh BUILD [BEFORE]}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$build"
build=$(cd "$build" && pwd)

[ $# -lt 2 ] || { BEFORE=$(cd "$2" && pwd) && export BEFORE; }
cd "$root"
make -s BUILD="$build" bench-tools
exec python3 t/bench/bench.py "$build"
