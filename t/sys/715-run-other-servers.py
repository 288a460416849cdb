"""715: execsrvctl run against a server that does as each test says."""
import base64
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ctl = os.environ['BUILD'] + '/execsrvctl'
scale = float(os.environ.get('T_SCALE', '1'))
LIMIT = 20 * scale
GUID = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
CAPS = ['execsrvProcessCloseStdin', 'execsrvProcessSignalName']
NAMES = ('OK', 'EPERM', 'ENOENT')


class Gone(Exception):
    pass


class Server:
    """One connection."""

    def __init__(self, sock):
        self.sock = sock
        self.file = sock.makefile('rb')

    def upgrade(self):
        key = b''
        while (line := self.file.readline()) not in (b'\r\n', b''):
            name, _, value = line.partition(b':')
            if name.lower() == b'sec-websocket-key':
                key = value.strip()
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        self.sock.sendall(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: '
                          b'websocket\r\nConnection: Upgrade\r\n'
                          b'Sec-WebSocket-Accept: ' + accept + b'\r\n\r\n')

    def read(self, n):
        data = self.file.read(n)
        if len(data) < n:
            raise Gone
        return data

    def get(self):
        """The next message."""
        first, n = self.read(2)
        n &= 127
        if n == 126:
            n = struct.unpack('>H', self.read(2))[0]
        elif n == 127:
            n = struct.unpack('>Q', self.read(8))[0]
        mask = self.read(4)
        data = self.read(n)
        if first == 0x88:
            raise Gone
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        if first == 0x89:
            self.put_raw(data, 0x8a)
            return self.get()
        return json.loads(data)

    def put(self, **message):
        self.put_raw(json.dumps(message).encode())

    def put_raw(self, data, first=0x81):
        head = bytes([first, len(data)]) if len(data) < 126 else \
            bytes([first, 126]) + struct.pack('>H', len(data))
        self.sock.sendall(head + data)

    def expect(self, method):
        m = self.get()
        assert m['method'] == method, m
        return m

    def answer(self, message, **result):
        self.put(id=message['id'], result=result)

    def refuse(self, message, code, text):
        self.put(id=message['id'], error={'code': code, 'message': text})

    def greet(self, caps=CAPS):
        self.upgrade()
        self.answer(self.expect('initialize'), sessionId='s',
                    environmentInfo={'capabilities': dict.fromkeys(
                        caps, True)})
        self.expect('initialized')

    def start(self, caps=CAPS):
        self.greet(caps)
        m = self.expect('process/start')
        self.answer(m, processId=m['params']['processId'])

    def event(self, what, seq, **more):
        if what == 'exited':
            more.setdefault('sandboxDenied', False)
        self.put(method='process/' + what,
                 params=dict(processId='p1', seq=seq, **more))

    def output(self, seq, text):
        self.event('output', seq, stream='stdout',
                   chunk=base64.b64encode(text).decode())

    def end(self, code=0, seq=1):
        self.event('exited', seq, exitCode=code)
        self.event('closed', seq + 1)
        self.wait()

    def wait(self):
        """Until the client goes."""
        try:
            while True:
                self.get()
        except (Gone, OSError):
            pass


def told_nothing():
    """Whoever called us may ignore some: a shell's background, nohup."""
    for sig in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(sig, signal.SIG_DFL)


def check(what, code, serve, err=b'', out=b'', stdin=subprocess.DEVNULL,
          during=None, options=(), command=('run', '--', 'command')):
    """Run a command; serve(server) is the server's side."""
    listener = socket.create_server(('127.0.0.1', 0))
    listener.settimeout(LIMIT)
    trouble = []

    def side():
        sock = listener.accept()[0]
        sock.settimeout(LIMIT)
        with sock:
            try:
                serve(Server(sock))
            except Exception as e:      # told to whom waits
                trouble.append(repr(e))

    thread = threading.Thread(target=side)
    thread.start()
    child = subprocess.Popen(
        [ctl, command[0], '--patience', '0', '--url', 'ws://127.0.0.1:%d' %
         listener.getsockname()[1], *options, *command[1:]],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=told_nothing)
    if during:
        during(child)
    got_out, got_err = child.communicate(timeout=LIMIT)
    thread.join()
    listener.close()
    assert not trouble, (what, trouble)
    assert child.returncode == code, (what, child.returncode, got_err)
    assert got_out == out, (what, got_out)
    assert err in got_err and (err or not got_err), (what, got_err)
    # One line, and how to come back if the command may go on.
    assert re.fullmatch(
        b'([^\n]*\n(execsrvctl: the command may go on [^\n]*\n)?)?',
        got_err), (what, got_err)
    print('ok', what, flush=True)


