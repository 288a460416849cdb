"""832: a harness that says nothing of receipts, as the stock one, at a
rendezvous that holds 64 MiB for it and forgets them: they can be read."""
import asyncio
import base64
import hashlib
import importlib
import os

lib = importlib.import_module("8common")
cuts = importlib.import_module("8cuts")
from client import check, descendants, say, LIMIT  # noqa: E402

HELD = 64 << 20
LAST = 12000000


def spools(program):
    """Files without a name that its workers have open: their bytes."""
    total = 0
    for pid in descendants(program.pid):
        try:
            for fd in os.listdir("/proc/%d/fd" % pid):
                path = "/proc/%d/fd/%s" % (pid, fd)
                name = os.readlink(path)
                if name.startswith(("/var/tmp/", "/tmp/")) and \
                        name.endswith(" (deleted)"):
                    total += os.stat(path).st_blocks * 512
        except OSError:
            continue
    return total


async def begin(rig):
    s = await rig.session(kind=cuts.Slow)
    reader = cuts.Reader(hashlib.sha256())
    s.keeps_notes, s.on_note = False, reader.on_note
    await s.start("p", "sh", "-c", "seq 1 %d; sleep 600" % LAST)
    return s, reader


async def forgotten(rig):
    """Cut with all of it on the way; and once more while it is read."""
    program = await rig.start(options=["DetachedTtl=10m"])
    s, reader = await begin(rig)
    await lib.until(lambda: reader.bytes > 1 << 20, what="output")
    s.takes = False
    await lib.until(lambda: s.bytes > HELD, 3 * LIMIT, "64 MiB held")
    if os.getuid() == 0:
        check(spools(program) > HELD / 4, "%d bytes on disk" %
              spools(program))
    rig.link.cut()
    await rig.linked(after=1)
    s = await lib.harness.resumed(lambda: rig.stream(kind=cuts.Slow), s.session,
                                  LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    before = reader.bytes
    s.takes = False
    asking = asyncio.ensure_future(reader.catch_up(s))
    await asyncio.sleep(0.2)
    rig.link.cut()
    asking.cancel()
    await rig.linked(after=2)
    s = await lib.harness.resumed(lambda: rig.stream(kind=cuts.Slow), s.session,
                                  LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    check(reader.bytes > before + HELD / 2, "only %d bytes" % reader.bytes)
    want = await lib.numbers(LAST)
    await lib.until(lambda: reader.bytes >= len(want), 3 * LIMIT,
                    "the last line")
    check(reader.sink.digest() == hashlib.sha256(want).digest(),
          "other bytes")
    say("%d bytes" % reader.bytes)
    # What it has read it will not ask for again.
    await reader.catch_up(s)
    # But for RemoteRetain, wherever it is.
    await lib.until(lambda: os.getuid() != 0 or spools(program) < 18 << 20,
                    what="the disk is given back")


async def closed(rig):
    """A process that has ended stays as long as its session while its harness
    is away: what the rendezvous had of it may be all that there is."""
    # A receipt for every byte.
    await rig.start(options=["DetachedTtl=10m", "ClosedProcessTtl=5s",
                             "OutputWindow=8"])
    s = await rig.session(kind=cuts.Slow)
    await s.start("p", "sh", "-c", "sleep 0.3; seq 1 100000")
    s.takes = False
    want = await lib.numbers(100000)
    await lib.until(lambda: s.bytes > len(want) * 4 // 3, what="all of it")
    rig.link.cut()
    await rig.linked(after=1)
    # Twice as long as it stays for who is there.
    await asyncio.sleep(10)
    s = await rig.session(resume=s.session)
    r = await s.call("process/read", {
        "processId": "p", "afterSeq": 0, "waitMs": 0})
    got = b"".join(base64.b64decode(c["chunk"]) for c in r["chunks"])
    check(got == want, "%d bytes" % len(got))


async def without(rig):
    """RemoteRetain=0: as much as every process keeps, and no file."""
    program = await rig.start(options=["RemoteRetain=0", "DetachedTtl=10m"])
    s, reader = await begin(rig)
    await lib.until(lambda: reader.bytes > 1 << 20, what="output")
    s.takes = False
    await lib.until(lambda: s.bytes > HELD / 4, 3 * LIMIT, "16 MiB held")
    check(spools(program) == 0, "a file")


lib.main(*map(lib.ours, (forgotten, closed, without)))
