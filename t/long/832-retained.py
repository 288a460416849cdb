"""832 again and again: a harness that says nothing of receipts, and a rendezvous
that holds up to 64 MiB for it and forgets them at each cut.

CUTS=N is how many of each kind; SEED=N repeats a run; KIND... are the only
ones."""
import asyncio
import importlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
lib = importlib.import_module("8common")
cuts = importlib.import_module("8cuts")
from client import LIMIT, say  # noqa: E402

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
CUTS = int(os.environ.get("CUTS", 100))
KINDS = "stream", "executor", "uplink"
# Bytes to be held before a cut, if they come in time.
HELD = 0, 1 << 18, 1 << 20, 4 << 20, 16 << 20, 64 << 20
FILLS = 6


def cut(kind, rig, program, s):
    """Whether it was, which takes an uplink."""
    if kind == "stream":
        s.leave()
        return True
    if kind == "executor":
        rig.link.cut()
        return True
    return cuts.kill(program)


async def resume(rig, session, reader):
    s = await lib.harness.resumed(lambda: rig.stream(kind=cuts.Slow), session,
                                  3 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    return s


async def campaign(rig, kind):
    rng = random.Random(SEED)
    program = await rig.start(options=["DetachedTtl=10m"])
    s = await rig.session(kind=cuts.Slow)
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
        done += cut(kind, rig, program, s)
        s = await resume(rig, s.session, reader)
    say("%d times %s: %d bytes, at most %d held" % (
        done, kind, reader.bytes, most))


def case(kind):
    async def run(rig):
        await campaign(rig, kind)
    run.__name__ = kind
    return lib.ours(run)


say("SEED=%d" % SEED)
lib.main(*map(case, KINDS))
