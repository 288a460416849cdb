"""833: kill -9 of every kind of process under busy sessions, reloads beside
streams, many short sessions, many idle ones, many commands at once, and stops
at any moment.

KILLS, RELOADS, SHORT, IDLE, PROCESSES, STOPS=N are how many; SEED=N repeats a
run."""
import base64
import collections
import contextlib
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (LIMIT, Server, a_word, check, children, connect,
                    descendants, fds, is_alive, main, probe, rss, say,
                    told, wait_for, with_word, worker_of)

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
RNG = random.Random(SEED)
SESSIONS = 50


def count(name, default):
    return int(os.environ.get(name, default))


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


class Busy:
    """A session with a command that answers, one that only lasts, an agent,
    and a helper for HTTP."""

    def __init__(self, server):
        self.word, self.lines = a_word("busy"), 0
        self.c = connect(server.url)
        self.worker = worker_of(server, self.c)
        self.c.start("echo", "cat", pipeStdin=True)
        self.c.start("lasts", "sleep", self.word)
        self.helpers()

    def helpers(self):
        self.c.call("fs/readDirectory", {"path": "file:///etc"})
        with contextlib.suppress(Exception):
            self.c.call("http/request", {
                "requestId": "r%d" % self.lines, "method": "GET",
                "url": "http://127.0.0.1:9/", "headers": []})

    def echo(self):
        """Seconds until a line came back."""
        self.lines += 1
        line = b"%d\n" % self.lines
        began, came = time.monotonic(), b""
        self.c.call("process/write", {
            "processId": "echo", "chunk": base64.b64encode(line).decode()})
        while came != line:
            came += base64.b64decode(self.c.note("process/output",
                                                 "echo")["chunk"])
            check(line.startswith(came), "%r instead of %r" % (came, line))
        return time.monotonic() - began

    def below(self, name):
        return [p for p in children(self.worker) if comm(p) == name]


def template_of(server, busy):
    """The one that serves nobody, where no worker is kept ready."""
    rest = set(server.workers()) - {b.worker for b in busy}
    return rest.pop() if len(rest) == 1 else None


def kill(pids):
    for p in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(p, signal.SIGKILL)


def attend(busy):
    """Answer pings."""
    for b in busy:
        b.c.pump()


def kills():
    """Who is not hit goes on as if nothing were."""
    server = Server("MaxSessions=200", "SpareWorkers=0", "MaxSpareWorkers=0")
    busy = []
    while len(busy) < SESSIONS:
        busy.append(Busy(server))
        attend(busy)
    done, worst = collections.Counter(), 0.0
    for n in range(count("KILLS", 100)):
        kind = RNG.choice(["worker", "template", "agent", "http"])
        one = RNG.choice(busy)
        if kind == "worker":
            os.kill(one.worker, signal.SIGKILL)
            check(one.c.wait_closed(LIMIT), "its client hears of it")
            wait_for(lambda: not with_word(one.word), 2 * LIMIT,
                     "its commands are gone")
            one.c.close()
            busy.remove(one)
            busy.append(Busy(server))
        elif kind == "template":
            wait_for(lambda: template_of(server, busy), LIMIT, "a template")
            old = template_of(server, busy)
            kill([old])
            wait_for(lambda: template_of(server, busy) not in (None, old),
                     LIMIT, "another one")
            with connect(server.url) as c:
                check(c.run("p", "true") == (b"", 0), "a new session")
                c.call("session/close")
        else:
            name = "execsrv-http" if kind == "http" else "execsrv-worker"
            hit = one.below(name)
            kill(hit)
            wait_for(lambda: not any(map(is_alive, hit)), LIMIT, "dead")
            one.helpers()
            one.echo()
            kind += "" if hit else " (there was none)"
        done[kind] += 1
        for other in RNG.sample(busy, 5):
            worst = max(worst, other.echo())
        attend(busy)
    for other in busy:
        other.echo()
        check(with_word(other.word), "its command lives")
    say("  %s; worst answer of another session %.3f s" % (
        ", ".join("%d %s" % (v, k) for k, v in sorted(done.items())), worst))
    for other in busy:
        other.c.call("session/close")
    wait_for(lambda: not any(with_word(b.word) for b in busy), LIMIT,
             "nothing is left over")
    server.stop()


def reloads():
    """A stream beside them is exact."""
    server, n = Server("Foreground=yes"), count("RELOADS", 200)
    with connect(server.url) as c:
        c.start("p", sys.executable, "-u", "-c",
                "import itertools\nfor i in itertools.count():\n"
                "    print('%011d' % i)")
        at, rest, began = 0, b"", time.monotonic()
        for _ in range(n):
            os.kill(server.pid, signal.SIGHUP)
            for _ in range(20):
                rest += base64.b64decode(c.note("process/output",
                                                "p")["chunk"])
                while len(rest) >= 12:
                    check(rest[:12] == b"%011d\n" % at, "%r at %d" % (
                        rest[:12], at))
                    rest, at = rest[12:], at + 1
    say("  %d reloads, %d lines exact, %.1f s" % (
        n, at, time.monotonic() - began))
    probe(server.url)
    server.stop()


