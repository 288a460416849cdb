"""A command writes a known stream at full speed, its connection is cut again
and again at random bytes: every byte and number once, and the right exit.

CUTS=1000 for more; SEED=N repeats a run.
"""
import base64
import contextlib
import hashlib
import os
import random
import select
import socket
import subprocess
import sys
import time

from client import (Client, Closed, RpcError, Server, check, frame, main,
                    say, LIMIT, SANITIZED)

CUTS = int(os.environ.get("CUTS", "60"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
SIZE = 64 << 20 if CUTS <= 100 else (CUTS * 256) << 10
if SANITIZED and CUTS <= 100:
    SIZE = 16 << 20
WRITER = """
import random, sys, os
r, left = random.Random(%d), %d
while left:
    n = min(left, r.randrange(1, 1 << 17))
    data = memoryview(r.randbytes(n))
    left -= n
    while data:
        data = data[os.write(1, data):]
"""
REST = "the rest of an answer"  # between notifications: where it begins
rng = random.Random(SEED)
LOST = (Closed, ConnectionError, BrokenPipeError, TimeoutError)


class Cut(Exception):
    """As many bytes came as were wanted of this connection."""


class Budget(Client):
    """Reads so many bytes and no more (None: without end)."""

    def __init__(self, url, budget, **more):
        self.left, self.whole = budget, None
        super().__init__(url, **more)

    def on_message(self, m):
        super().on_message(m)
        # What does not fit the answer is notified, whether it was before or not.
        if "result" in m and m["id"] == self.whole:
            self.notes.append({"method": REST, "params": {
                "seq": m["result"]["nextSeq"]}})

    def take(self, size=1 << 18):
        if self.left is not None:
            if self.left <= 0:
                raise Cut()
            size = min(self.left, rng.choice([1, 1000, 1 << 16, 1 << 18]))
        n = super().take(size)
        if self.left is not None:
            self.left -= n
        return n


class Collector:
    """What came, by number, from notifications and reads together."""

    def __init__(self):
        self.next = 1               # the lowest number not seen
        self.early = {}
        self.notified = set()
        self.again, self.repeats = set(), 0     # of those, by REST
        self.hash, self.bytes, self.chunks = hashlib.sha256(), 0, 0
        self.exited, self.closed, self.exit_seq = 0, 0, None
        self.recent = {}            # to compare what comes twice

    def add(self, seq, data):
        if seq < self.next or seq in self.early:
            old = self.recent.get(seq)
            check(old is None or old == hash(data),
                  "number %d came with other bytes" % seq)
            return
        self.early[seq] = data
        self.recent[seq] = hash(data)
        self.settle()

    def settle(self):
        while True:
            if self.next == self.exit_seq:
                self.next += 1
            elif self.next in self.early:
                data = self.early.pop(self.next)
                self.hash.update(data)
                self.bytes += len(data)
                self.chunks += 1
                self.next += 1
            else:
                break

    def on_note(self, m):
        p = m["params"]
        if m["method"] == REST:
            self.again = {n for n in self.notified if n >= p["seq"]}
            return
        check(p["seq"] not in self.notified or p["seq"] in self.again,
              "number %d was notified twice" % p["seq"])
        self.repeats += p["seq"] in self.again
        self.again.discard(p["seq"])
        self.notified.add(p["seq"])
        if m["method"] == "process/output":
            self.add(p["seq"], base64.b64decode(p["chunk"]))
        elif m["method"] == "process/exited":
            check(p["exitCode"] == 0, "exit code %s" % p["exitCode"])
            self.exited += 1
            self.exit_seq = p["seq"]
            self.settle()
        else:
            self.closed += 1


def drain(c, got):
    while c.notes:
        got.on_note(c.notes.popleft())


def catch_up(c, got):
    """Read what was missed; the last answer."""
    while True:
        params = {"processId": "p", "afterSeq": got.next - 1}
        if c.left is not None or rng.random() < 0.5:
            params["maxBytes"] = rng.choice([0, 1000, 100000, 1 << 20])
            if rng.random() < 0.02:
                del params["maxBytes"]
        if rng.random() < 0.3:
            params["waitMs"] = rng.choice([1, 10, 1000])
        number = c.request("process/read", params)
        c.whole = None if "maxBytes" in params else number
        answer = c.until(lambda: c.answers.pop(number, None))
        check("result" in answer, "process/read: %s" % answer)
        r = answer["result"]
        drain(c, got)
        before, last = params["afterSeq"], params["afterSeq"]
        for i, chunk in enumerate(r["chunks"]):
            # What was notified meanwhile may have made room in between.
            gap = [n for n in range(last + 1, chunk["seq"])
                   if n not in got.notified]
            check(not gap or (len(gap) == 1 and r["exited"]),
                  "a gap in process/read: %d after %d" % (chunk["seq"], last))
            if gap:
                got.exit_seq = gap[0]
            last = chunk["seq"]
            got.add(chunk["seq"], base64.b64decode(chunk["chunk"]))
        if not r["chunks"] or "maxBytes" not in params:
            return r
        check(got.next > before + 1 or r["chunks"], "no way on")


def cut(c, how):
    if how == "reset":
        c.reset()
        return
    if how == "shut":
        with contextlib.suppress(OSError):
            c.sock.shutdown(socket.SHUT_RDWR)
    elif how == "half":
        # In the middle of a request.
        with contextlib.suppress(OSError):
            whole = frame(1, b'{"id":9,"method":"environment/info"}')
            c.sock.send(whole[:rng.randrange(len(whole))])
    c.close()


def serve(c, got, session):
    """What a client does; True when the process is closed."""
    moment = rng.random()
    if moment < 0.05:
        c.request("initialize", {"clientName": "t",
                                 "resumeSessionId": session})
        return False            # without waiting for the answer
    if moment < 0.1:
        c.call("initialize", {"clientName": "t", "resumeSessionId": session})
        return False
    c.initialize(session)
    if moment < 0.15:
        c.request("process/read", {"processId": "p", "afterSeq": 0})
        return False
    r = catch_up(c, got)
    while not (r["closed"] and got.next >= r["nextSeq"] - 2):
        if got.closed > 0:
            r = catch_up(c, got)
            break
        # Pings come whatever is stuck.
        before, deadline = got.next, time.monotonic() + LIMIT
        while got.next == before and not got.closed:
            check(time.monotonic() < deadline and
                  select.select([c.sock], [], [], LIMIT)[0],
                  "nothing comes any more after number %d" % (got.next - 1))
            c.take()
            drain(c, got)
    check(r["closed"] and r["exited"] and r["exitCode"] == 0,
          "at the end: %s" % r)
    check(r["nextSeq"] - 1 == got.chunks + 2,
          "%d chunks and next number %d" % (got.chunks, r["nextSeq"]))
    return True


def connection(url, session, got, budget):
    """One connection until its cut: as serve(), None when still attached."""
    c = Budget(url, None, rcvbuf=rng.choice([None, None, 4096, 1 << 16]))
    c.left = budget
    try:
        return serve(c, got, session)
    except Cut:
        return False
    except RpcError as e:
        check(e.code == -32010, "resume: %s" % e)
        return None
    finally:
        drain(c, got)       # whatever was received, pongs were sent for it
        cut(c, rng.choice(["reset", "reset", "close", "shut", "half"]))


def cuts():
    print("SEED=%d CUTS=%d, %d MiB" % (SEED, CUTS, SIZE >> 20))
    server = Server()
    code = WRITER % (SEED, SIZE)
    want = hashlib.sha256()
    with subprocess.Popen([sys.executable, "-c", code],
                          stdout=subprocess.PIPE) as p:
        while True:
            data = p.stdout.read(1 << 20)
            if not data:
                break
            want.update(data)
    got = Collector()
    c = Client(server.url).initialize()
    session = c.session
    c.start("p", sys.executable, "-c", code)
    c.reset()
    share = SIZE * 4 // 3 // CUTS
    done, busy, n = False, 0, 0
    while not done:
        n += 1
        budget = None if n > CUTS else rng.randrange(2 * share)
        try:
            done = connection(server.url, session, got, budget)
        except LOST as e:
            raise AssertionError("cut %d: dropped by the server: %s" % (n, e)
                                 ) from None
        if done is None:
            busy += 1
            n -= 1
            done = False
            check(busy < 100 * CUTS, "always attached")
            time.sleep(0.005)
    say("%d connections, %d times still attached, %d chunks, %d bytes, %d "
        "notified again as asked" % (n, busy, got.chunks, got.bytes,
                                     got.repeats))
    check(got.bytes == SIZE and got.hash.digest() == want.digest(),
          "%d of %d bytes, or others" % (got.bytes, SIZE))
    check(got.exited <= 1 and got.closed <= 1, "ended more than once")
    server.stop()


class Deaf(Client):
    """Answers no ping, so it never acknowledges anything."""

    def on_frame(self, op, fin, data):
        if op != 9:
            super().on_frame(op, fin, data)


def cursor():
    """A reader whose connections break before its pongs arrive, but whose
    cursor goes on, is not held up by what it has long had."""
    server = Server("DetachedSpool=8M")
    with contextlib.closing(Client(server.url).initialize()) as c:
        session = c.session
        c.start("p", "cat", "/dev/zero")
    last, total, busy = 0, 0, 0
    while total < 64 << 20:
        c = Deaf(server.url)
        try:
            c.initialize(session)
            r = c.call("process/read", {"processId": "p", "afterSeq": last,
                                        "maxBytes": 1 << 20,
                                        "waitMs": 10000})
        except RpcError as e:       # the loss of the one before is not noticed
            busy += 1
            check(e.code == -32010 and busy < 2000, "resume: %s" % e)
            time.sleep(0.01)
            continue
        finally:
            c.reset()
        check(r["chunks"], "nothing more after number %d and %d MiB" %
              (last, total >> 20))
        total += sum(len(k["chunk"]) for k in r["chunks"]) * 3 // 4
        last = r["nextSeq"] - 1
    say("  %d MiB in steps" % (total >> 20))
    server.stop()


main(cursor, cuts)
