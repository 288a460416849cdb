"""836: partitions that nobody is told of, one way and both, that heal and do
not, while a command writes and another one is written to: the session goes on
or is resumed by another way in seconds, and no byte is lost or comes twice.  By
a proxy, and, as root, on a network of two namespaces where frames go astray.

PARTITIONS=N is how many of each kind; SEED=N repeats a run."""
import contextlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (LIMIT, Closed, RpcError, Server, check, connect, main,
                    say)
from lines import HOLD, PASS, SWALLOW, Echo, Output, line, middle
from network import Network, namespaces

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
PARTITIONS = int(os.environ.get("PARTITIONS", 12))
RNG = random.Random(SEED)
RATE = 80000                    # lines a second, almost 1 MB
WAYS = {"up": ["up"], "down": ["down"], "both": ["up", "down"]}


class Work:
    """A session with a command that writes and one that is written to."""

    def __init__(self, way):
        self.c = connect(way.url, token=way.token)
        self.session = self.c.session
        self.out, self.echo = Output(), Echo()
        self.out.begin(self.c, RATE)
        self.echo.begin(self.c)

    def sort(self):
        c = self.c
        while c.notes:
            m = c.notes.popleft()
            check(self.out.note(m) or self.echo.note(m), "%s" % m)

    def go_on(self, until, what):
        deadline = time.monotonic() + LIMIT
        self.sort()
        while not until():
            self.c.until(lambda: self.c.notes, deadline - time.monotonic(),
                         what)
            self.sort()

    def for_seconds(self, seconds):
        """Take what comes, which answers pings."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.c.ended:
            with contextlib.suppress(Closed):
                self.c.pump(deadline - time.monotonic())
            self.sort()

    def line(self):
        """One more line there and back."""
        self.c.answer(self.echo.write(self.c))
        self.go_on(self.echo.is_whole, "the echo of a line")
        self.echo.sent += 1

    def some(self, size):
        at = self.out.bytes + size
        self.go_on(lambda: self.out.bytes >= at, "output")

    def resume(self, way):
        """Connect by another way, again while it is taken; the seconds."""
        began = time.monotonic()
        while True:
            try:
                new = connect(way.url, self.session, token=way.token)
                break
            except RpcError as e:
                check(e.code == -32010, "resume: %s" % e)
            check(time.monotonic() - began < LIMIT, "still attached")
            time.sleep(0.02)
        took = time.monotonic() - began
        old, self.c = self.c, new
        self.out.read(new, LIMIT)
        self.echo.read(new, LIMIT)
        return took, old


def healed(net, ways):
    """The same connection goes on; the seconds until it did."""
    with net.ways() as (way, _):
        work = Work(way)
        work.some(200000)
        work.line()
        way.set(**{w: HOLD for w in ways})
        number = work.echo.write(work.c)
        work.for_seconds(RNG.uniform(0.2, 10))
        way.set(up=PASS, down=PASS)
        began = time.monotonic()
        work.c.answer(number)
        work.some(100000)
        took = time.monotonic() - began
        work.line()
        return finish(work, took)


def finish(work, took):
    work.line()
    work.some(100000)
    with work.c:
        work.out.end(work.c, LIMIT)
        work.line()
        work.c.call("session/close")
    return took, work.out.bytes + len(work.echo.text)


def resumed(net, ways):
    """By another way; the old one may heal later and is of no use then."""
    with net.ways() as (way, other):
        work = Work(way)
        work.some(200000)
        work.line()
        how = RNG.choice([HOLD, SWALLOW])
        way.set(**{w: how for w in ways})
        work.echo.write(work.c)     # it may arrive or not
        work.for_seconds(RNG.uniform(0, 3))
        took, old = work.resume(other)
        work.line()
        if RNG.random() < 0.5 and how == HOLD:
            way.set(up=PASS, down=PASS)
            check(old.wait_closed(LIMIT), "the old connection is still there")
        old.close()
        return finish(work, took)


class Proxies:
    """Two ways to a server by way of a proxy each."""

    def __init__(self, server):
        self.server = server

    @contextlib.contextmanager
    def ways(self):
        with line(self.server.url) as one, line(self.server.url) as other:
            one.token = other.token = None
            yield one, other


def by_proxy():
    partitions(Proxies(Server()))


def by_network():
    with namespaces() as other:
        if other is not None:
            partitions(Network(other))


def partitions(net):
    server, total = net.server, 0
    took = {healed: [], resumed: []}
    for n in range(PARTITIONS):
        kind = (healed, resumed)[n % 2]
        name = ("up", "down", "both")[n // 2 % 3]
        try:
            seconds, size = kind(net, WAYS[name])
        except Exception:
            say("  partition %d: %s, %s" % (n, kind.__name__, name))
            raise
        took[kind].append(seconds)
        total += size
    for kind, times in took.items():
        if times:
            say("  %d %s in %.2f s, %.2f s at most" % (
                len(times), kind.__name__, middle(times), max(times)))
    say("  %d bytes, 0 lost, 0 twice" % total)
    server.stop()


say("SEED=%d" % SEED)
main(by_proxy, by_network)
