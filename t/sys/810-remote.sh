#!/bin/sh
# An executor registers with an environment registry, is connected through the
# rendezvous, and serves harnesses.
exec python3 "${0%.sh}.py" "$@"
