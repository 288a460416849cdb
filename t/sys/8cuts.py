"""Output at full speed through a rendezvous that holds back much of it and
forgets it when something is cut, to a harness that says nothing of receipts
or to execsrvctl: what tests of cuts share.

Kinds of cuts: the stream, the executor's websocket, the harness's websocket,
the uplink's process, execsrv-reach."""
import asyncio
import base64
import collections
import contextlib
import importlib
import os
import random
import signal

import tokens

lib = importlib.import_module("8common")
frames = importlib.import_module("8frames")
registry = importlib.import_module("8registry")
from client import (BUILD, LIMIT, check, descendants, is_alive,  # noqa: E402
                    say)

HELD = 64 << 20             # bytes that the rendezvous reads ahead
TURN = 0.01                 # seconds
WIDTH = 8                   # bytes of a line
BLOCK = 4096                # lines that are looked at together
LINES = 9999999
# Lines of that width, for ever.
WRITER = "while :; do seq -w 1 %d; done" % LINES


class Holding(registry.Link):
    """What an executor sends a harness stays here for a while."""

    def __init__(self, *how):
        super().__init__(*how)
        self.queue, self.held = collections.deque(), 0
        self.pump = None

    def send(self, payload, op=2, fin=True):
        if self.role != "harness" or op != 2:
            super().send(payload, op, fin)
            return
        self.queue.append(payload)
        self.held += len(payload)
        self.registry.most = max(self.registry.most, self.held)
        if self.held > HELD and self.link:
            self.link.reads.clear()
        if self.pump is None:
            self.pump = asyncio.ensure_future(self.pass_on())

    async def pass_on(self):
        with contextlib.suppress(OSError):
            while self.queue:
                left = self.registry.speed * TURN
                while self.queue and left > 0:
                    payload = self.queue.popleft()
                    self.held -= len(payload)
                    left -= len(payload)
                    super().send(payload)
                if self.held <= HELD and self.link:
                    self.link.reads.set()
                await self.writer.drain()
                await asyncio.sleep(TURN)
        self.pump = None

    def forget(self):
        self.queue.clear()
        self.held = 0
        if self.link:
            self.link.reads.set()

    def cut(self):
        self.forget()
        super().cut()

    def on_lost(self):
        self.forget()
        super().on_lost()

    async def serve(self):
        try:
            await super().serve()
        finally:
            self.forget()


class Slow(lib.harness.Stream):
    """A harness's stream; its frames stay at the rendezvous until it takes
    them."""

    def __init__(self, *how, **more):
        super().__init__(*how, **more)
        self.held, self.bytes = collections.deque(), 0
        self.takes = True

    def on_frame(self, frame):
        if self.takes or frame.kind != "data":
            super().on_frame(frame)
            return
        self.held.append(frame)
        self.bytes += len(frame.payload)


class Reader:
    """The output so far, in order, whichever way it came, to sink.update()."""

    def __init__(self, sink):
        self.next, self.early, self.is_live = 1, {}, False
        self.bytes, self.sink = 0, sink

    def add(self, seq, chunk):
        if seq < self.next or seq in self.early:
            return
        self.early[seq] = chunk
        while self.next in self.early:
            data = base64.b64decode(self.early.pop(self.next))
            self.next += 1
            self.bytes += len(data)
            self.sink.update(data)

    def on_note(self, m):
        if m["method"] == "process/output":
            self.is_live = True
            self.add(m["params"]["seq"], m["params"]["chunk"])

    async def catch_up(self, s):
        """Until there is nothing, or it has all before what is sent to it."""
        self.is_live = False
        while True:
            after = self.next - 1
            r = await s.call("process/read", {
                "processId": "p", "afterSeq": after, "maxBytes": 1 << 20,
                "waitMs": 0})
            check(not r["chunks"] or r["chunks"][0]["seq"] <= self.next,
                  "a gap: %d after %d" % (r["chunks"][0]["seq"], after)
                  if r["chunks"] else "")
            for chunk in r["chunks"]:
                self.add(chunk["seq"], chunk["chunk"])
            if not r["chunks"] or (self.is_live and not self.early):
                return


def hold(rig, speed):
    """The rendezvous holds back what comes faster than so many bytes a
    second."""
    rig.registry.link_class = Holding
    rig.registry.speed, rig.registry.most = speed, 0


