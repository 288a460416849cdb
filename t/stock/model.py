"""A model that follows a script: the Responses API over HTTP with SSE.

A script is a generator.  It yields a call or a list of calls (see the
functions at the end) and gets what the client answers: an Output, or a list of
them.  When it returns, the model says goodbye and the client's turn is over.

    def script(model):
        out = yield command('echo hello')
        check(out.code == 0, out)

What a script raises ends the turn as well and is kept in Model.error.
"""
import http.server
import json
import re
import threading

EXITED = re.compile(r'^Process exited with code (-?\d+)$', re.M)
RUNNING = re.compile(r'^Process running with session ID (\d+)$', re.M)
TOKENS = re.compile(r'^Original token count: (\d+)$', re.M)


class Output:
    """What the client told the model about one call."""

    def __init__(self, item):
        self.item = item
        body = item['output']
        if isinstance(body, list):
            self.images = [part['image_url'] for part in body
                           if part['type'] == 'input_image']
            body = ''.join(part.get('text', '') for part in body)
        else:
            self.images = []
        self.all = body
        head, found, rest = body.partition('Output:\n')
        self.text = rest if found else body
        head = head if found else ''
        exited, running = EXITED.search(head), RUNNING.search(head)
        tokens = TOKENS.search(head)
        # The exit code of a command that is over, the number of one that
        # goes on; both None for everything else.  The size of its output
        # before the client left something out, in 4 bytes.
        self.code = int(exited[1]) if exited else None
        self.session = int(running[1]) if running else None
        self.size = int(tokens[1]) if tokens else None

    def __str__(self):
        return self.all if len(self.all) < 3000 else \
            '%s\n[...]\n%s' % (self.all[:1500], self.all[-1500:])


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(404, 'text/plain', b'')

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if not self.path.endswith('/responses'):
            self.answer(404, 'text/plain', b'')
            return
        events = self.server.model.on_request(json.loads(body))
        self.answer(200, 'text/event-stream', b''.join(
            b'event: %s\ndata: %s\n\n' %
            (event['type'].encode(), json.dumps(event).encode())
            for event in events))


class Model:
    """Serves one script.  Use it with "with"; url is for the provider."""

    def __init__(self, script):
        self.requests = []      # all bodies, in order
        self.error = None
        self.done = False       # the script has returned
        self.lock = threading.Lock()
        self.script = script(self)
        self.waiting = None     # ids of the calls that are under way
        self.single = False
        self.calls = 0

    def __enter__(self):
        self.http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.http.daemon_threads = True
        self.http.model = self
        self.url = 'http://127.0.0.1:%d/v1' % self.http.server_port
        self.thread = threading.Thread(target=self.http.serve_forever,
                                       kwargs={'poll_interval': 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()
        self.script.close()

    def prompt(self):
        """All text of the first request: what the client found out."""
        parts = []

        def collect(value):
            if isinstance(value, dict):
                value = list(value.values())
            if isinstance(value, list):
                for member in value:
                    collect(member)
            elif isinstance(value, str):
                parts.append(value)
        collect(self.requests[0]['input'])
        return '\n'.join(parts)

    def on_request(self, body):
        with self.lock:
            self.requests.append(body)
            number = 'r%d' % len(self.requests)
            items = self.next_items(body)
        done = {'type': 'response.completed', 'response': {
            'id': number, 'usage': {
                'input_tokens': 0, 'input_tokens_details': None,
                'output_tokens': 0, 'output_tokens_details': None,
                'total_tokens': 0}}}
        return [{'type': 'response.created', 'response': {'id': number}},
                *({'type': 'response.output_item.done', 'item': item}
                  for item in items), done]

    def next_items(self, body):
        try:
            if not self.done and self.error is None:
                return self.numbered(self.script.send(self.outputs(body)))
        except StopIteration:
            self.done = True
        except Exception as error:      # shown by the one who started us
            self.error = error
        return [{'type': 'message', 'role': 'assistant', 'id': 'm',
                 'content': [{'type': 'output_text', 'text': 'goodbye'}]}]

    def outputs(self, body):
        """The answers to the calls of last time, in their order."""
        if self.waiting is None:
            return None
        found = {item['call_id']: Output(item) for item in body['input']
                 if item['type'].endswith('_call_output')}
        missing = [name for name in self.waiting if name not in found]
        if missing:
            raise AssertionError('calls without an answer: %s' % missing)
        answers = [found[name] for name in self.waiting]
        return answers[0] if self.single else answers

    def numbered(self, calls):
        self.single = not isinstance(calls, list)
        calls = [calls] if self.single else calls
        self.waiting = []
        for call in calls:
            self.calls += 1
            call['call_id'] = 'call%d' % self.calls
            self.waiting.append(call['call_id'])
        return calls


def function(name, **arguments):
    """A call of any function of the client's."""
    return {'type': 'function_call', 'name': name,
            'arguments': json.dumps(arguments)}


def tool(server, name, **arguments):
    """A call of a tool of an MCP server."""
    return dict(function(name, **arguments), namespace='mcp__' + server)


def command(text, **more):
    """exec_command; not a login shell: its files are not ours to test."""
    more = {'login': False, 'yield_time_ms': 30000, **more}
    return function('exec_command', cmd=text, **more)


def stdin(session, chars='', **more):
    """write_stdin; without characters it waits for output."""
    return function('write_stdin', session_id=session, chars=chars, **more)


def patch(*lines):
    """apply_patch of these lines, begin and end are added."""
    return {'type': 'custom_tool_call', 'name': 'apply_patch',
            'input': '\n'.join(['*** Begin Patch', *lines,
                                '*** End Patch', ''])}


def image(path):
    return function('view_image', path=path)


def whole(out):
    """For "yield from": the exit code and all output of a command, which may
    take longer than the client waits for it."""
    text = out.text
    while out.session is not None:
        out = yield stdin(out.session, yield_time_ms=30000)
        text += out.text
    return out.code, text


def until(out, wanted):
    """For "yield from": poll the command until its output has that text.
    The text since out, its last part in out.text included."""
    text = out.text
    while wanted not in text:
        if out.session is None:
            raise AssertionError('%r never came: %r' % (wanted, text))
        out = yield stdin(out.session, yield_time_ms=5000)
        text += out.text
    return text
