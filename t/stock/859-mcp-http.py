#!/usr/bin/env python3
"""An MCP server that is asked over HTTP, by the exec server."""
import http.server
import json
import threading

from model import tool
from rig import check, main, same

CONFIG = '''\
[mcp_servers.kettle]
url = "%s"
environment_id = "remote"
startup_timeout_sec = 120
http_headers = { "X-Word" = "secret" }
'''
TOOLS = [{'name': 'brew', 'description': 'Brews.', 'inputSchema': {
    'type': 'object', 'properties': {'kind': {'type': 'string'}}}}]
STEAM = 'steam ' * 50000        # more than one piece of a body


class Kettle(http.server.BaseHTTPRequestHandler):
    """Answers calls as a stream of events, the rest as plain JSON."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def begin(self, status, *fields):
        self.server.seen.append((self.command, status,
                                 self.headers.get('X-Word')))
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()

    def empty(self, status):
        self.begin(status, ('Content-Length', '0'))

    def do_GET(self):
        self.empty(405)

    def do_DELETE(self):
        self.empty(204 if self.headers.get('Mcp-Session-Id') == 's1' else 404)

    def do_POST(self):
        size = int(self.headers['Content-Length'])
        message = json.loads(self.rfile.read(size))
        method = message['method']
        if 'id' not in message:
            self.empty(202)
        elif method == 'initialize':
            self.plain(message, {
                'protocolVersion': message['params']['protocolVersion'],
                'capabilities': {'tools': {}},
                'serverInfo': {'name': 'kettle', 'version': '1'}})
        elif method == 'tools/list':
            self.plain(message, {'tools': TOOLS})
        elif method == 'tools/call':
            self.stream(message)
        else:
            self.plain(message, {})

    @staticmethod
    def answer(message, result):
        return json.dumps({'jsonrpc': '2.0', 'id': message['id'],
                           'result': result}).encode()

    def plain(self, message, result):
        body = self.answer(message, result)
        self.begin(200, ('Content-Type', 'application/json'),
                   ('Content-Length', str(len(body))),
                   ('Mcp-Session-Id', 's1'))
        self.wfile.write(body)

    def stream(self, message):
        """In chunks, slowly enough to come in pieces."""
        kind = message['params']['arguments']['kind']
        body = self.answer(message, {'content': [
            {'type': 'text', 'text': '%s %send' % (kind, STEAM)}]})
        body = b'event: message\ndata: ' + body + b'\n\n'
        self.begin(200, ('Content-Type', 'text/event-stream'),
                   ('Transfer-Encoding', 'chunked'))
        for start in range(0, len(body), 40000):
            piece = body[start:start + 40000]
            self.wfile.write(b'%x\r\n%s\r\n' % (len(piece), piece))
        self.wfile.write(b'0\r\n\r\n')


def run(rig):
    kettle = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Kettle)
    kettle.daemon_threads = True
    kettle.seen = []
    thread = threading.Thread(target=kettle.serve_forever, daemon=True)
    thread.start()

    def script(model):
        for kind in ('green', 'black \u00fc'):
            out = yield tool('kettle', 'brew', kind=kind)
            check(kind + ' steam' in out.all and out.all.endswith('end'), out)

    run = rig.run(script, config=CONFIG % 'http://127.0.0.1:%d/mcp' %
                  kettle.server_port)
    kettle.shutdown()
    kettle.server_close()
    # At its end the client asks for the end of the MCP session, too, and
    # leaves at once; requests end with their connection, so this one may or
    # may not get through.
    check(len(run.proxy.sent('http/request')) > 4, 'not by the exec server')
    check(run.proxy.sent('http/request/bodyDelta'), 'no stream')
    same({word for _, _, word in kettle.seen}, {'secret'}, 'header')


main(run)
