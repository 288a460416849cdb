"""837: lines of 1 and 8 Mbit/s: what goes through, and how long a request waits
beside a flood; whatever is lost or comes twice is a failure.  As root on a network
of two namespaces, and by a proxy, which holds more than a line does.

FLOOD=N is how many seconds a flood lasts; RATE the bytes a second of the proxy,
ROOM those that are under way in it, or in a line."""
import base64
import contextlib
import os
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (BUILD, LIMIT, TMP, Closed, Server, check, connect,
                    in_time, main, resume_in, say)
from lines import LINE, Output, line, middle
from network import Network, namespaces

FLOOD = float(os.environ.get("FLOOD", 30))
RATE = int(os.environ.get("RATE", 125000))
ROOM = int(os.environ.get("ROOM", 65536))
LONG = 10 * LIMIT               # for what has a queue before it
PAUSE = 0.25                    # between two requests
WIRE = 4 / 3 * 1514 / 1448      # bytes on the line for one of output
FULL = 0.9                      # of a line


class Asking:
    """A request from time to time, and how long it waited."""

    def __init__(self, c):
        self.c, self.number, self.began = c, None, 0.0
        self.times = []

    def step(self):
        if self.number is None:
            if time.monotonic() > self.began + PAUSE:
                self.began = time.monotonic()
                self.number = self.c.request("environment/status")
        elif self.c.answers.pop(self.number, None):
            self.times.append(time.monotonic() - self.began)
            self.number = None

    def finish(self):
        if self.number is not None:
            self.c.answer(self.number, LONG)
            self.times.append(time.monotonic() - self.began)

    def __str__(self):
        return "a request waits %.3f s, %.3f s at most (%d)" % (
            middle(self.times), max(self.times), len(self.times))


def quiet(url, token=None):
    with connect(url, token=token) as c:
        asking = Asking(c)
        for _ in range(40):
            asking.step()
            c.pump(PAUSE)
        asking.finish()
        c.call("session/close")
    return asking


def take(c, out, seconds, asking):
    """For so long; bytes a second."""
    began, before = time.monotonic(), out.bytes
    while time.monotonic() < began + seconds:
        asking.step()
        c.pump(0.05)
        while c.notes:
            out.note(c.notes.popleft())
    return (out.bytes - before) / (time.monotonic() - began)


def output(url, token=None):
    """A command writes as fast as it may."""
    with connect(url, token=token) as c:
        out, asking = Output(), Asking(c)
        out.begin(c)
        take(c, out, 5, Asking(c))      # until all that holds some is full
        c.answers.clear()
        speed = take(c, out, FLOOD, asking)
        asking.finish()
        out.end(c, LONG)
        c.call("session/close")
    return speed, asking, out.lines


def cut(url):
    """The same, cut and resumed several times."""
    out, resumes = Output(), []
    c = connect(url)
    out.begin(c)
    for _ in range(4):
        take(c, out, FLOOD / 4, Asking(c))
        c.reset()
        began = time.monotonic()
        c = resume_in(url, c.session, LONG)
        resumes.append(time.monotonic() - began)
        out.read(c, LONG)
    out.end(c, LONG)
    c.call("session/close")
    c.close()
    return out.lines, resumes


def write(c, number):
    """64 KiB of numbered lines."""
    size = 65536 // LINE
    return c.request("process/write", {
        "processId": "in", "writeId": "w%d" % number,
        "chunk": base64.b64encode(b"".join(
            b"%011d\n" % i for i in range(number * size, number * size + size)
        )).decode()})


JUDGE = """
import sys
n = 0
for line in sys.stdin.buffer:
    if line != b"%011d\\n" % n:
        sys.exit("%d: %r" % (n, line))
    n += 1
print(n)
"""


def inputs(url, token=None):
    """A client writes as fast as it may, while it asks."""
    with connect(url, token=token) as c:
        c.start("in", sys.executable, "-c", JUDGE, pipeStdin=True)
        asking, sent, waiting = Asking(c), 0, []
        began = time.monotonic()
        while time.monotonic() < began + FLOOD:
            asking.step()
            if len(waiting) < 2:
                waiting.append(write(c, sent))
                sent += 1
            c.pump(0.02)
            for number in list(waiting):
                if number in c.answers:
                    waiting.remove(number)
                    check(c.answer(number)["status"] == "accepted", "refused")
        for number in waiting:
            c.answer(number, LONG)
        took = time.monotonic() - began
        asking.finish()
        c.call("process/closeStdin", {"processId": "in"}, LONG)
        out = b""
        with contextlib.suppress(Closed):
            while not out.endswith(b"\n"):
                out += base64.b64decode(c.note("process/output",
                                               "in", LONG)["chunk"])
        size = 65536 // LINE * sent
        check(out == b"%d\n" % size, "%d lines in, %r counted" % (size, out))
        c.call("session/close")
    return size * LINE / took, asking, size


