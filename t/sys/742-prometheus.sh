#!/bin/sh
# The alert rules and scrape configuration: each metric that they ask for is one
# of ours, and Prometheus' own tool takes them.
. "${0%/*}/lib.sh"
need python3
rules=contrib/prometheus/execsrv.rules.yml

echo secret >"$DIR/token"
chmod 600 "$DIR/token"
start_server -o "MetricsListen=unix:$DIR/m.sock" -o Uplink=x \
    -o RegistryUrl=http://127.0.0.1:1 -o EnvironmentId=x \
    -o Forward=ws://127.0.0.1:1 -o "CredentialFile=$DIR/token"
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
print(s.makefile().read())' "$DIR/m.sock" >"$DIR/metrics" || fail "no metrics"
names=$(grep -o 'execsrv_[a-z_]*' "$rules" | sort -u)
[ "$(echo "$names" | wc -l)" -ge 6 ] || fail "no names in $rules"
for name in $names; do
	has_line "$DIR/metrics" "^${name}[ {]" || fail "no metric $name"
done
stop_server

command -v promtool >/dev/null || ends_here "no promtool"
expect 0 promtool check rules "$rules"
expect 0 promtool test rules contrib/prometheus/execsrv.test.yml
cp -r contrib/prometheus "$DIR/prometheus"
expect 0 promtool check config "$DIR/prometheus/prometheus.yml"
# Does it see a mistake at all?
sed -i 's/execsrv_ready == 0/execsrv_ready == 1/' "$DIR/prometheus/execsrv.rules.yml"
expect 1 promtool test rules "$DIR/prometheus/execsrv.test.yml"
