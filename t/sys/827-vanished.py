"""827: the rendezvous does not tell that a harness is gone.  The uplink answers
our pings in its place, so only its silence tells: another stream gets the
session, but not from a harness that speaks."""
import asyncio
import contextlib
import importlib
import time

lib = importlib.import_module("8common")
from client import RpcError, check, in_time, LIMIT, SCALE  # noqa: E402


async def vanished(rig):
    """Nobody is told; a command goes on and is caught up with."""
    await rig.start()
    s = await rig.session()
    await s.start("p", "sh", "-c", "echo one; sleep 0.5; echo two; sleep 60")
    s.forget()
    began = time.monotonic()
    again = await rig.session(resume=s.session)
    took = time.monotonic() - began
    in_time(took < 5 * SCALE, "%.1f s" % took)
    check(again.session == s.session, "another session")

    async def both():
        got = await again.call("process/read", {"processId": "p"})
        return len(got["chunks"]) >= 2
    deadline = time.monotonic() + LIMIT
    while not await both():
        check(time.monotonic() < deadline, "output is lost")
        await asyncio.sleep(0.05)


async def speaking(rig):
    """One that is there and says so keeps it, however often others ask."""
    await rig.start()
    s = await rig.session()
    deadline = time.monotonic() + 4
    refused = 0
    while time.monotonic() < deadline:
        # Nobody speaks while the machine stands still.
        in_time(not s.ended, "%s, %d times refused" % (s.ended, refused))
        with contextlib.suppress(lib.harness.Ended):
            await s.call("environment/info")
        other = rig.stream()
        await other.open()
        try:
            await other.initialize(s.session)
        except RpcError as e:
            check(e.code == -32010, "%s" % e)
            refused += 1
        other.leave()
        await asyncio.sleep(0.2)
    in_time(not s.ended and refused > 3, "%s, %d times refused" %
            (s.ended, refused))
    await rig.probe(s)


if __name__ == "__main__":
    lib.main(*map(lib.ours, (vanished, speaking)))