ANSWER = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("here", flush=True))
print("here", flush=True)
"""


class Command:
    """`execsrvctl run`, which is given input as fast as it takes it."""

    def __init__(self, way):
        token = []
        if way.token:
            token = ["--token-file", TMP + "/token"]
            with open(TMP + "/token", "w", encoding="ascii") as f:
                f.write(way.token)
            os.chmod(TMP + "/token", 0o600)
        self.process = subprocess.Popen(
            [BUILD + "/execsrvctl", "run", "--url", way.url, *token, "--",
             sys.executable, "-c", ANSWER + JUDGE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.given, self.rest, self.out = 0, b"", b""
        os.set_blocking(self.process.stdin.fileno(), False)
        os.set_blocking(self.process.stdout.fileno(), False)

    def feed(self, seconds):
        """And read what it says."""
        into, out = self.process.stdin, self.process.stdout
        ready = select.select([out], [into], [], seconds)
        if ready[0]:
            self.out += os.read(out.fileno(), 4096)
        if ready[1]:
            if not self.rest:
                self.rest = b"%011d\n" % self.given
                self.given += 1
                while len(self.rest) < 4096:
                    self.rest += b"%011d\n" % self.given
                    self.given += 1
            with contextlib.suppress(BlockingIOError):
                self.rest = self.rest[os.write(into.fileno(), self.rest):]

    def until_here(self):
        """The seconds until the command says so."""
        began = time.monotonic()
        while self.out != b"here\n":
            check(time.monotonic() < began + LONG, "the command says nothing")
            self.feed(0.05)
        self.out = b""
        return time.monotonic() - began

    def signal(self):
        self.process.send_signal(signal.SIGUSR1)
        return self.until_here()

    def end(self):
        os.set_blocking(self.process.stdin.fileno(), True)
        os.set_blocking(self.process.stdout.fileno(), True)
        out, _ = self.process.communicate(self.rest, LONG)
        check(out == b"%d\n" % self.given and self.process.returncode == 0,
              "%d lines in, %r counted" % (self.given, out))


def command(way):
    """As inputs(), with a client of ours, which is sent signals."""
    c, times = Command(way), []
    c.until_here()
    began = last = time.monotonic()
    while time.monotonic() < began + FLOOD:
        c.feed(0.05)
        if time.monotonic() > max(began + 5, last + PAUSE):
            times.append(c.signal())
            last = time.monotonic()
    c.end()
    speed = c.given * LINE / (time.monotonic() - began)
    return speed, times


def small_window():
    server = Server("OutputWindow=256K")
    with line(server.url, rate=RATE, room=ROOM) as way:
        speed, asking, lines = output(way.url)
        check(speed > RATE / 2, "%.0f bytes a second" % speed)
        say("  output: %.1f KiB/s; %s; %d lines exact" % (
            speed / 1024, asking, lines))
    server.stop()


def usual_window():
    server = Server()
    with line(server.url, rate=RATE, room=ROOM) as way:
        say("  nothing else: %s" % quiet(way.url))
        speed, asking, lines = output(way.url)
        check(speed > RATE / 2, "%.0f bytes a second" % speed)
        say("  output: %.1f KiB/s; %s; %d lines exact" % (
            speed / 1024, asking, lines))
        lines, resumes = cut(way.url)
        say("  cut four times: resumed in %.2f s, %.2f s at most; %d lines "
            "exact" % (middle(resumes), max(resumes), lines))
        speed, asking, lines = inputs(way.url)
        say("  input: %.1f KiB/s; %s; %d lines exact" % (
            speed / 1024, asking, lines))
    server.stop()


def on_line(way, rate, longest):
    """A request beside a flood waits so long, and the line is full."""
    way.slow(rate, ROOM)
    say("  nothing else: %s" % quiet(way.url, way.token))
    speed, asking, lines = output(way.url, way.token)
    share = speed * WIRE / rate
    say("  output: %.1f KiB/s, %.0f %% of the line; %s; %d lines exact" % (
        speed / 1024, 100 * share, asking, lines))
    in_time(middle(asking.times) <= longest, "a request waits %.3f s" %
            middle(asking.times))
    in_time(share >= FULL, "%.0f %% of the line is used" % (100 * share))
    speed, asking, lines = inputs(way.url, way.token)
    say("  input: %.1f KiB/s; %s; %d lines exact" % (
        speed / 1024, asking, lines))
    speed, times = command(way)
    share = speed * WIRE / rate
    say("  input of execsrvctl run: %.1f KiB/s, %.0f %% of the line; a signal "
        "takes %.3f s, %.3f s at most (%d)" % (
            speed / 1024, 100 * share, middle(times), max(times), len(times)))
    in_time(middle(times) <= longest, "a signal takes %.3f s" % middle(times))
    in_time(share >= FULL, "%.0f %% of the line is used" % (100 * share))


def real_lines():
    with namespaces("tc") as other:
        if other is None:
            return
        net = Network(other)
        for rate, longest in ((125000, 0.5), (1000000, 0.15)):
            say("  %d Mbit/s" % (rate * 8 // 1000000))
            on_line(net.pair[0], rate, longest)
        net.server.stop()


main(usual_window, small_window, real_lines)
