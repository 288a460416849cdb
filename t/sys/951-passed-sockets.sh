#!/bin/sh
# Listening sockets that somebody else made (sd_listen_fds(3)).
exec python3 "${0%.sh}.py" "$@"
