"""One connection to a server: websocket over TCP or a Unix socket, or stdio.

A reader thread turns bytes into events and answers pings; a writer thread
sends, so that a script never blocks on a peer that does not read.
"""
import base64
import collections
import hashlib
import json
import os
import queue
import re
import socket
import struct
import subprocess
import sys
import threading
import time

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MAX_FRAME = 16 << 20
OPS = {"cont": 0, "text": 1, "binary": 2, "close": 8, "ping": 9, "pong": 10}

Event = collections.namedtuple("Event", "kind data when info")


def mask_bytes(key, data):
    if not data:
        return data
    n = len(data)
    pad = (key * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "little") ^
            int.from_bytes(pad, "little")).to_bytes(n, "little")


def frame(op, data=b"", fin=True, rsv=0, mask=None, masked=True, size=None,
          form=None):
    """The bytes of a frame; size and form lie about the length on purpose."""
    n = len(data) if size is None else size
    head = bytes([(0x80 if fin else 0) | rsv << 4 | op])
    bit = 0x80 if masked else 0
    if form == 64 or (form is None and n > 0xffff):
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    elif form == 16 or (form is None and n > 125):
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | n])
    if not masked:
        return head + data
    key = os.urandom(4) if mask is None else mask
    return head + key + mask_bytes(key, data)


