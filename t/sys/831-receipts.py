"""831: session/received: what a client has is what it says that it has, and
until then all of it can be had again, whoever took it on the way."""
import asyncio
import base64
import importlib

import tokens

lib = importlib.import_module("8common")
from client import BUILD, LIMIT, check  # noqa: E402

WINDOW = 1 << 20
WINDOWED = ["OutputWindow=1M"]
SIZE = 6000000
Ended = lib.harness.Ended


def output(stream):
    """The bytes of the process so far."""
    return sum(len(base64.b64decode(m["params"]["chunk"]))
               for m in stream.notes if m["method"] == "process/output")


def pings(rig):
    return len(rig.link.pings)


async def settled(rig, stream):
    """What came when nothing comes any more: the executor has asked its
    rendezvous since, and has its answer."""
    while True:
        had, asked = stream.received, pings(rig)
        await asyncio.sleep(0.5)
        if (stream.received, pings(rig)) == (had, asked):
            return output(stream)


async def whole(stream):
    """All of the process, read from its beginning."""
    got, after = b"", 0
    while True:
        r = await stream.call("process/read", {
            "processId": "p", "afterSeq": after, "maxBytes": 1 << 20,
            "waitMs": 0})
        for chunk in r["chunks"]:
            # The exit has a number, too.
            after = chunk["seq"]
            got += base64.b64decode(chunk["chunk"])
        if not r["chunks"]:
            return got


async def held_back(rig):
    """Who says nothing is sent a window and no more, and hears the rest when
    he does."""
    await rig.start(options=WINDOWED)
    s = await rig.session()
    s.receipt(0)
    await s.start("p", "head", "-c", str(SIZE), "/dev/zero")
    had = await settled(rig, s)
    check(WINDOW / 2 <= had <= WINDOW + 300000, "%d bytes" % had)
    # Once more, since he has nothing new to say.
    s.receipt(0)
    check(await settled(rig, s) == had, "more of it")
    while output(s) < SIZE:
        before = output(s)
        s.receipt()
        await lib.until(lambda b=before: output(s) > b, what="more")
    await s.note("process/closed", "p")
    check(output(s) == SIZE, "%d bytes" % output(s))


async def kept(rig):
    """Nothing of it is forgotten because a rendezvous has read it."""
    await rig.start(options=["DetachedTtl=10m"])
    s = await rig.session()
    s.receipt()
    await s.start("p", "sh", "-c", "seq 1 300000; sleep 600")
    want = await lib.numbers(300000)
    check(len(want) > 1.5 * WINDOW, "too little of it")
    await lib.until(lambda: output(s) == len(want), what="the output")
    await settled(rig, s)
    rig.link.cut()
    await rig.linked(after=1)
    again = await rig.session(resume=s.session)
    check(await whole(again) == want, "other bytes")


async def announced(rig):
    """Who comes back and says that there will be receipts is sent no more than
    a window before the first one."""
    await rig.start(options=WINDOWED)
    s = await rig.session()
    await s.start("p", "sh", "-c", "read x; head -c %d /dev/zero" % SIZE,
                  pipeStdin=True)
    s.leave()

    def make():
        stream = rig.stream()
        stream.announces = {"execsrvReceipts": True}
        return stream
    s = await lib.harness.resumed(make, s.session)
    await s.call("process/write", {"processId": "p", "writeId": "w",
                                   "chunk": "eAo="})
    had = await settled(rig, s)
    check(WINDOW / 2 <= had <= WINDOW + 300000, "%d bytes" % had)


async def lies(rig):
    """More than was sent, or no number at all, ends the connection."""
    await rig.start()
    first = await rig.session()
    for number in (10 ** 6, 2 ** 64, -1, 1.5, "5", None, [], True):
        s = await rig.session(resume=None)
        s.send_message(lib.json.dumps({
            "method": "session/received",
            "params": {"bytes": number}}).encode())
        await lib.until(lambda s=s: s.ended, what="%r: the end" % number)
    for params in (None, [1], "x", {}):
        s = await rig.session()
        s.send_message(lib.json.dumps({
            "method": "session/received", "params": params}).encode())
        await lib.until(lambda s=s: s.ended, what="%r: the end" % params)
    # Too early.
    s = await rig.stream().open()
    s.receipt(0)
    await lib.until(lambda: s.ended, what="the end")
    await rig.probe(first)


async def small_window(rig):
    """A window below what a client says receipts of does not stand still."""
    await rig.start(options=["OutputWindow=1"])
    child = await asyncio.create_subprocess_exec(
        BUILD + "/execsrvctl", "run", "--url", "remote:%s@%s" %
        (rig.environment, rig.registry.url), "--token-file",
        tokens.secret(rig.registry.harness_token), "--", "seq", "200000",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(LIMIT):
        out, _ = await child.communicate()
    check(out == await lib.numbers(200000), "%d bytes" % len(out))


lib.main(*map(lib.ours, (held_back, kept, announced, lies, small_window)), at_once=2)
