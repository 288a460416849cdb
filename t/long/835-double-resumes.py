"""835: two connections resume the same session at the same moment, whether the
one before is gone, going, silent or alive: never two owners, never none for
good, and no line lost or doubled.

RACES=N is how many; SEED=N repeats a run."""
import base64
import collections
import contextlib
import json
import os
import random
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (LIMIT, Client, Closed, Server, check, connect, frame, main,
                    say)
from lines import well

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
RACES = int(os.environ.get("RACES", 2000))
RNG = random.Random(SEED)
EACH = 100                      # races of one session
LOST = (Closed, OSError)        # of a connection that has ended
# How the connection before ends, and how often.
WAYS = ["close"] * 35 + ["reset"] * 35 + ["shut"] * 20 + ["alive"] * 9 + \
    ["silent"]


class Echo:
    """A command that puts every line out that it gets: what came, by number."""

    def __init__(self):
        self.chunks, self.next, self.text = {}, 1, b""
        self.sent = 0

    def line(self):
        return b"%09d\n" % self.sent

    def add(self, seq, data):
        check(self.chunks.setdefault(seq, data) == data,
              "number %d came with other bytes" % seq)
        while self.next in self.chunks:
            self.text += self.chunks[self.next]
            self.next += 1

    def notes(self, c):
        while c.notes:
            m = c.notes.popleft()
            check(m["method"] == "process/output", "%s" % m)
            self.add(m["params"]["seq"], base64.b64decode(
                m["params"]["chunk"]))

    def read(self, c):
        r = c.call("process/read", {"processId": "echo",
                                    "afterSeq": self.next - 1})
        check(not r["exited"], "it has ended")
        for k in r["chunks"]:
            self.add(k["seq"], base64.b64decode(k["chunk"]))
        self.notes(c)

    def write(self, c):
        """A line, once however often it is sent; the request's number."""
        return c.request("process/write", {
            "processId": "echo", "writeId": "w%d" % self.sent,
            "chunk": base64.b64encode(self.line()).decode()})

    def whole(self, c):
        """The line that may be on its way, exactly once behind the others."""
        self.read(c)
        answer = c.answer(self.write(c))
        check(answer["status"] == "accepted", "%s" % answer)
        want = b"".join(b"%09d\n" % i for i in range(self.sent + 1))
        deadline = time.monotonic() + LIMIT
        while len(self.text) < len(want):
            check(time.monotonic() < deadline, "line %d is lost" % self.sent)
            c.until(lambda: c.notes)
            self.notes(c)
        check(self.text == want, "at line %d: %r" % (self.sent,
                                                     self.text[-40:]))
        self.sent += 1


def end(c, way):
    """What the connection before does while others come."""
    if way == "close":
        c.close()
    elif way == "reset":
        c.reset()
    elif way == "shut":
        with contextlib.suppress(OSError):
            c.sock.shutdown(socket.SHUT_WR)


def drop(c):
    with contextlib.suppress(OSError):
        c.close()


def contest(url, session, before):
    """Two at once; (those who were let in, codes of the others)."""
    pair = [Client(url), Client(url)]
    request = frame(1, json.dumps({
        "id": 1, "method": "initialize",
        "params": {"clientName": "t", "resumeSessionId": session}}).encode())
    for c in RNG.sample(pair, 2):
        c.sock.sendall(request)
        if RNG.random() < 0.3:
            time.sleep(RNG.random() * 0.003)
    deadline = time.monotonic() + LIMIT
    while not all(1 in c.answers for c in pair):
        check(time.monotonic() < deadline, "no answer")
        for c in [*pair, *before]:
            with contextlib.suppress(Closed):
                if not c.ended and c.ready(0.002):
                    c.take()
    for c in pair:
        c.last_id = 1
    won = [c for c in pair if "result" in c.answers[1]]
    codes = [c.answers[1]["error"]["code"] for c in pair if c not in won]
    check(codes.count(-32010) == len(codes), "refused with %s" % codes)
    for c in pair:
        if c not in won:
            drop(c)
    return won


def owns(c):
    """Whether it is served still."""
    try:
        c.send({"method": "initialized"})
        c.call("environment/status")
    except LOST:
        return False
    return True


def race(url, session, before, way, done):
    """The one that owns the session in the end."""
    deadline = time.monotonic() + LIMIT
    while True:
        won = contest(url, session, [before] if way == "alive" else [])
        if way == "alive":
            # A machine that stands still looks like silence.
            if not won:
                check(owns(before), "nobody has it")
                done["alive, kept it"] += 1
                return before
            done["alive, held for silent"] += 1
        if won:
            break
        done["again"] += 1
        check(time.monotonic() < deadline, "nobody gets it: %s" % way)
        time.sleep(0.002)
    # The second may follow when the first was silent; it then has it alone.
    owners = [c for c in won if owns(c)]
    check(len(owners) == 1, "%d of %d own it" % (len(owners), len(won)))
    if len(won) == 2:
        done["one after the other"] += 1
    check(way == "close" or way == "reset" or not owns(before),
          "the one before owns it, too")
    for c in [before, *won]:
        if c is not owners[0]:
            drop(c)
    done[way] += 1
    return owners[0]


def with_command(server, number, done):
    echo = Echo()
    c = connect(server.url)
    session = c.session
    c.start("echo", "cat", pipeStdin=True)
    for _ in range(number):
        way = RNG.choice(WAYS)
        if RNG.random() < 0.7:
            echo.write(c)       # nobody looks at the answer
        end(c, way)
        owner = race(server.url, session, c, way, done)
        if owner is c:
            c.answers.clear()   # with that of the line
        echo.whole(owner)
        c = owner
    c.call("session/close")
    drop(c)
    return echo.sent


def without(server, number, done):
    """Sessions that only the master knows while nobody is attached."""
    c = connect(server.url)
    session = c.session
    for _ in range(number):
        way = RNG.choice(["close", "reset", "shut"])
        end(c, way)
        c = race(server.url, session, c, way, done)
    c.call("session/close")
    drop(c)


def races():
    server, done, lines, left = Server(), collections.Counter(), 0, RACES
    began = time.monotonic()
    while left > 0:
        number = min(EACH, left)
        left -= number
        if left // EACH % 4 == 3:
            without(server, number, done)
        else:
            lines += with_command(server, number, done)
    say("  %d double resumes in %.0f s, %d lines exact, never two owners; %s"
        % (RACES, time.monotonic() - began, lines, ", ".join(
            "%d %s" % (v, k) for k, v in sorted(done.items()))))
    well(server)
    server.stop()


say("SEED=%d" % SEED)
main(races)