def no_duplicates(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


class Conn:
    """Events lie in .events in the order of arrival; pongs in .pongs."""

    def __init__(self, name, trace=None):
        self.name, self.trace = name, trace
        self.cond = threading.Condition()
        self.events = collections.deque()
        self.pongs = collections.deque()
        self.pings, self.faults = 0, []
        self.buf, self.mode, self.parts = bytearray(), "http", None
        self.nopong, self.ended, self.close_sent = False, False, False
        self.session, self.seqs, self.starting = None, {}, {}
        self.on_note = None
        self.reading = threading.Event()
        self.reading.set()
        self.out = queue.Queue()
        self.sock = self.child = None

    # Opening

    def open_socket(self, address):
        if address.startswith("unix:"):
            self.sock = socket.socket(socket.AF_UNIX)
            target, self.host = address[5:], "localhost"
        else:
            host, port = address[len("ws://"):].rstrip("/").rsplit(":", 1)
            self.host = host + ":" + port
            family = socket.AF_INET6 if "[" in host else socket.AF_INET
            self.sock = socket.socket(family)
            target = (host.strip("[]"), int(port))
        self.sock.settimeout(60)
        self.sock.connect(target)
        self.sock.settimeout(None)
        if not address.startswith("unix:"):
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rfd = self.wfd = self.sock.fileno()
        self.start_threads()

    def open_stdio(self, argv, env, log):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, env=env,
                                      stdout=subprocess.PIPE, stderr=log,
                                      bufsize=0)
        self.rfd, self.wfd = self.child.stdout.fileno(), \
            self.child.stdin.fileno()
        self.mode = "lines"
        self.start_threads()

    def start_threads(self):
        self.threads = [threading.Thread(target=f, daemon=True)
                        for f in (self.read_loop, self.write_loop)]
        for t in self.threads:
            t.start()

    def upgrade(self, limit):
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(("GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n"
                   "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: %s\r\n\r\n" % (self.host, key)).encode())
        status, fields, _ = self.http_answer(limit)
        accept = base64.b64encode(hashlib.sha1(
            (key + GUID).encode()).digest()).decode()
        if status != 101 or fields.get("sec-websocket-accept") != accept:
            raise ConnectionError("upgrade refused: %s %s" % (status, fields))

    # Sending

    def send(self, data):
        self.out.put(data)

    def send_text(self, text):
        data = text.encode("utf-8", "surrogatepass")
        self.note_request(text)
        if self.trace:
            self.trace(self.name, ">", text)
        self.send(data + b"\n" if self.mode == "lines" else frame(1, data))

    def note_request(self, text):
        """What a request tells about answers to come: see watch()."""
        resumed = re.search(r'"resumeSessionId"\s*:\s*"([^"]*)"', text[:4096])
        if resumed:
            # Events of its processes may come before the answer.
            self.session = resumed.group(1)
        if '"process/start"' not in text:
            return
        try:
            m = json.loads(text)
            with self.cond:
                self.starting[m["id"]] = m["params"]["processId"]
        except (ValueError, TypeError, KeyError):
            pass

    def write_loop(self):
        while True:
            data = self.out.get()
            try:
                if callable(data):
                    data()
                    continue
                view = memoryview(data)
                while view:
                    view = view[os.write(self.wfd, view):]
            except (OSError, ValueError):
                pass        # the reader sees the end
            finally:
                self.out.task_done()

    def flush(self, limit):
        done = threading.Event()
        self.out.put(done.set)
        return done.wait(limit)

    def drop(self, limit):
        """End our side at once: no close frame, as the stock client does."""
        self.flush(limit)
        self.mode = "dropped"
        self.reading.set()
        if self.child:
            self.child.stdin.close()
            return
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def reset(self):
        self.mode = "dropped"
        self.reading.set()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        # A close is held up by a thread that reads: wake that one first,
        # by a shutdown that the peer does not see.
        try:
            self.sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass        # the peer was first
        self.threads[0].join(60)
        # The number may soon be another one's.
        self.rfd = self.wfd = -1
        self.sock.close()

    def half_close(self, limit):
        self.flush(limit)
        if self.child:
            self.child.stdin.close()
        else:
            self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        if self.child:
            self.flush(1)
            self.out.put(sys.exit)      # ends the writer thread
            if not self.child.stdin.closed:
                self.child.stdin.close()
            try:
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
            return
        if self.sock.fileno() != -1:
            self.drop(1)
            self.out.put(sys.exit)
            for t in self.threads:
                t.join(60)
            self.sock.close()

    # Receiving

    def read_loop(self):
        why = "end"
        while True:
            self.reading.wait()
            try:
                data = os.read(self.rfd, 1 << 18)
            except OSError as e:
                data, why = b"", "reset" if e.errno == 104 else str(e)
            with self.cond:
                if self.mode == "dropped":
                    data = b""
                if not data:
                    self.ended = True
                    self.put("eof", why)
                    return
                self.buf += data
                self.parse()
                self.cond.notify_all()

    def put(self, kind, data, info=None):
        if self.trace:
            self.trace(self.name, "<" if kind == "msg" else "<" + kind, data)
        self.events.append(Event(kind, data, time.monotonic(), info))
        self.cond.notify_all()

    def fault(self, text):
        self.faults.append("connection %s: %s" % (self.name, text))

    def parse(self):
        if self.mode == "lines":
            while b"\n" in self.buf:
                line, _, rest = self.buf.partition(b"\n")
                self.buf = bytearray(rest)
                self.on_message(bytes(line), 1, 1)
        while self.mode == "ws":
            f = self.take_frame()
            if f is None:
                return
            self.on_frame(*f)

    def take_frame(self):
        b = self.buf
        if len(b) < 2:
            return None
        n, at = b[1] & 127, 2
        if n == 126:
            at, n = 4, struct.unpack(">H", b[2:4])[0] if len(b) >= 4 else 0
        elif n == 127:
            at, n = 10, struct.unpack(">Q", b[2:10])[0] if len(b) >= 10 else 0
        if len(b) < at or len(b) < at + n:
            return None
        if b[0] & 0x70 or b[1] & 0x80:
            self.fault("reserved bit or mask in a frame of the server")
        if (at == 4 and n < 126) or (at == 10 and n < 65536):
            self.fault("length of a frame is not minimal")
        if n > MAX_FRAME:
            self.fault("a frame of %d bytes" % n)
        head, data = b[0], bytes(memoryview(b)[at:at + n])
        del b[:at + n]
        return bool(head & 0x80), head & 15, data

    def on_frame(self, fin, op, data):
        if op >= 8 and (not fin or len(data) > 125):
            self.fault("bad control frame")
        if op == 9:
            self.pings += 1
            if not self.nopong:
                self.send(frame(10, data))
        elif op == 10:
            self.pongs.append(data)
        elif op == 8:
            code = struct.unpack(">H", data[:2])[0] if len(data) >= 2 else 1005
            self.put("close", code, data[2:])
            if not self.close_sent and not self.nopong:
                self.close_sent = True
                self.send(frame(8, data[:2]))
        elif op in (0, 1, 2):
            self.on_data(fin, op, data)
        else:
            self.fault("opcode %d" % op)

    def on_data(self, fin, op, data):
        if (op == 0) == (self.parts is None):
            self.fault("fragments out of order")
            self.parts = None
            return
        if op:
            self.parts = [op]
        self.parts.append(data)
        if fin:
            op, parts, self.parts = self.parts[0], self.parts[1:], None
            self.on_message(b"".join(parts), op, len(parts))

    def on_message(self, data, op, count):
        if op != 1:
            self.fault("a binary message from the server")
        try:
            text = data.decode()
            m = json.loads(text, object_pairs_hook=no_duplicates)
        except ValueError as e:
            self.fault("not a JSON text (%s): %r" % (e, data[:200]))
            return
        self.watch(m)
        self.put("msg", m, {"frames": count, "bytes": len(data)})

    def watch(self, m):
        """What must hold on every connection, whatever the script asks."""
        if not isinstance(m, dict):
            return self.fault("message is no object: %r" % (m,))
        if "jsonrpc" in m or ("result" in m and "error" in m):
            self.fault("bad envelope: %s" % json.dumps(m)[:200])
        if "id" in m:
            key = m["id"] if isinstance(m["id"], (str, int)) else None
            self.starting.pop(key, None)
            result = m.get("result")
            if isinstance(result, dict) and "sessionId" in result:
                self.session = result["sessionId"]
            return
        params = m.get("params")
        if not str(m.get("method", "")).startswith("process/"):
            return
        pid, seq = params["processId"], params["seq"]
        if pid in self.starting.values():
            self.fault("order: event of %s before the answer to start" % pid)
        if pid in self.seqs and seq != self.seqs[pid] + 1:
            self.fault("order: seq %d of %s after %d"
                       % (seq, pid, self.seqs[pid]))
        self.seqs[pid] = seq
        if self.on_note:
            self.on_note(self.session, m["method"], params)

    def wait(self, ready, deadline):
        """Wait until ready() is not None; None when the deadline passes."""
        with self.cond:
            while True:
                got = ready()
                if got is not None:
                    return got
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.cond.wait(min(left, 1))

    def http_answer(self, limit):
        """(status, {name: value}, body); after a 101 frames are read."""
        deadline = time.monotonic() + limit

        def head():
            if b"\r\n\r\n" in self.buf:
                return bytes(self.buf.partition(b"\r\n\r\n")[0])
            return b"" if self.ended else None

        text = self.wait(head, deadline)
        if not text:
            raise ConnectionError("no HTTP answer, %s: %r" % (
                "time out" if text is None else "closed", bytes(self.buf)))
        lines = text.decode("latin-1").split("\r\n")
        with self.cond:
            del self.buf[:len(text) + 4]
        status = int(lines[0].split()[1])
        fields = {}
        for line in lines[1:]:
            k, _, v = line.partition(":")
            fields[k.strip().lower()] = v.strip()
        if status == 101:
            with self.cond:
                self.mode = "ws"
                self.parse()
            return status, fields, b""
        return status, fields, self.http_body(fields, deadline)

    def http_body(self, fields, deadline):
        n = fields.get("content-length")

        def body():
            if n is None:
                return bytes(self.buf) if self.ended else None
            if len(self.buf) < int(n):
                return None
            data = bytes(self.buf[:int(n)])
            del self.buf[:int(n)]
            return data

        data = self.wait(body, deadline)
        if data is None:
            raise ConnectionError("HTTP body is missing")
        return data
