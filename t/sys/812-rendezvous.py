"""812: whatever the rendezvous does: what is sent, what pauses there are, what
ends the websocket and what does not."""
import asyncio
import importlib
import os
import struct
import time

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import check, in_time, say, SCALE  # noqa: E402

Fault = lib.Fault


def pauses(rig):
    """Seconds between one upgrade and the next."""
    at = [e.at for e in rig.registry.upgrades()]
    return [b - a for a, b in zip(at, at[1:])]


def fit(seconds, windows, slack=0.6):
    """Pauses are random between half a window and a whole one; what the
    machine takes comes on top."""
    for got, window in zip(seconds, windows):
        in_time(window / 2 - 0.02 <= got <= window + slack * SCALE,
                "pauses %s, windows %s" % (seconds, windows))
    check(len(seconds) >= len(windows), "%s" % seconds)


def refused(status):
    """Any 4xx: register at once, pause, connect to the new URL."""
    async def case(rig):
        await rig.start({"upgrade": [Fault(status, fields=[
            "X-Codex-Rendezvous-Rejection-Reason: pod_draining"])]})
        first, second = rig.registry.upgrades()
        before, again = rig.registry.seen("register")
        check(first.target != second.target, "the same URL")
        # At once; but we never ask more than once a second.
        in_time(lib.reference or again.at - before.at >= 0.98,
                "registered %.2f s later" % (again.at - before.at))
        in_time(again.at - first.at < 1 + 0.3 * SCALE,
                "registered after %.2f s" % (again.at - first.at))
        check(second.at - again.at > 0.45, "no pause")
        fit([second.at - again.at], [1])
        await rig.probe()
    case.__name__ = "refused_%d" % status
    return case


# What is no refusal: pause, then the same URL.
TROUBLE = {
    "500": Fault(500), "502": Fault(502), "503": Fault(503),
    "cut": Fault(cut=True), "nothing": Fault(raw=b""),
    "not_http": Fault(raw=b"SSH-2.0-x\r\n\r\n"),
    "200": Fault(200, {}),
    "bad_accept": Fault(raw=b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\n"
                        b"Connection: Upgrade\r\nSec-WebSocket-Accept: "
                        b"AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"),
    "long_head": Fault(raw=b"HTTP/1.1 101 X\r\n" + b"X: y\r\n" * 100000),
}


def trouble(name):
    async def case(rig):
        await rig.start({"upgrade": [TROUBLE[name]]})
        check(len(rig.registry.seen("register")) == 1, "registered again")
        first, second = rig.registry.upgrades()
        check(first.target == second.target, "another URL")
        fit(pauses(rig), [1])
        await rig.probe()
    case.__name__ = "trouble_" + name
    return case


async def elsewhere(rig):
    """A redirect of the upgrade is not followed."""
    await rig.new_registry()
    other = await rig.new_registry()
    await rig.start({"upgrade": [
        Fault(s, b"", ["Location: " + other.url.replace("http", "ws") + "/x"])
        for s in (302, 307)]})
    check(not other.requests, "it was followed")


async def growing_windows(rig):
    """1 s doubling, whether a connection is refused or dies at once."""
    await rig.start({"upgrade": [Fault(cut=True)]})
    for n in range(1, 4):
        rig.link.cut()
        await rig.linked(after=n, seconds=40)
    say("pauses " + " ".join("%.2f" % p for p in pauses(rig)))
    fit(pauses(rig), [1, 2, 4, 8])
    check(len({e.target for e in rig.registry.upgrades()}) == 1,
          "another URL")
    await rig.probe()


async def no_answer_to_the_upgrade(rig):
    """10 s for all of it."""
    await rig.new_registry()
    rig.registry.faults["upgrade"] = [Fault(hang=True)]
    rig.program()
    await rig.linked(seconds=40)
    first, second = rig.registry.upgrades()
    in_time(9.5 < first.ended - first.at < 10.5 + SCALE,
            "%.1f s" % (first.ended - first.at))
    check(first.target == second.target, "another URL")
    fit([second.at - first.ended], [1])


async def nobody_listens(rig):
    """The rendezvous is away for a while: the same URL, the same streams'
    sessions."""
    await rig.start()
    s = await rig.session()
    await s.start("p", "sleep", "600")
    await rig.registry.stop()
    await asyncio.sleep(2.5)
    await rig.registry.start()
    await rig.linked(after=1)
    check(len(rig.registry.seen("register")) == 1, "registered again")
    again = await rig.session(resume=s.session)
    got = await again.call("process/read", {
        "processId": "p", "afterSeq": None, "maxBytes": 1, "waitMs": 0})
    check(not got["exited"], "the process ended")


async def urls_that_cannot_be(rig):
    """No reason to end, nor to ask more often than once a second."""
    registries = []
    for url in ("", "http://127.0.0.1:1/", "nonsense", "ws://", "ws://[::1",
                "ws://127.0.0.1:99999/", "ftp://127.0.0.1/", "ws://\u2603:1/"):
        r = await rig.new_registry()
        r.patch = {"url": url}
        registries.append((url, r, rig.program(url=r.url)))
    await asyncio.sleep(5)
    for url, r, program in registries:
        check(program.status() is None, "%r: ended" % url)
        in_time(len(r.requests) <= 6, "%r: %d requests" %
                (url, len(r.requests)))


# --- messages ----------------------------------------------------------------

