#!/bin/sh
# Where the credential for a registry comes from, how it changes, and that
# nobody else sees it.
exec python3 "${0%.sh}.py" "$@"
