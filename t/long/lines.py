"""What the campaigns share: a TCP proxy on loopback that holds, swallows or
slows what goes through it, what came of a command's output, and what the log of
a server must not say."""
import base64
import contextlib
import re
import select
import socket
import sys
import threading
import time

from client import SANITIZED, check

PASS, HOLD, SWALLOW = "pass", "hold", "swallow"
# Numbered lines at so many a second, or as fast as they are taken.
WRITER = """
import sys, time
rate, n, began = %d, 0, time.monotonic()
while True:
    sys.stdout.write("".join("%%011d\\n" %% i for i in range(n, n + 500)))
    sys.stdout.flush()
    n += 500
    if rate:
        time.sleep(max(0, began + n / rate - time.monotonic()))
"""
LINE = 12
# With sanitizers a worker looks for leaks before it exits, which takes long.
EXITS = "" if SANITIZED else "| does not exit"
BLAMED = re.compile(
    r"^.*(?:malformed|assert|worker \d+.*(?: was killed by signal|: killed$| "
    r"exited with status" + EXITS + r")|execsrv-http: killed by signal "
    r"(?!9$)).*$", re.M)
PACKET = 1448                   # bytes, as on an Ethernet


class Way:
    """One direction of a connection."""

    def __init__(self, line, to, source, target):
        self.line, self.to = line, to
        self.source, self.target = source, target
        self.buf, self.ended, self.shut = bytearray(), False, False

    def wants(self):
        """Whether it would read."""
        return not self.ended and (self.line.mode[self.to] == SWALLOW or
                                   len(self.buf) < self.line.room)

    def has(self):
        """Whether it would write."""
        return self.line.mode[self.to] == PASS and not self.shut and \
            (self.ended or self.buf) and self.line.may(self.to)

    def read(self):
        data = self.source.recv(min(65536, self.line.room))
        if not data:
            self.ended = True
        elif self.line.mode[self.to] != SWALLOW:
            self.buf += data

    def write(self):
        if self.buf:
            n = self.target.send(memoryview(self.buf)[
                :self.line.allowance(self.to)])
            self.line.used(self.to, n)
            del self.buf[:n]
        if self.ended and not self.buf:
            self.shut = True
            self.target.shutdown(socket.SHUT_WR)


class Line(threading.Thread):
    """A way to a server: of RATE bytes a second each way if not 0, and with so
    much ROOM in it.  MODE is by direction, "up" or "down"."""

    def __init__(self, url, rate=0, room=65536):
        super().__init__(daemon=True)
        self.to, self.rate, self.room = url, rate, room
        self.mode = {"up": PASS, "down": PASS}
        self.free = {"up": 0.0, "down": 0.0}    # when the next byte may go
        self.some, self.stopped = [], False
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(16)
        self.url = "ws://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def set(self, **modes):
        self.mode.update(modes)

    def may(self, to):
        return not self.rate or time.monotonic() >= self.free[to]

    def allowance(self, to):
        """Bytes that may go now: a packet of a slow line."""
        return PACKET if self.rate else self.room

    def used(self, to, n):
        if self.rate:
            self.free[to] = max(self.free[to], time.monotonic() - 0.005) + \
                n / self.rate

    def dial(self):
        host, port = self.to[5:].rsplit(":", 1)
        theirs = socket.socket()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.room)
        # What loopback has would have the kernel hold forty times as much.
        theirs.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, PACKET)
        theirs.connect((host, int(port)))
        return theirs

    def accept(self):
        ours, _ = self.listener.accept()
        theirs = self.dial()
        for s in (ours, theirs):
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.room)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.setblocking(False)
        self.some.append((Way(self, "up", ours, theirs),
                          Way(self, "down", theirs, ours)))

    def step(self, ways, pair):
        for w in pair:
            if w.source in ways[0] and w.wants():
                w.read()
            if w.target in ways[1] and w.has():
                w.write()

    def run(self):
        while not self.stopped:
            ways = [w for pair in self.some for w in pair]
            ready = select.select(
                [self.listener] + [w.source for w in ways if w.wants()],
                [w.target for w in ways if w.has()], [],
                0.001 if self.rate and any(w.buf for w in ways) else 0.01)
            if self.listener in ready[0]:
                self.accept()
            for pair in list(self.some):
                try:
                    self.step(ready, pair)
                    over = all(w.shut for w in pair)
                except BlockingIOError:
                    continue
                except OSError:
                    over = True
                if over:
                    self.some.remove(pair)
                    for w in pair:
                        w.source.close()
        for pair in self.some:
            for w in pair:
                w.source.close()
        self.listener.close()

    def stop(self):
        self.stopped = True
        self.join()


