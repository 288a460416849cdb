#!/bin/sh
# 606: each sandbox has its own rules, 40 of them in a session; what is told of
# them; and what appears later is protected too.
set -eu
exec python3 "$SRCDIR/t/sys/606-sandbox-policies.py"
