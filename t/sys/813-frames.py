"""813: whatever frames come, they are dropped or one stream ends, and no other
notices."""
import asyncio
import importlib
import struct

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import check, say  # noqa: E402

INFO = b'{"id":%d,"method":"environment/info","params":{}}'
NOWHERE = b"no such stream"


def message(text):
    """As it is within records."""
    return struct.pack(">I", len(text)) + text


async def settled(rig):
    """All that was sent is handled: an executor resets a stream that it does
    not know, in its turn. What else came for nobody."""
    strays = rig.registry.strays
    rig.deliver(f.data(NOWHERE, 0, b"x"))
    mine = await lib.until(lambda: [s for s in strays if s.stream == NOWHERE],
                           what="the reset of an unknown stream")
    check([s.kind for s in mine] == ["reset"], "%s" % mine)
    out = [s for s in strays if s.stream != NOWHERE]
    strays.clear()
    return out


async def bystander(rig):
    """A stream with a command that must not notice anything."""
    s = await rig.session()
    await s.start("cat", "cat", pipeStdin=True)
    return s


async def undisturbed(rig, s):
    s.notes.clear()
    await s.call("process/write", {"processId": "cat", "chunk": "dGhlcmU=",
                                   "writeId": "w%d" % next(s.ids)})
    await s.note("process/output", "cat")
    check(len(rig.registry.environment(rig.environment).links) == 1,
          "the websocket was lost")


async def dropped(rig):
    """What is no frame gets no answer and does nothing."""
    await rig.start()
    s = await rig.session()

    def data(index=0, count=1, **more):
        """It would end the stream if it were taken: its seal is bad."""
        return f.data(s.name, s.sent, bytes(64), index, count, **more)
    whole = data()
    bad = [b"", b"\xff\xff\xff", b"\0", bytes(100), b"text"]
    bad += [whole[:n] for n in range(len(whole))]
    bad += [data(version=0), data(version=2), data(version=(1 << 32) - 1),
            data(index=1), data(count=0), data(count=2),
            f.data(s.name, s.sent, b""), f.handshake(s.name, b""),
            f.reset(s.name, b""), f.frame(s.name),
            f.data(b"", 2, b"x" * 20), f.data(b" \t\n ", 2, b"x" * 20),
            f.handshake(b" ", b"x" * 4000), f.reset(b" "),
            f.data(b"\xff\xfe", 0, b"x"),
            f.ack(s.name), f.ack(s.name, ack=7, bits=(1 << 32) - 1),
            f.heartbeat(s.name), f.heartbeat(b"nobody"),
            f.resume(s.name, 77), f.resume(b"nobody"),
            f.heartbeat(s.name) + f.text(20, b"unknown") + f.uint(21, 5),
            # Of several bodies the last one counts.
            f.reset(s.name) + f.text(9, b"")]
    for frame in bad:
        rig.deliver(frame)
        got = await settled(rig)
        check(not got and s.ended is None and not s.frames["reset"],
              "%r: %s, %s" % (frame[:60], got, s.ended))
    rig.link.send(b"text", 1)
    rig.link.send(b"", 1)
    await rig.probe(s)