def short():
    """Nothing grows with sessions that come and go."""
    server, n = Server(), count("SHORT", 1000)
    for _ in range(100):
        probe(server.url)
    before = (rss(server.pid), fds(server.pid))
    began = time.monotonic()
    for _ in range(n):
        with connect(server.url) as c:
            c.call("fs/getMetadata", {"path": "file:///etc"})
            c.call("session/close")
    took = time.monotonic() - began
    probe(server.url)
    after = (rss(server.pid), fds(server.pid))
    say("  %d sessions in %.1f s; the master %+d KiB, %+d descriptors" % (
        n, took, (after[0] - before[0]) >> 10, after[1] - before[1]))
    check(after[0] - before[0] < 2 << 20 and after[1] - before[1] <= 8,
          "it grew from %s to %s" % (before, after))
    server.stop()


def idle():
    """What one that does nothing costs, and a list of all of them."""
    n = count("IDLE", 300)       # select(2) of the client: below 1,000
    server = Server("MaxSessions=%d" % (n + 10),
                    "MaxSessionsPerUser=%d" % (n + 10))
    master = rss(server.pid)
    some = [connect(server.url) for _ in range(n)]
    pids = [p for p in server.workers()]
    each = sum(rss(p) for p in pids) // len(pids)
    master = (rss(server.pid) - master) // n
    began = time.monotonic()
    out = told("-R", server.run, "sessions")
    took = time.monotonic() - began
    say("  %d sessions: %d KiB each, the master %.1f KiB each; "
        "listed in %.2f s" % (n, each >> 10, master / 1024, took))
    check(len(out.splitlines()) >= n, "all of them are listed")
    for c in some:
        c.close()
    server.stop()


def processes():
    """Each of them is asked to write, others are answered, and all end with
    their sessions or the server."""
    n, each = count("PROCESSES", 2000), 500
    server, word, worst = Server(), a_word("many"), 0.0
    some, began = [], time.monotonic()
    for first in range(0, n, each):
        c = connect(server.url)
        some.append(c)
        asked = [c.start("p%d" % i, "sh", "-c", 'read line; exec sleep "$line"',
                         pipeStdin=True, wait=False)
                 for i in range(first, min(first + each, n))]
        for number in asked:
            c.answer(number)
        for other in some:
            other.pump()
    took = time.monotonic() - began
    for i in range(n):
        some[i // each].call("process/write", {
            "processId": "p%d" % i,
            "chunk": base64.b64encode(word.encode() + b"\n").decode()})
        if i % 100 == 0:
            worst = max(worst, probe(server.url))
            for other in some:
                other.pump()
    wait_for(lambda: len(with_word(word)) == n, 3 * LIMIT, "all of them")
    for c in some[::2]:
        c.call("session/close")
        c.close()
    left = sum(len(range(i * each, min((i + 1) * each, n)))
               for i in range(1, len(some), 2))
    wait_for(lambda: len(with_word(word)) == left, 3 * LIMIT,
             "those of the sessions that go on, no more")
    ended = server.stop()
    wait_for(lambda: not with_word(word), LIMIT, "nothing is left over")
    say("  %d commands of %d sessions in %.1f s; another session in %.3f s "
        "at most; the end of %d in %.1f s" % (
            n, len(some), took, worst, left, ended))
    for c in some[1::2]:
        c.close()


def stops():
    """At any moment, by either signal: in time, and nothing is left."""
    n, worst = count("STOPS", 20), 0.0
    for i in range(n):
        server, word = Server(), a_word("stop")
        some = [connect(server.url) for _ in range(RNG.randrange(1, 6))]
        for c in some:
            for j in range(RNG.randrange(4)):
                c.start("p%d" % j, "sh", "-c", RNG.choice([
                    "sleep $0", "trap '' TERM; sleep $0",
                    "setsid sleep $0 & sleep $0", "yes & sleep $0",
                    "kill -STOP $$; sleep $0"]), word,
                    wait=RNG.random() < 0.5)
            if RNG.random() < 0.3:
                c.reset()
        all_of = descendants(server.pid)
        time.sleep(RNG.random() * 0.2)
        all_of += descendants(server.pid)
        worst = max(worst, server.stop(RNG.choice([signal.SIGTERM,
                                                   signal.SIGINT])))
        wait_for(lambda: not with_word(word) and
                 not any(map(is_alive, all_of)), LIMIT,
                 "nothing is left after stop %d" % i)
        for c in some:
            c.close()
    say("  %d stops, the longest %.2f s" % (n, worst))


say("SEED=%d" % SEED)
main(kills, reloads, short, idle, processes, stops)
