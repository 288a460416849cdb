#!/bin/sh
# 942: a template that hung left the server without workers, and nobody knew.
exec python3 "${0%.sh}.py" "$@"
