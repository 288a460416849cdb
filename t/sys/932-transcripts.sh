#!/bin/sh
# Transcripts: what processes put out, in files that their owner alone reads.
exec python3 "${0%.sh}.py" "$@"
