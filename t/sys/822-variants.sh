#!/bin/sh
# The ways of May and June 2026: plain JSON-RPC, and frames in the clear.
exec python3 "${0%.sh}.py" "$@"