async def odd_but_right(rig):
    """Fields in another order, unknown ones, those of a trace, several
    bodies: the frame is taken."""
    await rig.start()
    s = await rig.session()
    name = f.text(2, s.name)
    trace = f.text(11, b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01")
    version = f.uint(1, 1)
    unknown = f.text(99, b"x" * 999) + f.uint(100, 1 << 40) + \
        f.varint(101 << 3 | 5) + b"four" + f.varint(102 << 3 | 1) + b"thateigh"
    builds = [
        lambda b, d: version + name + b + trace + f.text(12, b"a=b"),
        lambda b, d: trace + b + name + version,
        lambda b, d: version + name + f.text(9, b"") + b,
        lambda b, d: unknown + version + name + b + unknown,
        lambda b, d: version + name + f.text(5, f.uint(77, 9) + d),
        lambda b, d: f.uint(1, 2) + version + name + b,
        lambda b, d: b"\x88\x80\x00\x01" + name + b,
        lambda b, d: version + name + f.uint(3, 7) + f.uint(4, 1 << 31) + b]
    for n, build in enumerate(builds):
        whole = dict(f.fields(s.seal(message(INFO % (9000 + n)))))[5]
        rig.deliver(build(f.text(5, whole), whole))
        await lib.until(lambda n=n: len(s.orphans) == n + 1 or s.ended,
                        what="an answer to frame %d" % n)
        check(s.ended is None, "frame %d: %s" % (n, s.ended))


async def odd_names(rig):
    """Stream ids are any text."""
    await rig.start()
    for name in (b"x", b"x" * 128, b"x" * 200, "\u00fcber \u2603".encode(),
                 b" with blanks ", b"%s%n\\\"'"):
        s = await rig.session(name=name)
        await rig.probe(s)
        s.leave()


def waiting(size):
    """That many bytes behind a gap, in records of the biggest size."""
    def send(s, other):
        at = s.sent + 1
        while left := size - 61456 * (at - s.sent - 1):
            if left < 0:
                return
            s.send(f.data(s.name, at, bytes(min(left, 61456))))
            at += 1
    return send


def exchanged(s, other):
    """Two records, each with the number of the other."""
    first, second = (s.seal_record(message(INFO % n)) for n in (1, 2))
    s.send(f.data(s.name, first[0], second[1]))
    s.send(f.data(s.name, second[0], first[1]))


def raw(payload, ahead=0):
    return lambda s, other: s.send(f.data(s.name, s.sent + ahead, payload))


def sealed(plain):
    return lambda s, other: s.send(s.seal(plain))


ERRORS = {
    "a bad seal": raw(bytes(64)),
    "15 bytes": raw(bytes(15)),
    "65536 bytes": raw(bytes(65536)),
    "65 ahead": raw(bytes(64), 65),
    "the last number": lambda s, other: s.send(
        f.data(s.name, (1 << 32) - 1, bytes(64))),
    "1 MiB + 1 waiting": waiting((1 << 20) + 1),
    "a long record": sealed(b"\0\1\0\0" + bytes(61437)),
    "length 0": sealed(bytes(4)),
    "64 MiB + 1": sealed(b"\4\0\0\1"),
    "4 GiB": sealed(b"\xff" * 4),
    "not UTF-8": sealed(message(b'{"id":"\xff"}')),
    "no JSON": sealed(message(b"{a}")),
    "a list": sealed(message(b"[]")),
    "a number": sealed(message(b"1")),
    "no JSON-RPC": sealed(message(b"{}")),
    "another's key": lambda s, other: s.send(
        f.data(s.name, s.sent, other.seal_record(message(INFO % 1))[1])),
    "exchanged numbers": exchanged,
    "a message 1": raw(bytes(3600)),
}


async def resets_alone(rig):
    """Each error of a stream ends that stream with a reset, and its session
    can be resumed."""
    await rig.start()
    side, other = await bystander(rig), await rig.session()
    for what, send in ERRORS.items():
        s = await rig.session()
        await s.start("p", "sleep", "600")
        send(s, other)
        await lib.until(lambda s=s: s.ended, what="%s: a reset" % what)
        check(s.ended.how == "reset", "%s: %s" % (what, s.ended))
        again = await rig.session(resume=s.session)
        got = await again.call("process/read", {
            "processId": "p", "afterSeq": None, "maxBytes": 1, "waitMs": 0})
        check(not got["exited"], what)
        await undisturbed(rig, side)
        again.leave()
    check(not await settled(rig), "more came")


@lib.ours
async def stopped(rig):
    """A stream that the rendezvous has no room for waits, and no other."""
    await rig.start()
    s, other = await rig.session(), await rig.session()
    for name in (b"nobody", s.name):
        rig.deliver(f.flow(name, True))
    before = s.frames["data"]
    running = asyncio.create_task(s.run("seq", "1", "300000"))
    await rig.probe(other)
    check(not await settled(rig) and s.frames["data"] == before,
          "it was not stopped")
    for is_stopped in (True, False, False):
        rig.deliver(f.flow(s.name, is_stopped))
    got = await running
    check(got == (await lib.numbers(300000), 0), "%d bytes" % len(got[0]))
    # One that ends while it is stopped.
    rig.deliver(f.flow(s.name, True))
    rig.deliver(f.reset(s.name))
    await rig.probe()


async def twice_and_backwards(rig):
    """Frames come 64 too early, and each of them twice."""
    await rig.start()
    s = await rig.session()
    for turn in range(3):
        group = [s.seal(message(INFO % (9000 + 65 * turn + n)))
                 for n in range(65)]
        for frame in reversed(group):
            s.send(frame)
            s.send(frame)
        await lib.until(lambda turn=turn: s.ended or
                        len(s.orphans) == 65 * (turn + 1), what="answers")
    check(sorted(m["id"] for m in s.orphans) ==
          list(range(9000, 9195)), "each once")
    await rig.probe(s)


async def as_much_as_may_wait(rig):
    """1 MiB behind a gap is not too much."""
    await rig.start()
    s = await rig.session()
    call = b'{"id":1,"method":"environment/info","params":{"x":"%s"}}'
    # The first record holds a call, the others begin and end a long one.
    size = (1 << 20) - 18 * 16
    long = message(call % (b"x" * (size - 4 - len(call) + 2)))
    check(len(long) == size, "%d" % len(long))
    first = s.seal(message(INFO % 9000))
    for at in range(0, size, 61440):
        s.send(s.seal(long[at:at + 61440]))
    s.send(first)
    await lib.until(lambda: len(s.orphans) == 2 or s.ended, what="answers")
    check(s.ended is None, "%s" % s.ended)


# --- each bit ----------------------------------------------------------------


async def each_bit(rig, make):
    """Flip each bit of a frame once, each on a stream of its own."""
    program = await rig.start()
    side = await bystander(rig)
    todo = range(8 * len(make(await rig.stream().open())))
    for at in range(0, len(todo), 24):
        bits = todo[at:at + 24]
        streams = [rig.stream() for _ in bits]
        for s in streams:
            s.begin()
        for s, bit in zip(streams, bits):
            await s.opening
            frame = bytearray(make(s))
            frame[bit >> 3] ^= 1 << (bit & 7)
            s.send(bytes(frame))
        await settled(rig)
        check(program.status() is None, "the program ended")
        check(all(s.ended is None or s.ended.how == "reset"
                  for s in streams), "a stream was lost")
        for s in streams:
            s.leave()
        await undisturbed(rig, side)
    say("%d bits of a frame" % len(todo))
    await rig.probe()


async def bits_of_a_record(rig):
    await each_bit(rig, lambda s: s.seal(message(
        b'{"id":1,"method":"initialize","params":{"clientName":"t"}}')))


async def bits_of_a_reset(rig):
    await each_bit(rig, lambda s: f.reset(s.name))


@lib.own_registry
async def bits_of_a_resume(rig):
    await each_bit(rig, lambda s: f.resume(s.name, 1))


lib.main(dropped, odd_but_right, odd_names, resets_alone, stopped,
         twice_and_backwards,
         as_much_as_may_wait, bits_of_a_record, bits_of_a_reset,
         bits_of_a_resume, at_once=2)
