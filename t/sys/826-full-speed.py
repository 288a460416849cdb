"""826: as 815, with output at full speed: what was sent and not read when a
connection is cut is not lost."""
import asyncio
import importlib

lib = importlib.import_module("8common")
drops = importlib.import_module("815-drops")
from client import say, LIMIT, SCALE  # noqa: E402


@lib.ours
async def at_full_speed(rig):
    """As much as a command can write, with cuts all the time."""
    say("SEED=%d" % drops.SEED)
    await rig.start(options=drops.KEPT)
    name, last = rig.environment, 2000000
    reader, session = await drops.begin(
        rig, name, "sh", "-c", "seq 1 %d; sleep 600" % last)
    cuts = asyncio.ensure_future(drops.serve(rig, name, 40, reader, session))
    for n in range(3):
        await asyncio.sleep(0.5 + drops.rng.random())
        (await rig.linked(after=n, seconds=2 * LIMIT)).cut()
    await cuts
    s = await lib.harness.resumed(rig.stream, session, 2 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    await lib.until(lambda: reader.line > last, 6 * LIMIT, "the last line")


@lib.ours
async def a_cut_of_a_full_pipe(rig):
    """The rendezvous does not read, and is cut then: what was under way is not
    lost either."""
    say("SEED=%d" % drops.SEED)
    await rig.start(options=drops.KEPT)
    name, last = rig.environment, 2000000
    reader, session = await drops.begin(
        rig, name, "sh", "-c", "seq 1 %d; sleep 600" % last)
    for n in range(2):
        s = await lib.harness.resumed(rig.stream, session, 2 * LIMIT)
        s.keeps_notes, s.on_note = False, reader.on_note
        await reader.catch_up(s)
        link = await rig.linked(after=n)
        link.reads.clear()
        await asyncio.sleep(1.5 * SCALE)
        link.cut()
        link.reads.set()
        await lib.until(lambda link=link: link.closed, what="the end")
    s = await lib.harness.resumed(rig.stream, session, 2 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    await lib.until(lambda: reader.line > last, 6 * LIMIT, "the last line")


lib.main(at_full_speed, a_cut_of_a_full_pipe)
