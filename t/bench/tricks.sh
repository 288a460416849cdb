#!/bin/sh
# usage: [ROUNDS=3] sh t/bench/tricks.sh BUILD [NAME...]
#
# Whether the tricks of proto/trick.def (or those named) still pay: measure
# BUILD, which has them all, against a build without each, BUILD/without/NAME.
# A ratio of 1 says that a trick gains nothing and can go.
set -eu

build=${1:?usage: tricks.sh BUILD [NAME...]}
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$root"
make -s BUILD="$build"

sed -n 's/^TRICK(\([a-z]*\), "\([a-z ]*\)".*/\1 \2/p' proto/trick.def |
while read -r name metrics; do
	case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
	without=$build/without/$name
	make -s BUILD="$without" \
	    CONFIGURE_ARGS="CPPFLAGS=-DWITHOUT=TRICK_$name" </dev/null
	printf '\n%s (before: without it)\n\n' "$name"
	METRICS=$metrics sh t/bench/run.sh "$build" "$without" </dev/null ||
	    echo "tricks: $name: some of it failed" >&2
done
