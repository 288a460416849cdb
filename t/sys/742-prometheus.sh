#!/bin/sh
# The alert rules, scrape configuration and dashboard: each metric that they ask
# for is one of ours, and Prometheus' own tool takes them.
. "${0%/*}/lib.sh"
need python3
rules=contrib/prometheus/execsrv.rules.yml
board=contrib/prometheus/execsrv.grafana.json

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
names="$names $(grep -o 'execsrv_[a-z_]*' "$board" | sort -u)"
for name in $names; do
	has_line "$DIR/metrics" "^${name}[ {]" || fail "no metric $name"
done
stop_server

# The questions of the dashboard as rules; no two panels in the same place.
python3 - "$board" >"$DIR/board.yml" <<'END' || fail "the dashboard is not sound"
import json
import sys
with open(sys.argv[1], encoding="utf-8") as f:
    board = json.load(f)
taken, ids = set(), set()
print("groups: [{name: board, rules: [")
for p in board["panels"]:
    g = p["gridPos"]
    cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
             for y in range(g["y"], g["y"] + g["h"])}
    assert not cells & taken and g["x"] + g["w"] <= 24, p["title"]
    taken |= cells
    assert p["id"] not in ids and p["targets"], p["title"]
    ids.add(p["id"])
    for t in p["targets"]:
        expr = t["expr"].replace("$__rate_interval", "5m")
        expr = expr.replace("$job", "execsrv").replace("$instance", ".*")
        assert "$" not in expr, expr
        print("{record: x, expr: %s}," % json.dumps(expr))
assert len(ids) >= 10, ids
for a in board["annotations"]["list"]:
    print("{record: x, expr: %s}," % json.dumps(
        a["expr"].replace("$job", "execsrv").replace("$instance", ".*")))
print("]}]")
END

# Its picture has all panels.
python3 - "$board" contrib/prometheus/dashboard.svg <<'END' || fail "an old picture"
import json
import sys
import xml.etree.ElementTree as tree
with open(sys.argv[1], encoding="utf-8") as f:
    want = {p["title"] for p in json.load(f)["panels"]}
root = tree.parse(sys.argv[2]).getroot()
got = {t.text for t in root.iter("{http://www.w3.org/2000/svg}text")}
assert want <= got and "no data" not in got, want - got
END

command -v promtool >/dev/null || ends_here "no promtool"
expect 0 promtool check rules "$rules"
expect 0 promtool check rules --lint=none "$DIR/board.yml"
expect 0 promtool test rules contrib/prometheus/execsrv.test.yml
cp -r contrib/prometheus "$DIR/prometheus"
expect 0 promtool check config "$DIR/prometheus/prometheus.yml"
# Does it see a mistake at all?
sed -i 's/execsrv_ready == 0/execsrv_ready == 1/' "$DIR/prometheus/execsrv.rules.yml"
expect 1 promtool test rules "$DIR/prometheus/execsrv.test.yml"
