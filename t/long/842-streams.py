"""842: a session that uses every kind of stream, cut again and again at random
bytes and inside resumes: both outputs of a command, a terminal, output that is
asked for as well, and input in many writes that are sent again with their ids.
Every line comes once.

CUTS=N is how often; SEED=N repeats a run."""
import base64
import contextlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (LIMIT, Client, Closed, RpcError, Server, check, connect,
                    main, probe, say)
from lines import LINE, WRITER, Output, well

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
CUTS = int(os.environ.get("CUTS", 1000))
RNG = random.Random(SEED)
SHARE = 200000              # bytes of a connection, on average
WRITES = 16                 # on their way together
POLLED = 0.3                # of the turns
TWO = """
import os
n = 0
while True:
    text = b"".join(b"%011d\\n" % i for i in range(n, n + 500))
    for fd in (1, 2):
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(fd, rest):]
    n += 500
"""


class Cut(Exception):
    """As many bytes came as were wanted of this connection."""


class Budget(Client):
    """Reads so many bytes and no more."""
    left = 1 << 62

    def take(self, size=1 << 18):
        if self.left <= 0:
            raise Cut()
        n = super().take(min(self.left, RNG.choice([100, 1 << 14, size])))
        self.left -= n
        return n


class Streams:
    """What a process puts out, by stream, in order."""

    def __init__(self, process, *names):
        self.process, self.next, self.early = process, 1, {}
        self.of = {name: Output() for name in names}

    def add(self, p):
        if p["seq"] < self.next:
            return
        self.early[p["seq"]] = p
        while self.next in self.early:
            p = self.early.pop(self.next)
            self.of[p["stream"]].take(base64.b64decode(p["chunk"]))
            self.next += 1

    def ask(self, c, **more):
        return c.request("process/read", {
            "processId": self.process, "afterSeq": self.next - 1, **more})

    def on_read(self, result):
        for chunk in result["chunks"]:
            self.add(chunk)


class Input:
    """Lines for a `cat`, many at a time."""

    def __init__(self, process):
        self.process, self.sent, self.accepted = process, 0, set()

    def write(self, c):
        number = self.sent
        self.sent += 1
        text = b"".join(b"%011d\n" % i for i in range(
            100 * number, 100 * (number + 1)))
        return number, c.request("process/write", {
            "processId": self.process, "writeId": "w%d" % number,
            "chunk": base64.b64encode(text).decode()})

    def again(self):
        """From the first of which nothing was heard."""
        self.sent = next(n for n in range(self.sent + 1)
                         if n not in self.accepted)

    def room(self):
        return self.sent - len(self.accepted) < WRITES


class Work:
    def __init__(self, c):
        self.session = c.session
        self.streams = {s.process: s for s in (
            Streams("two", "stdout", "stderr"), Streams("tty", "pty"),
            Streams("polled", "stdout"), Streams("cat", "stdout"))}
        self.input, self.asked, self.cuts = Input("cat"), {}, 0
        c.start("two", sys.executable, "-c", TWO)
        c.start("tty", "sh", "-c", 'stty raw; exec "$@"', "sh",
                sys.executable, "-c", WRITER % 0, tty=True)
        c.start("polled", sys.executable, "-c", WRITER % 0)
        c.start("cat", "cat", pipeStdin=True)
        self.sort(c)

    def sort(self, c):
        """All that has come."""
        while c.notes:
            p = c.notes.popleft()["params"]
            self.streams[p["processId"]].add(p)
        for number in list(c.answers):
            m = c.answers.pop(number)
            check("result" in m, "an error: %s" % m)
            if number in self.asked:
                self.asked.pop(number)(m["result"])

    def on_write(self, number):
        def done(result):
            check(result["status"] == "accepted", "write %d: %s" % (
                number, result))
            self.input.accepted.add(number)
        return done

    def resume(self, c):
        c.initialize(self.session)
        self.asked.clear()
        self.input.again()
        for s in self.streams.values():
            self.asked[s.ask(c)] = s.on_read
        while self.asked:
            c.until(lambda: c.notes or c.answers, LIMIT, "what was missed")
            self.sort(c)

    def turn(self, c):
        while self.input.room():
            number, request = self.input.write(c)
            self.asked[request] = self.on_write(number)
        if RNG.random() < POLLED:
            s = self.streams["polled"]
            self.asked[s.ask(c, waitMs=RNG.choice([0, 50]),
                             maxBytes=RNG.choice([1000, 1 << 20]))] = s.on_read
        c.until(lambda: c.notes or c.answers, LIMIT, "anything")
        self.sort(c)

    def bytes(self):
        return [o.bytes for s in self.streams.values() for o in s.of.values()]

    def connection(self, c):
        """What a client does until its cut."""
        moment = RNG.random()
        ask = {"clientName": "t", "resumeSessionId": self.session}
        if moment < 0.15:
            c.request("initialize", ask)
        elif moment < 0.3:
            c.call("initialize", ask)
        elif moment < 0.45:
            c.initialize(self.session)
            for s in self.streams.values():
                s.ask(c)
        else:
            self.resume(c)
            c.left = RNG.randrange(2 * SHARE)
            while True:
                self.turn(c)

    def cut(self, url):
        """A connection and its end; whether there was one."""
        c = Budget(url)
        try:
            self.connection(c)
        except Cut:
            pass
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
            return False
        finally:
            # An answer that is not for us any more is not looked at.
            c.answers.clear()
            self.sort(c)
            if RNG.random() < 0.7:
                c.reset()
            c.close()
        return True

    def last(self, url):
        """Nothing stands still behind the last cut."""
        deadline = time.monotonic() + LIMIT
        while True:
            c = Budget(url)
            with contextlib.suppress(RpcError):
                self.resume(c)
                break
            c.close()
            check(time.monotonic() < deadline, "still attached")
        had = self.bytes()
        while any(now < before + SHARE for now, before in
                  zip(self.bytes(), had)):
            self.turn(c)
        c.call("session/close")
        c.close()


def streams():
    # Little to be read again each time, so that there are many.
    server = Server("DetachedSpool=2M")
    with connect(server.url) as c:
        work = Work(c)
        c.reset()
    done = attached = 0
    while done < CUTS:
        try:
            if work.cut(server.url):
                done += 1
            else:
                attached += 1
                time.sleep(0.005)
        except (Closed, OSError) as e:
            raise AssertionError("cut %d: dropped by the server: %s" % (
                done, e)) from None
        check(attached < 1000 * CUTS, "always attached")
    work.last(server.url)
    say("  %d cuts, %d times still attached; %s lines each, %d writes" % (
        done, attached, [n // LINE for n in work.bytes()],
        len(work.input.accepted)))
    well(server)
    probe(server.url)
    server.stop()


say("SEED=%d" % SEED)
main(streams)
