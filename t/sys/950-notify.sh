#!/bin/sh
# What a service manager is told (sd_notify(3)), and that nobody else can.
exec python3 "${0%.sh}.py" "$@"