async def fragments(rig):
    """Messages in pieces of any size with pings between them."""
    await rig.start()
    link = rig.link

    def shape(data):
        size = max(1, len(data) // 7)
        pieces = [data[at:at + size] for at in range(0, len(data), size)]
        link.send(b"before", 9)
        for n, piece in enumerate(pieces):
            link.send(piece, 0 if n else 2, n == len(pieces) - 1)
            if n < len(pieces) - 1:
                link.send(b"between", 9)
                link.send(b"", 0, False)
        link.send(b"unasked", 10)
        return []

    rig.registry.shape = shape
    await rig.probe()
    rig.registry.shape = None
    await rig.probe()
    check(rig.link is link, "the websocket was lost")


async def pings(rig):
    """Each is answered with what was in it; of several that come at once not
    all need be."""
    await rig.start()
    link = rig.link
    for _ in range(2):
        for size in (0, 1, 10, 125):
            sent = os.urandom(size)
            link.send(sent, 9)
            await lib.until(lambda: link.pongs, what="a pong")
            check(link.pongs.pop() == sent, "another pong")
        for n in range(100):
            link.send(b"%d" % n, 9)
        await rig.probe()
        check(link.pongs, "no pong")
        numbers = [int(p) for p in link.pongs]
        check(numbers == sorted(set(numbers)), "%s" % numbers)
        link.pongs.clear()
    check(rig.link is link, "the websocket was lost")


async def big_messages(rig):
    """262144 bytes are taken, in one piece or many."""
    await rig.start()
    link = rig.link
    s = await rig.session()
    for _ in range(2):
        head = f.heartbeat(s.name)
        full = head + f.text(20, bytes(262144 - len(head) - 5))
        check(len(full) == 262144, "%d" % len(full))
        link.send(full)
        for at in range(0, 262144, 1024):
            link.send(full[at:at + 1024], 2 if at == 0 else 0,
                      at == 262144 - 1024)
        await rig.probe(s)
    check(rig.link is link, "the websocket was lost")


async def ends(rig, what, send):
    """Something that ends the websocket; it comes back, with the same URL."""
    await rig.start()
    s = await rig.session()
    await s.start("p", "sleep", "600")
    link = rig.link
    send(link, s)
    await lib.until(lambda: link.closed, what="%s: the end" % what)
    again = await rig.linked(after=1)
    check(len(rig.registry.seen("register")) == 1, "registered again")
    fit([again.opened - link.closed], [1])
    check(s.ended.how == "lost", "%s" % s.ended)
    s = await rig.session(resume=s.session)
    got = await s.call("process/read", {
        "processId": "p", "afterSeq": None, "maxBytes": 1, "waitMs": 0})
    check(not got["exited"], "the process ended")


def in_pieces(size):
    def send(link, s):
        for at in range(0, size, 1024):
            link.send(bytes(1024), 0 if at else 2, False)
    return send


def raw(data):
    return lambda link, s: link.writer.write(data)


END = {
    "262145_bytes": lambda link, s: link.send(
        f.heartbeat(s.name) + f.text(20, bytes(262145))[:262145 -
                                                      len(f.heartbeat(s.name))
                                                      ]),
    "announced_2_gib": raw(b"\x82\x7f" + struct.pack(">Q", 1 << 31) +
                           bytes(1 << 20)),
    "announced_5_gib": raw(b"\x82\x7f" + struct.pack(">Q", 5 << 30) +
                           bytes(1 << 20)),
    "announced_all": raw(b"\x82\x7f" + b"\xff" * 8),
    "264192_in_pieces": in_pieces(264192),
    "close": lambda link, s: link.close(1001),
    "close_empty": lambda link, s: link.send(b"", 8),
    "cut": lambda link, s: link.cut(),
    "end": lambda link, s: link.writer.close(),
    "reserved_bit": raw(b"\xc2\0"),
    "opcode_3": raw(b"\x83\0"),
    "opcode_11": raw(b"\x8b\0"),
    "long_ping": raw(b"\x89\x7e\0\x7e" + bytes(126)),
    "ping_in_pieces": raw(b"\x09\0"),
    "continues_nothing": raw(b"\x80\x01x"),
    "new_within": raw(b"\x02\x01x\x82\x01x"),
}


def end(name):
    async def case(rig):
        await ends(rig, name, END[name])
    case.__name__ = "end_" + name
    return case


# --- keepalive ---------------------------------------------------------------

async def heartbeat(rig):
    """An idle executor pings after 30 s, with nothing in it."""
    await rig.start()
    link = rig.link
    await lib.until(lambda: link.pings, 40, "a ping")
    at, payload = link.pings[0]
    in_time(29 < at - link.opened < 32 + SCALE, "%.1f s" % (at - link.opened))
    check(payload == b"", "%r" % payload)
    await rig.probe()


@lib.slow
async def no_pong(rig):
    """60 s after a ping that nobody answers it connects again, and does not
    ping twice meanwhile."""
    await rig.start()
    link = rig.link
    link.answers_pings = False
    await lib.until(lambda: link.pings, 40, "a ping")
    s = await rig.session()
    await lib.until(lambda: link.closed, 75, "the end")
    took = link.closed - link.pings[0][0]
    in_time(59 < took < 62 + SCALE, "%.1f s" % took)
    check(len(link.pings) == 1, "%d pings" % len(link.pings))
    await rig.linked(after=1)
    await rig.session(resume=s.session)


@lib.slow
async def a_long_connection(rig):
    """After 120 s the windows begin anew."""
    await rig.start({"upgrade": [Fault(cut=True), Fault(cut=True)]})
    await asyncio.sleep(121)
    rig.link.cut()
    closed = time.monotonic()
    await rig.linked(after=1)
    fit([rig.link.opened - closed], [1])


lib.main(heartbeat, no_answer_to_the_upgrade, growing_windows, no_pong,
         a_long_connection, nobody_listens, urls_that_cannot_be,
         *(refused(s) for s in (400, 401, 403, 404, 408, 409, 410, 429)),
         *(trouble(n) for n in TROUBLE), elsewhere, fragments, pings,
         big_messages, *(end(n) for n in END), at_once=8)