class Lines:
    """What came, and whether it is what it should be."""

    def __init__(self):
        self.next, self.rest, self.bytes = 1, b"", 0

    def update(self, data):
        self.rest += data
        self.bytes += len(data)
        while len(self.rest) >= WIDTH:
            n = min(BLOCK, len(self.rest) // WIDTH, LINES + 1 - self.next)
            want = b"".join(b"%07d\n" % i for i in
                            range(self.next, self.next + n))
            got = self.rest[:len(want)]
            if got != want:
                at = next(i for i in range(0, len(want), WIDTH)
                          if got[i:i + WIDTH] != want[i:i + WIDTH])
                raise AssertionError("line %r, not %r" % (
                    got[at:at + WIDTH], want[at:at + WIDTH]))
            self.next = (self.next + n - 1) % LINES + 1
            self.rest = self.rest[len(want):]


async def begin(rig, *more):
    return await asyncio.create_subprocess_exec(
        BUILD + "/execsrvctl", "run", "--url", "remote:%s@%s" %
        (rig.environment, rig.registry.url), "--token-file",
        tokens.secret(rig.registry.harness_token), *more, "--", "sh", "-c",
        WRITER, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=1 << 20)


def of_harness(rig):
    """Its websocket and the name of its stream; None: none is open."""
    for name, owner in rig.registry.streams.items():
        if isinstance(owner, registry.Link) and not owner.closed:
            return name, owner
    return None


def cut_stream(rig, program, child):
    found = of_harness(rig)
    if not found:
        return False
    name, link = found
    rig.deliver(frames.reset(name, b"harness_disconnected"))
    link.forget()
    registry.Link.send(link, frames.reset(name, b"relay_reset"))
    return True


def cut_executor(rig, program, child):
    link, found = rig.link, of_harness(rig)
    if not link or not found:
        return False
    found[1].forget()
    link.cut()
    return True


def cut_harness(rig, program, child):
    found = of_harness(rig)
    if found:
        found[1].cut()
    return bool(found)


def kill(program):
    """Its uplink, if there is one."""
    pids = program.uplink_pids()
    if pids:
        os.kill(pids[0], signal.SIGKILL)
    return bool(pids)


def kill_uplink(rig, program, child):
    found = of_harness(rig)
    if not found or not kill(program):
        return False
    found[1].forget()
    return True


def kill_reach(rig, program, child):
    for pid in descendants(child.pid):
        with contextlib.suppress(OSError):
            with open("/proc/%d/comm" % pid, encoding="ascii") as f:
                if f.read().strip() == "execsrv-reach" and is_alive(pid):
                    os.kill(pid, signal.SIGKILL)
                    return True
    return False


KINDS = {"stream": cut_stream, "executor": cut_executor,
         "harness": cut_harness, "uplink": kill_uplink, "reach": kill_reach}


async def campaign(rig, kind, times, rng=random, speed=20 << 20):
    """Cut that often, each time when output has come meanwhile."""
    await rig.new_registry()
    hold(rig, speed)
    program = rig.program(options=["DetachedTtl=10m"])
    await rig.linked(program=program)
    # An executor pauses for up to half a minute, a client gives up before.
    child = await begin(rig, "--patience", "120")
    lines, done = Lines(), 0

    async def cutter():
        nonlocal done
        while done < times:
            had = lines.bytes
            await lib.until(lambda: lines.bytes > had or
                            child.returncode is not None, 3 * LIMIT,
                            "output behind cut %d" % done)
            await asyncio.sleep(rng.random() * 0.3)
            done += KINDS[kind](rig, program, child)

    cuts = asyncio.ensure_future(cutter())
    try:
        while not cuts.done():
            async with asyncio.timeout(4 * LIMIT):
                data = await child.stdout.read(1 << 18)
            if not data:
                break
            lines.update(data)
        if not cuts.done():
            raise AssertionError("after %d cuts: %r" % (
                done, (await child.stderr.read()).decode()))
        cuts.result()
        # Behind the last cut it goes on.
        had = lines.bytes
        while lines.bytes < had + (1 << 20):
            async with asyncio.timeout(4 * LIMIT):
                data = await child.stdout.read(1 << 18)
            check(data, "it ended")
            lines.update(data)
    finally:
        cuts.cancel()
        if child.returncode is None:
            child.kill()
        await child.communicate()
    say("%d times %s: %d bytes, at most %d held" % (
        done, kind, lines.bytes, rig.registry.most))
