#!/usr/bin/env python3
"""847: hub, executors and harnesses are killed and stopped at random, while
commands put out much, and take much in: each byte arrives once, in its place.

SECONDS=N is for how long, EXECUTORS=N and RUNS=N how many of both, the latter
for each executor; SEED=N repeats a run's events."""
import collections
import contextlib
import importlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (BUILD, LIMIT, check, children, descendants, main, say,
                    wait_for)

lib = importlib.import_module("8hub")
programs = importlib.import_module("8executor")
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
SECONDS = int(os.environ.get("SECONDS", 600))
EXECUTORS = int(os.environ.get("EXECUTORS", 3))
RUNS = int(os.environ.get("RUNS", 2))
RNG = random.Random(SEED)
PATIENCE = 180          # executors pause up to 30 s after losses
PAUSE = (1, 5)          # seconds between two events
STILL = (0.2, 4)        # seconds that somebody is stopped
BLAMED = re.compile(r"^.*(?:assert|signal (?:6|11|31)\b|out of memory).*$",
                    re.M)
LINES = 150000
NOT_BEGUN = 125         # the exit status, if there was no session
OUTPUT = "i=0; while [ $i -lt 50 ]; do seq $((i*3000)) $((i*3000+2999)); " \
    "sleep 0.1; i=$((i+1)); done"


def expected():
    return b"".join(b"%d\n" % n for n in range(LINES))


class Run(threading.Thread):
    """Commands on an executor, one after the other, until it is over."""

    def __init__(self, hub, name, number):
        super().__init__()
        self.hub, self.name_, self.number = hub, name, number
        self.process = None
        self.done = threading.Event()
        self.is_killed = False
        self.wrong, self.times = [], []
        self.whole = self.killed = self.refused = self.bytes = 0

    def once(self, words, data, right):
        self.is_killed = False
        began = time.monotonic()
        self.process = subprocess.Popen(
            [BUILD + "/execsrvctl", "run", "--patience", str(PATIENCE),
             "--url", "remote:%s@%s" % (self.name_, self.hub.url),
             "--token-file", self.hub.path("token-ci"), "--", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        out, err = self.process.communicate(data)
        status, self.process = self.process.returncode, None
        self.bytes += len(out)
        if self.is_killed:
            self.killed += 1
            if not right.startswith(out):
                self.wrong.append("killed: %d bytes are wrong" % len(out))
        elif status == NOT_BEGUN and not out:
            # Its first connection was lost: nobody may say that it ran.
            self.refused += 1
        elif out != right or status != 0:
            self.wrong.append("%s: %d of %d bytes, status %s: %r" % (
                self.name_, len(out), len(right), status, err[-500:]))
        else:
            self.whole += 1
            self.times.append(time.monotonic() - began)

    def run(self):
        numbers = expected()
        while not self.done.is_set() and not self.wrong:
            self.once(["sh", "-c", OUTPUT], b"", numbers)
            data = os.urandom(3 << 20)
            self.once(["sh", "-c", "cat; echo end"], data, data + b"end\n")


class Nemesis:
    """What happens to whom."""

    def __init__(self, hub, executors, runs):
        self.hub, self.executors, self.runs = hub, executors, runs
        self.count = collections.Counter()

    def worker(self):
        return children(self.hub.process.pid)

    def uplink(self):
        """Of one executor."""
        below = children(RNG.choice(self.executors).process.pid)
        return [p for p in below if self.is_named(p, "execsrv-uplink")]

    def harness(self):
        """One of them, or the process that it connects by."""
        p = RNG.choice(self.runs).process
        return [] if p is None else [RNG.choice([p.pid,
                                                 *descendants(p.pid)])]

    def reach(self):
        p = RNG.choice(self.runs).process
        return [] if p is None else [
            q for q in descendants(p.pid) if self.is_named(q, "execsrv-reach")]

    @staticmethod
    def is_named(pid, name):
        with contextlib.suppress(OSError):
            with open("/proc/%d/comm" % pid, encoding="ascii") as f:
                return f.read().strip() == name[:15]
        return False

    @staticmethod
    def kill(pids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @staticmethod
    def stop(pids):
        """Stop somebody for a while."""
        stopped = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        time.sleep(RNG.uniform(*STILL))
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill_worker(self):
        self.kill(self.worker())

    def stop_worker(self):
        self.stop(self.worker())

    def kill_hub(self):
        self.hub.process.kill()
        self.hub.process.wait()
        time.sleep(RNG.uniform(0, 2))
        self.hub.begin()

    def restart_hub(self):
        self.hub.stop()
        self.hub.begin()

    def kill_uplink(self):
        self.kill(self.uplink())

    def stop_uplink(self):
        self.stop(self.uplink())

    def kill_reach(self):
        self.kill(self.reach())

    def stop_harness(self):
        self.stop(self.harness())

    def kill_harness(self):
        run = RNG.choice(self.runs)
        p = run.process
        if p is not None:
            run.is_killed = True
            p.kill()

    def control(self, cmd):
        with contextlib.suppress(OSError, AssertionError, ValueError):
            self.hub.ctl(cmd, environment="build-%d" % RNG.randrange(
                EXECUTORS))

    def drain_environment(self):
        self.control("drain")

    def evict_environment(self):
        self.control("evict")

    EVENTS = ("kill_worker", "stop_worker", "kill_hub", "restart_hub",
              "kill_uplink", "stop_uplink", "kill_reach", "stop_harness",
              "kill_harness", "drain_environment", "evict_environment")

    def event(self):
        what = RNG.choice(self.EVENTS)
        self.count[what] += 1
        getattr(self, what)()
        wait_for(self.hub.is_ready, 2 * LIMIT, "the hub serves")


def all_of_it():
    """Events at random, then all that runs ends as it should."""
    say("SEED=%d SECONDS=%d" % (SEED, SECONDS))
    with contextlib.ExitStack() as stack:
        hub = stack.enter_context(lib.Hub("RequestRate 1000"))
        hub.put("token-ci", hub.token["ci"] + "\n")
        executors = [stack.enter_context(programs.Executor(
            hub, "build-%d" % n)) for n in range(EXECUTORS)]
        wait_for(lambda: hub.ctl("status")[1]["executors"] == EXECUTORS,
                 LIMIT, "all are attached")
        runs = [Run(hub, "build-%d" % (n % EXECUTORS), n)
                for n in range(EXECUTORS * RUNS)]
        for r in runs:
            r.start()
        nemesis = Nemesis(hub, executors, runs)
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end and not any(r.wrong for r in runs):
                time.sleep(RNG.uniform(*PAUSE))
                nemesis.event()
        finally:
            for r in runs:
                r.done.set()
            for r in runs:
                r.join()
        for r in runs:
            check(not r.wrong, r.wrong)
        blamed = BLAMED.findall(hub.log())
        check(not blamed, blamed)
        times = sorted(t for r in runs for t in r.times)
        say("%d events (%s); %d commands whole, %d killed, %d not begun, "
            "%.0f MB; p50 %.1f s, most %.1f s" % (
                sum(nemesis.count.values()), ", ".join(
                    "%s %d" % (k.replace("_", " "), v)
                    for k, v in sorted(nemesis.count.items())),
                sum(r.whole for r in runs), sum(r.killed for r in runs),
                sum(r.refused for r in runs),
                sum(r.bytes for r in runs) / 1e6, times[len(times) // 2],
                times[-1]))
        check(all(e.process.poll() is None for e in executors),
              "an executor ended")


if __name__ == "__main__":
    main(all_of_it)