def input_of(text):
    file = tempfile.TemporaryFile()
    file.write(text)
    file.seek(0)
    return file


# --- how commands end ---

def events_first(s):
    s.greet()
    m = s.expect('process/start')
    s.output(1, b'quick')
    s.event('exited', 2, exitCode=9)
    s.event('closed', 3)
    try:
        s.answer(m, processId='p1')
    except OSError:
        pass
    s.wait()


def out_of_order(s):
    s.start()
    s.event('closed', 4)
    s.output(2, b'two')
    s.event('exited', 3, exitCode=8)
    s.output(1, b'one')
    s.wait()


def exit_with(code):
    def serve(s):
        s.start()
        s.end(code)
    return serve


def closed_only(s):
    s.start()
    s.output(1, b'x')
    s.event('closed', 2)
    s.wait()


check('events before the answer', 9, events_first, out=b'quick')
check('out of order', 8, out_of_order, out=b'onetwo')
check('exit code -1', 125, exit_with(-1), b'does not know how')
check('exit code 256', 125, exit_with(256), b'does not know how')
check('closed, never exited', 125, closed_only, b'how the command ended',
      out=b'x')


# --- how commands do not start ---

def refuse_with(text, code=-32603):
    def serve(s):
        s.greet()
        s.refuse(s.expect('process/start'), code, text)
        s.wait()
    return serve


for error, code in (2, 127), (20, 127), (13, 126), (8, 126), (1, 126), \
        (12, 125), (24, 125):
    text = 'x: %s (os error %d)' % (os.strerror(error), error)
    check(text, code, refuse_with(text), b': command not found\n'
          if code == 127 else b': x: %s\n' % os.strerror(error).encode())
check('no folder', 125, refuse_with(
    'working directory: No such file (os error 2)'), b'working directory')
check('words of a terminal', 125, refuse_with('\033[2J\n\033[H'),
      b'command: ?[2J??[H\n')


# --- input ---

def no_close(s):
    s.start(caps=[])
    m = s.expect('process/write')
    assert m['params']['chunk'] == 'YWJj', m
    s.answer(m, status='accepted')
    s.end(3)


def stdin_closed(s):
    s.start()
    s.answer(s.expect('process/write'), status='stdinClosed')
    time.sleep(0.2)
    s.end(4)


def write_error(s):
    s.start()
    s.refuse(s.expect('process/write'), -32603, 'the disk is full')
    s.expect('process/closeStdin')
    s.expect('process/terminate')


def close_error(s):
    s.start()
    s.answer(s.expect('process/write'), status='accepted')
    s.refuse(s.expect('process/closeStdin'), -32600, 'not here')
    s.expect('process/terminate')


def few_writes(s):
    s.start()
    n = 0
    while n < 8:
        s.expect('process/write')
        n += 1
    s.sock.settimeout(0.5)
    try:
        s.get()
        raise AssertionError('a ninth write')
    except (TimeoutError, OSError):
        pass
    s.event('exited', 1, exitCode=5)
    s.event('closed', 2)


check('no way to close input', 3, no_close, b'input ends',
      stdin=input_of(b'abc'))
check('input is not wanted', 4, stdin_closed, stdin=input_of(b'abc'))
check('input is not taken', 125, write_error, b'input: the disk is full',
      stdin=input_of(b'abc'))
check('its end is not taken', 125, close_error, b'input: not here',
      stdin=input_of(b'abc'))
check('slow with input', 5, few_writes, stdin=input_of(bytes(2 << 20)))
check('a folder', 125, lambda s: (s.start(), s.wait()),
      b'input: Is a directory', stdin=os.open('/', os.O_RDONLY))


# --- signals ---

started = threading.Event()


def signals(caps, wanted, *sigs):
    heard = threading.Semaphore(0)

    def serve(s):
        s.start(caps)
        started.set()
        for method, name in wanted:
            m = s.expect(method)
            assert m['params'].get('signal') == name, m
            s.answer(m)
            heard.release()
        s.end(6)

    def during(child):
        assert started.wait(LIMIT)
        started.clear()
        time.sleep(0.3 * scale)     # the answer to start is on its way
        for n, sig in enumerate(sigs, len(wanted) - len(sigs)):
            child.send_signal(sig)
            # Those that come together are taken in any order.
            assert n < 0 or heard.acquire(timeout=LIMIT)
    return dict(serve=serve, during=during)


check('signals by name', 6, **signals(
    CAPS, [('process/signal', 'SIGTERM'), ('process/signal', 'SIGUSR1'),
           ('process/signal', 'SIGINT')],
    signal.SIGTERM, signal.SIGUSR1, signal.SIGINT))
