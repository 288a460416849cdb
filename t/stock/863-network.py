#!/usr/bin/env python3
"""The feature network_proxy: a command reaches what is allowed, and nothing
else; the client is told of each decision."""
import http.server
import threading

from model import command
from rig import check, main, same

FEATURES = '''\
plugins = false
apps = false
[features.network_proxy]
enabled = true
[features.network_proxy.domains]
"127.0.0.1" = "allow"
"**.denied.test" = "deny"
'''
OPEN = '[sandbox_workspace_write]\nnetwork_access = true\n'

# The status that the proxy of a host answers with, and the body.
ASK = ('exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf "GET '
       'http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" '
       '>&3 && { read -r v code rest; tail -n 1; } <&3; echo "$code"')


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '8')
        self.end_headers()
        self.wfile.write(b'reached\n')

    def log_message(self, *_):
        pass


def run(rig):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    here = '127.0.0.1:%d' % port

    def script(model):
        out = yield command(ASK % (here, here))
        same((out.code, out.text), (0, 'reached\n200\n'), 'what is allowed')
        for host in ('a.denied.test', 'other.test', 'localhost:%d' % port):
            out = yield command(ASK % (host, host))
            check(out.text.endswith('403\n'), '%s: %s' % (host, out))
        # Not through the proxy.
        out = yield command('exec 3<>/dev/tcp/127.0.0.1/%d && echo connected'
                            % port)
        check(out.code != 0 and 'connected' not in out.text, out)

    done = rig.run(script, sandbox='workspace-write', config=OPEN,
                   features=FEATURES)
    starts = [p for p in done.proxy.sent('process/start')
              if p.get('networkProxy')]
    check(len(starts) == 5 and all(p['enforceManagedNetwork']
                                   for p in starts), starts)
    same([(d['host'], d['port'], d['decision'], d['reason'])
          for d in done.proxy.sent('network/policyDecision')],
         [('127.0.0.1', port, 'allow', 'allow'),
          ('a.denied.test', 80, 'deny', 'denied'),
          ('other.test', 80, 'deny', 'not_allowed'),
          ('localhost', port, 'deny', 'not_allowed_local')], 'decisions')
    server.shutdown()


main(run)
