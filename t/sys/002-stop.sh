#!/bin/sh
# SIGTERM and SIGINT stop it within 5 s, whatever hangs; nothing is left.
exec python3 "${0%.sh}.py" "$@"
