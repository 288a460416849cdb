#!/usr/bin/env python3
"""Many executors on one hub (EXECUTORS, 10000), which the test plays: what each
of them costs, echo beside them, and all of them back after the hub's worker was
killed, while harnesses ask for connections."""
import importlib
import os
import resource
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../sys"))
from client import LIMIT, check, main, say, wait_for    # noqa: E402

lib = importlib.import_module("8hub")
frames = importlib.import_module("8frames")
EXECUTORS = int(os.environ.get("EXECUTORS", "10000"))
THREADS = 8


def memory(pid):
    """Resident bytes."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def room():
    """Executors that the limits of open files allow, here and there."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return min(EXECUTORS, hard - 500)


def each(items, work):
    """Do the work for all, by some threads; what it returned, in order."""
    out = [None] * len(items)

    def some(start):
        for i in range(start, len(items), THREADS):
            out[i] = work(items[i])
    threads = [threading.Thread(target=some, args=(i,))
               for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(all(o is not None for o in out), "some failed")
    return out


def echo(hub, x, turns=2000):
    """Microseconds through the hub and back, the median."""
    h = hub.harness("build-0")
    h.send(frames.resume(b"echo"))
    x.expect(frames.resume(b"echo"))
    sent, took = frames.data(b"echo", 1, b"e" * 150), []
    for _ in range(turns):
        began = time.perf_counter()
        h.send(sent)
        x.expect(sent)
        x.send(sent)
        h.expect(sent)
        took.append(time.perf_counter() - began)
    h.close()
    x.reset()
    return sorted(took)[turns // 2] * 1e6


def fleet():
    """They attach, cost little, and come back."""
    n = room()
    with lib.Hub("RequestRate 100000\nMaxUnauthenticated 20000\n"
                 "PingInterval 5m\nMaxConnections %d" % (n + 400)) as hub:
        pid = hub.ctl("status")[1]["pid"]
        first = hub.attach("build-0")
        alone = echo(hub, first)
        before, began = memory(pid), time.monotonic()
        some = each(["build-%d" % i for i in range(1, n)], hub.attach)
        took = time.monotonic() - began
        check(hub.ctl("status")[1]["executors"] == n, "not all are there")
        say("%d executors in %.1f s, %.2f KiB each; echo %.0f us, beside "
            "them %.0f us" % (n, took, (memory(pid) - before) / n / 1024,
                              alone, echo(hub, first)))
        urls = [x.url for x in [first, *some]]
        os.kill(pid, signal.SIGKILL)
        for x in [first, *some]:
            x.close()
        gone = time.monotonic()
        wait_for(hub.is_ready, LIMIT, "it serves again")
        say("it serves again after %.1f s" % (time.monotonic() - gone))
        began, asked, done = time.monotonic(), [], threading.Event()

        def ask():
            while not done.is_set():
                at = time.monotonic()
                answer = hub.connect("build-%d" % (len(asked) % n))
                check(answer.status in (200, 409), "%d" % answer.status)
                asked.append(time.monotonic() - at)
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            back = each(urls, lib.Ws)
        finally:
            done.set()
            asking.join()
        took = time.monotonic() - began
        check(hub.ctl("status")[1]["executors"] == n, "not all are back")
        check(hub.metrics()["execsrv_hub_registrations_total"] == 0,
              "somebody had to register")
        asked.sort()
        say("all back in %.1f s; %d connects meanwhile, p50 %.0f ms, p99 "
            "%.0f ms" % (took, len(asked), asked[len(asked) // 2] * 1e3,
                         asked[len(asked) * 99 // 100] * 1e3))
        rows, after = 0, ""
        while after is not None:
            some, end = hub.ctl("list", after=after)
            rows, after = rows + len(some), end.get("next")
        check(rows == n, "%d rows" % rows)
        for x in back:
            x.close()


if __name__ == "__main__":
    main(fleet)
