#!/bin/sh
# Who shows a token is whom it names; who has to and does not is sent away.
exec python3 "${0%.sh}.py" "$@"
