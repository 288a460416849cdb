#!/bin/sh
# Certificates and proxies on the way to the registry and the rendezvous.
exec python3 "${0%.sh}.py" "$@"
