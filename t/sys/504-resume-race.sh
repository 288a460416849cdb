#!/bin/sh
# Of two clients that resume at the same instant exactly one wins.
exec python3 "${0%.sh}.py" "$@"
