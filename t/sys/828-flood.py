"""828: streams at full speed do not starve another one: how much of them comes
in front of its answers."""
import asyncio
import importlib
import statistics

lib = importlib.import_module("8common")
from client import check, say, LIMIT  # noqa: E402

FLOODS, ECHOES = 4, 25
PAUSE = 0.004               # of the rendezvous, behind each frame it reads
AHEAD = 1536 * 1024         # bytes in front of an answer, in half of all cases:
                            # without a limit 4 MiB, what workers do not await


class Slow:
    """In the place of an event that lets a link read on."""

    async def wait(self):
        await asyncio.sleep(PAUSE)


class Flood(lib.harness.Stream):
    """Its records are counted, not opened."""
    total = 0
    is_sunk = False

    def on_data(self, frame):
        if self.is_sunk:
            Flood.total += len(frame.payload)
        else:
            super().on_data(frame)


async def one_flood(rig):
    s = await rig.session(kind=Flood)
    await s.start("p", "sh", "-c", "exec cat /dev/zero")
    s.is_sunk = True


async def echo(s, number):
    """Bytes of others between a line and its echo."""
    s.notes.clear()
    before = Flood.total
    answer = s.ask("process/write", {"processId": "p", "chunk": "YQo=",
                                     "writeId": "%d" % number})
    await s.note("process/output", "p", 3 * LIMIT)
    ahead = Flood.total - before
    await answer
    return ahead


@lib.ours
async def a_slow_rendezvous(rig):
    """What it has not read yet nobody can overtake: that is little."""
    await rig.start()
    rig.link.reads = Slow()
    s = await rig.session()
    await s.start("p", "cat", pipeStdin=True)
    for _ in range(FLOODS):
        await one_flood(rig)
    began = Flood.total
    await lib.until(lambda: Flood.total > began + (8 << 20), 6 * LIMIT,
                    "the flood")
    began = Flood.total
    ahead = [await echo(s, n) for n in range(ECHOES)]
    say("KiB ahead: %s" % sorted(n // 1024 for n in ahead))
    check(statistics.median(ahead) <= AHEAD, "too much is ahead")
    # It goes on meanwhile and afterwards.
    await lib.until(lambda: Flood.total > began + (4 << 20), 6 * LIMIT,
                    "more of the flood")
    s.leave()


lib.main(a_slow_rendezvous)
