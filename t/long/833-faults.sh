#!/bin/sh
# Kills, reloads, short sessions, idle ones, stops: nobody else notices.
exec python3 "${0%.sh}.py" "$@"