class Output:
    """The numbered lines of a process: whether each came once."""

    def __init__(self, process="out"):
        self.process = process
        self.chunks, self.next = {}, 1          # by number; the next in turn
        self.rest, self.lines = b"", 0
        self.last = None                        # the number of its end
        self.bytes = 0

    def add(self, seq, data):
        if seq < self.next or seq in self.chunks:
            return
        self.chunks[seq] = data
        while self.next in self.chunks:
            self.take(self.chunks.pop(self.next))
            self.next += 1

    def take(self, data):
        self.bytes += len(data)
        self.rest += data
        whole = len(self.rest) // LINE * LINE
        want = b"".join(b"%011d\n" % i for i in range(
            self.lines, self.lines + whole // LINE))
        check(self.rest[:whole] == want, "line %d or one behind it is lost "
              "or came twice" % self.lines)
        self.lines += whole // LINE
        self.rest = self.rest[whole:]

    def note(self, m):
        """Whether it was of this process."""
        p = m["params"]
        if p.get("processId") != self.process:
            return False
        self.add(p["seq"], base64.b64decode(p["chunk"]) if "chunk" in p
                 else b"")
        if m["method"] == "process/closed":
            self.last = p["seq"]
        return True

    def read(self, c, seconds):
        """What was put out in between."""
        r = c.call("process/read", {"processId": self.process,
                                    "afterSeq": self.next - 1}, seconds)
        for k in r["chunks"]:
            self.add(k["seq"], base64.b64decode(k["chunk"]))

    def end(self, c, seconds):
        """End it and look at all of it."""
        c.call("process/terminate", {"processId": self.process}, seconds)
        deadline = time.monotonic() + seconds
        while self.last is None or self.next <= self.last:
            while c.notes:
                self.note(c.notes.popleft())
            if self.last is not None and self.next > self.last:
                break
            c.until(lambda: c.notes, deadline - time.monotonic(),
                    "number %d of %s" % (self.next, self.last))
        check(not self.chunks, "behind its end: %s" % list(self.chunks))

    def begin(self, c, rate=0):
        c.start(self.process, sys.executable, "-c", WRITER % rate)


class Echo:
    """A `cat` that is sent lines, each until it is known to have come: once."""

    def __init__(self, process="echo"):
        self.process, self.sent, self.text = process, 0, b""
        self.chunks, self.next = {}, 1

    def begin(self, c):
        c.start(self.process, "cat", pipeStdin=True)

    def note(self, m):
        p = m["params"]
        if p.get("processId") != self.process:
            return False
        self.add(p["seq"], base64.b64decode(p["chunk"]))
        return True

    def add(self, seq, data):
        self.chunks.setdefault(seq, data)
        while self.next in self.chunks:
            self.text += self.chunks[self.next]
            self.next += 1

    def read(self, c, seconds):
        r = c.call("process/read", {"processId": self.process,
                                    "afterSeq": self.next - 1}, seconds)
        for k in r["chunks"]:
            self.add(k["seq"], base64.b64decode(k["chunk"]))

    def write(self, c):
        """Send the line; again with the same id if it is not known to have
        arrived."""
        return c.request("process/write", {
            "processId": self.process, "writeId": "w%d" % self.sent,
            "chunk": base64.b64encode(b"%09d\n" % self.sent).decode()})

    def is_whole(self):
        """Whether this line and all before it came, once."""
        want = b"".join(b"%09d\n" % i for i in range(self.sent + 1))
        check(want.startswith(self.text), "%r after %d lines" % (
            self.text[-40:], self.sent))
        return self.text == want


def well(server):
    """It and its workers did nothing that is to be blamed."""
    check(server.process.poll() is None, "the master is dead")
    blamed = BLAMED.findall(server.log())
    check(not blamed, "in the log: %s" % "\n".join(blamed[:20]))


@contextlib.contextmanager
def line(url, **how):
    one = Line(url, **how)
    try:
        yield one
    finally:
        one.stop()


def middle(times):
    times = sorted(times)
    return times[len(times) // 2]
