"""832 again and again: a harness that says nothing of receipts, and a rendezvous
that holds up to 64 MiB for it and forgets them at each cut. Of the kinds that cut
the harness's own side it is one behind execsrv-reach, and its websocket a real
one.

CUTS=N is how many of each kind; SEED=N repeats a run; KIND... are the only
ones."""
import asyncio
import contextlib
import importlib
import json
import os
import random
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
lib = importlib.import_module("8common")
cuts = importlib.import_module("8cuts")
from client import BUILD, LIMIT, check, say  # noqa: E402

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
CUTS = int(os.environ.get("CUTS", 100))
KINDS = "stream", "executor", "uplink", "harness", "reach"
# Bytes to be held before a cut, if they come in time.
HELD = 0, 1 << 18, 1 << 20, 4 << 20, 16 << 20, 64 << 20
FILLS = 6
SPEED = 100 << 20           # bytes a second to who takes them


class Reached(lib.harness.Stream):
    """One over execsrv-reach. What it does not take stays at the rendezvous."""

    def __init__(self, *how, **more):
        super().__init__(*how, **more)
        self.child = self.socket = self.task = None
        self.reads = asyncio.Event()
        self.reads.set()

    @property
    def takes(self):
        return self.reads.is_set()

    @takes.setter
    def takes(self, value):
        if value:
            self.reads.set()
        else:
            self.reads.clear()

    @property
    def bytes(self):
        """That the rendezvous holds."""
        return sum(owner.held for owner in self.registry.streams.values())

    async def open(self, seconds=LIMIT):
        self.opening = asyncio.get_running_loop().create_future()
        self.socket, its = socket.socketpair()
        with its:
            self.child = await asyncio.create_subprocess_exec(
                BUILD + "/execsrv-reach", stdin=its, stdout=its)
        self.socket.setblocking(False)
        self.task = asyncio.ensure_future(self.receive())
        self.write({"url": self.registry.url,
                    "environment": self.environment,
                    "token": self.registry.harness_token,
                    "connectMs": int(LIMIT * 1000),
                    "silenceMs": int(LIMIT * 1000)})
        async with asyncio.timeout(seconds):
            await self.opening
        return self

    def write(self, message):
        self.send_message(json.dumps(message).encode())

    def send_message(self, message):
        """A short one: there is room for it."""
        if self.ended:
            raise self.ended
        with contextlib.suppress(ConnectionError):      # it reads so, too
            sent = self.socket.send(message + b"\n")
            check(sent == len(message) + 1, "no room for a request")

    async def receive(self):
        loop, rest = asyncio.get_running_loop(), bytearray()
        with contextlib.suppress(ConnectionError):
            while data := await loop.sock_recv(self.socket, 1 << 18):
                *lines, more = data.split(b"\n")
                if lines:
                    lines[0] = bytes(rest) + lines[0]
                    rest.clear()
                rest += more
                for line in lines:
                    self.on_line(json.loads(line))
                await self.reads.wait()
        self.forget()

    def on_line(self, message):
        if "id" in message or "method" in message:
            self.on_message(message)
        elif "ready" in message:
            self.opening.set_result(self)
        else:
            self.end(lib.harness.Ended("offline", message))

    def leave(self):
        self.forget()

    def forget(self):
        """Its websocket ends with it."""
        self.end(lib.harness.Ended("left"))
        if self.socket:
            self.task.cancel()
            self.socket.close()
            self.socket = None


def kind_of(kind):
    return Reached if kind in ("harness", "reach") else cuts.Slow


async def cut(kind, rig, program, s):
    """Whether it was, which takes an uplink."""
    if kind == "uplink":
        return cuts.kill(program)
    if kind == "stream":
        s.leave()
    elif kind == "executor":
        rig.link.cut()
    elif kind == "harness":
        check(cuts.cut_harness(rig, program, None), "it has no websocket")
        s.leave()
    else:
        s.child.kill()
        await s.child.wait()
        s.leave()
    return True


async def resume(rig, kind, session, reader):
    s = await lib.harness.resumed(lambda: rig.stream(kind=kind_of(kind)),
                                  session, 3 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    return s


async def campaign(rig, kind):
    rng = random.Random(SEED)
    await rig.new_registry()
    cuts.hold(rig, SPEED)
    program = await rig.start(options=["DetachedTtl=10m"])
    s = await rig.session(kind=kind_of(kind))
    reader, done, most = cuts.Reader(cuts.Lines()), 0, 0
    s.keeps_notes, s.on_note = False, reader.on_note
    await s.start("p", "sh", "-c", cuts.WRITER)
    while done < CUTS:
        want, until = rng.choice(HELD), time.monotonic() + FILLS
        await asyncio.sleep(rng.random() * 0.2)
        s.takes = False
        while s.bytes < want and time.monotonic() < until:
            await asyncio.sleep(cuts.TURN)
        most = max(most, s.bytes)
        done += await cut(kind, rig, program, s)
        s = await resume(rig, kind, s.session, reader)
    s.leave()
    say("%d times %s: %d bytes, at most %d held" % (
        done, kind, reader.bytes, most))


def case(kind):
    async def run(rig):
        await campaign(rig, kind)
    run.__name__ = kind
    return lib.ours(run)


say("SEED=%d" % SEED)
lib.main(*map(case, KINDS))