check('signals without', 6, **signals(
    [], [('process/signal', 'interrupt'), ('process/terminate', None)],
    signal.SIGUSR1, signal.SIGINT, signal.SIGTERM))


def late_start(s):
    s.greet()
    m = s.expect('process/start')
    started.set()
    time.sleep(0.5 * scale)
    s.answer(m, processId='p1')
    m = s.expect('process/signal')
    assert m['params']['signal'] == 'SIGTERM', m
    s.answer(m)
    s.end(7)


def no_start(s):
    s.greet()
    s.expect('process/start')
    started.set()
    s.expect('process/terminate')
    s.wait()


def kill_early(sig, till_it_ends=False):
    def during(child):
        assert started.wait(LIMIT)
        started.clear()
        child.send_signal(sig)
        # Two that come together are one.
        deadline = time.monotonic() + LIMIT
        while till_it_ends and child.poll() is None and \
                time.monotonic() < deadline:
            time.sleep(0.2 * scale)
            child.send_signal(sig)
    return during


check('a signal while it starts', 7, late_start,
      during=kill_early(signal.SIGTERM))
check('it never starts', 125, no_start, b'does not answer',
      during=kill_early(signal.SIGINT, till_it_ends=True))


# --- the end of the session ---

def closes_session(answer):
    def serve(s):
        s.start(caps=CAPS + ['execsrvSessionClose'])
        s.event('exited', 1, exitCode=4)
        s.event('closed', 2)
        m = s.expect('session/close')
        answer(s, m)
        s.wait()
    return serve


def no_answer(s, m):
    pass


def closes_properly(s, m):
    s.answer(m)
    s.put_raw(b'\x03\xe8', 0x88)


check('its session is closed', 4, closes_session(closes_properly))
check('closed without goodbye', 4, closes_session(lambda s, m: s.answer(m)))
check('closing is refused', 4, closes_session(
    lambda s, m: s.refuse(m, -32603, 'no')))
check('closing is not answered', 4, closes_session(no_answer))
check('it hangs up instead', 4, closes_session(
    lambda s, m: s.sock.shutdown(socket.SHUT_RDWR)))


# --- another client's command ---

def attached(process):
    def serve(s):
        s.greet()
        m = s.expect('process/read')
        assert m['params']['processId'] == process, m
        s.answer(m, chunks=[], nextSeq=3, exited=True, exitCode=3,
                 closed=True, failure=None, sandboxDenied=False)
        s.wait()
    return serve


# An id in full: of one that is shorter the server is asked first.
session = '0' * 8 + '-1111-2222-3333-' + '4' * 12
check('attach without a list', 3, attached('p1'), command=('attach', session))
check('attach by name', 3, attached('x'), command=('attach', session + '/x'))


# --- bad servers ---

def refused(s):
    s.sock.sendall(b'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
    s.file.read(1)


def after_start(data, first=0x81):
    def serve(s):
        s.start()
        s.put_raw(data, first)
        s.wait()
    return serve


def hang_up(s):
    s.start()
    s.output(1, b'last words')


def initialize_refused(s):
    s.upgrade()
    s.refuse(s.expect('initialize'), -32600, 'too many sessions')
    s.wait()


check('refused', 125, refused, b'the server refused: HTTP 403 Forbidden')
check('no HTTP', 125, lambda s: (s.file.readline(), s.sock.sendall(
    b'SSH-2.0-x\r\n\r\n')), b'not an exec server')
check('hangs up at once', 125, lambda s: s.file.readline(), b'execsrvctl: ')
check('initialize refused', 125, initialize_refused, b'too many sessions')
check('no JSON', 125, after_start(b'hello'), b'not JSON-RPC')
check('bad frame', 125, after_start(b'', 0xff), b'(1002)')
check('no UTF-8', 125, after_start(b'\xff'), b'(1007)')
check('closes', 125, after_start(b'\x03\xe9bye', 0x88), b'(1001: bye)')
check('malformed', 125, after_start(
    b'{"method":"process/exited","params":{"processId":"p1"}}'),
    b'malformed process/exited')
check('hangs up', 125, hang_up, b'closed the connection', out=b'last words')


def silent(s):
    s.upgrade()
    s.wait()


if scale == 1:
    for n in range(5):          # a busy machine may need another try
        began = time.monotonic()
        check('silent', 125, silent, b'does not answer initialize')
        took = time.monotonic() - began
        if took < 13:
            break
    assert 9 < took < 13
sys.exit(0)
