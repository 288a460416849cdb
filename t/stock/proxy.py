"""Stands between client and server and sees every message.

Everything goes through as it is, frame by frame.  A hook is asked about every
message before it goes on and may cut the connection there:

    hook(proxy, number of the connection, '>' or '<', message) -> None or
        CUT        the message is lost, both sides see a reset
        HALF       the same after half of its last frame
        AFTER      the message goes through, both sides see an orderly end
        bytes      go on in its place, of a server's message in one frame

A connection whose client resumes before the server has seen the end of the
last one, and is refused for it, is not counted in these numbers.

Of a message of more than KEEP bytes only {"method", "id", "size"} is shown.
"""
import json
import pathlib
import re
import socket
import struct
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'sys'))
from client import mask  # noqa: E402

CUT, HALF, AFTER = 'cut', 'half', 'after'
ATTACHED = -32010       # the error of who resumes too early
KEEP = 16 << 20
METHOD = re.compile(rb'"method"\s*:\s*"([^"]*)"')
ID = re.compile(rb'"id"\s*:\s*(\d+)')


class Ended(Exception):
    pass


class Reader:
    """Exact pieces of a stream."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b''

    def take(self, size):
        pieces, have = [self.rest], len(self.rest)
        while have < size:
            try:
                data = self.sock.recv(min(1 << 20, size - have + 65536))
            except OSError:
                data = b''
            if not data:
                raise Ended
            pieces.append(data)
            have += len(data)
        data = b''.join(pieces)
        self.rest = data[size:]
        return data[:size]

    def head(self):
        data = b''
        while not data.endswith(b'\r\n\r\n'):
            data += self.take(1)
        return data

    def frame(self):
        """(opcode, last one, payload, bytes as they came)."""
        raw = self.take(2)
        size, masked = raw[1] & 0x7f, raw[1] & 0x80
        if size >= 126:
            raw += self.take(2 if size == 126 else 8)
            size = int.from_bytes(raw[2:], 'big')
        if masked:
            raw += self.take(4)
        data = self.take(size)
        plain = mask(raw[-4:], data) if masked and size else data
        return raw[0] & 15, raw[0] & 0x80, plain, raw + data


class Proxy:
    """Use it with "with"; url is for the client.  Messages are kept in log as
    (connection, direction, message).  With a pace, the server's messages come
    so many seconds apart: who waited for one goes on before the next."""

    def __init__(self, target, hook=None, pace=0):
        host, port = target[len('ws://'):].rstrip('/').rsplit(':', 1)
        self.target, self.hook = (host, int(port)), hook
        self.pace = pace
        self.log, self.lock = [], threading.Lock()
        self.pairs, self.threads, self.count = [], [], 0
        self.early = set()

    def __enter__(self):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.url = 'ws://127.0.0.1:%d' % self.listener.getsockname()[1]
        self.spawn(self.accept)
        return self

    def __exit__(self, *_):
        # A blocked accept() is not woken by close().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for pair in self.pairs:
            self.cut(pair)
        for thread in self.threads:
            thread.join()

    def spawn(self, target, *args):
        thread = threading.Thread(target=target, args=args)
        self.threads.append(thread)
        thread.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            self.count += 1
            pair = (client, server)
            for sock in pair:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pairs.append(pair)
            for way, source, sink in (('>', *pair), ('<', *pair[::-1])):
                self.spawn(self.pass_on, self.count, way, source, sink, pair)

    @staticmethod
    def cut(pair, reset=True):
        """End both sides, and wake up whoever is blocked in recv()."""
        for sock in pair:
            try:
                if reset:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                    struct.pack('ii', 1, 0))
                sock.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def pass_on(self, number, way, source, sink, pair):
        reader = Reader(source)
        try:
            sink.sendall(reader.head())
            self.cut(pair, self.frames(number, way, reader, sink) != AFTER)
        except Ended:
            # What was passed on is still to be read there: no reset.
            try:
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        except OSError:
            self.cut(pair)

    def frames(self, number, way, reader, sink):
        """Pass frames on until the hook wants a cut; its word."""
        parts = []
        while True:
            op, last, data, raw = reader.frame()
            verdict = None
            if op < 8:
                parts.append(data)
                if last:
                    verdict = self.judge(number, way, b''.join(parts))
                    parts = []
            if isinstance(verdict, bytes):
                sink.sendall(b'\x81\x7f%s%s' % (
                    len(verdict).to_bytes(8, 'big'), verdict))
                continue
            if verdict in (None, AFTER):
                sink.sendall(raw)
            elif verdict == HALF:
                sink.sendall(raw[:len(raw) // 2])
            if verdict:
                return verdict
            if way == '<' and self.pace:
                time.sleep(self.pace)

    def judge(self, number, way, data):
        if len(data) <= KEEP:
            message = json.loads(data)
        else:
            message = {'size': len(data)}
            for name, found in (('method', METHOD.search(data, 0, 4096)),
                                ('id', ID.search(data, 0, 4096))):
                if found:
                    message[name] = found[1].decode()
        with self.lock:
            self.log.append((number, way, message))
            if way == '<' and message.get('error', {}).get('code') == ATTACHED:
                self.early.add(number)
            if number in self.early or self.hook is None:
                return None
            return self.hook(self, number - sum(
                n < number for n in self.early), way, message)

    def served(self):
        """How many connections there were, without those that came early."""
        with self.lock:
            return self.count - len(self.early)

    def sent(self, method):
        """The parameters of all requests and notifications of that method,
        of whichever side."""
        with self.lock:
            return [m.get('params', {}) for _, _, m in self.log
                    if m.get('method') == method]

    def trace(self):
        """All messages, a line each, long ones shortened."""
        with self.lock:
            for number, way, message in self.log:
                text = json.dumps(message)
                if len(text) > 400:
                    text = text[:300] + ' [...] ' + text[-80:]
                yield '%d%s %s' % (number, way, text)


# A command for the Cutter: talks until it is heard on a connection.
COUNT = 'i=0; until [ $i -ge 50 -a -e heard%d ]; do i=$((i + 1)); ' \
        'echo line $i; sleep 0.02; done; echo $i >count; exit 9'


class Cutter:
    """Cuts each connection at its nth message that fits, once. Commands find
    files with the numbers of the connections on which the server spoke."""

    def __init__(self, folder, *cuts):
        """Of each connection: (direction, method, n, how)."""
        self.folder, self.cuts, self.seen = folder, cuts, {}
        for path in folder.glob('heard*'):
            path.unlink()

    def __call__(self, proxy, number, way, message):
        if way == '<':
            (self.folder / ('heard%d' % number)).touch()
        if number > len(self.cuts):
            return None
        wanted, method, n, how = self.cuts[number - 1]
        if way != wanted or message.get('method') != method:
            return None
        self.seen[number] = self.seen.get(number, 0) + 1
        return how if self.seen[number] == n else None
