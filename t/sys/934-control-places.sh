#!/bin/sh
# Who may open the control socket takes nobody else's place there.
exec python3 "${0%.sh}.py" "$@"
