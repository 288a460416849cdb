#!/bin/sh
# execsrv-uplink can do little else than talk to the network.
exec python3 "${0%.sh}.py" "$@"
