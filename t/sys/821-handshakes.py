"""821: only a harness that the registry knows gets a stream, whoever plays with
the frames of a handshake and whatever the registry answers."""
import asyncio
import importlib
import time

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import check  # noqa: E402

how, Fault = lib.harness.how, lib.Fault
REJECTION = b"codex-registry-authentication-rejected/v1"


def asked(rig):
    return len(rig.registry.seen("validate"))


def changed(at, by=lambda old: bytes([old[0] ^ 1])):
    """Message 1 with something else at some place."""
    def change(m):
        new = by(m[at:])
        return m[:at] + new + m[at + len(new):]
    return change


# Parts of message 1: ML-KEM ciphertext, X25519 and ML-KEM key of the handshake,
# the harness's own ones sealed, the authorization.
DAMAGED = {
    "the first byte": changed(0),
    "the ciphertext's end": changed(1087),
    "the X25519 key": changed(1088),
    "its last bit": changed(1119, lambda old: bytes([old[0] ^ 128])),
    "the ML-KEM key": changed(1120),
    "its end": changed(2303),
    "the sealed X25519 key": changed(2304),
    "its tag": changed(2351),
    "the sealed ML-KEM key": changed(2352),
    "the payload": changed(3552),
    "the last byte": lambda m: m[:-1] + bytes([m[-1] ^ 1]),
    "the zero point": changed(1088, lambda old: bytes(32)),
    "the point 1": changed(1088, lambda old: b"\1" + bytes(31)),
    "a point of order 8": changed(1088, lambda old: bytes.fromhex(
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")),
    "2^255 - 19": changed(1088, lambda old: b"\xed" + b"\xff" * 30 + b"\x7f"),
    "coefficients not reduced": changed(1120, lambda old: b"\xff" * 1152),
    "a ciphertext of zeros": changed(0, lambda old: bytes(1088)),
    "one byte": lambda m: m[:1],
    "no payload": lambda m: m[:3552],
    "one byte less": lambda m: m[:-1],
    "one byte more": lambda m: m + b"\0",
    "twice": lambda m: m + m,
    "65535 bytes": lambda m: m + bytes(65535 - len(m)),
    "65536 bytes": lambda m: m + bytes(65536 - len(m)),
    "200000 bytes": lambda m: m + bytes(200000 - len(m)),
}


def some_damaged(first, last):
    """Up to seven: after eight there is a pause."""
    async def case(rig):
        await rig.start()
        side = await rig.session()
        for what, change in list(DAMAGED.items())[first:last]:
            s = rig.stream()
            got = await how(s, frame=lambda m, s=s, c=change:
                            f.handshake(s.name, c(m)))
            check(got == "reset", "%s: %s" % (what, got))
        check(asked(rig) == 1, "asked about a damaged one")
        await rig.probe(side)
        await rig.probe()
    case.__name__ = "damaged_%d" % first
    return case


async def wrong_names(rig):
    """The environment, the registration and the stream are part of it."""
    await rig.start()
    old = rig.stream()          # of this registration
    for member, value in (("environment", "env-other"),
                          ("name", b"another-stream")):
        s, right = rig.stream(), rig.stream()
        setattr(s, member, value)
        got = await how(right, frame=lambda _, s=s, right=right:
                        f.handshake(right.name, s.request()))
        check(got == "reset", "%s: %s" % (member, got))
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=1)
    check(await how(old) == "reset", "the registration before")
    check(asked(rig) == 0, "asked about a wrong one")
    await rig.probe()


# What is no permission.
REFUSALS = [
    {"valid": False}, {"valid": "true"}, {"valid": 1}, {"valid": None}, {},
    {"Valid": True}, b"", b"true", b"{", b'{"valid":true', b"null",
    b"\xff\xfe", b'{"valid":false,"valid":false}']
STATUSES = [302, 400, 403, 404, 408, 409, 429, 500, 503]


def refused(what, faults):
    async def case(rig):
        await rig.start()
        side = await rig.session()
        for fault in faults:
            rig.registry.faults["validate"] = [fault]
            got = await how(rig.stream())
            check(got == "reset", "%s %.60s: %s" %
                  (fault.status, fault.body or fault.raw, got))
        check(asked(rig) == 1 + len(faults), "one question each")
        await rig.probe(side)
        await rig.probe()
    case.__name__ = "refused_%s" % what
    return case


def yes(status):
    return Fault(status, {"valid": True}, ["Location: /elsewhere"]
                 if status == 302 else [])


HUGE = b'{"valid":true,"x":"%s"}' % (b"x" * 3000000)


async def no_answer(rig):
    """The registry is given 10 s; meanwhile all goes on."""
    await rig.start()
    rig.registry.faults["validate"] = [Fault(hang=True, times=3)]
    began = time.monotonic()
    some = [rig.stream() for _ in range(3)]
    for s in some:
        s.begin()
    await lib.until(lambda: asked(rig) == 3, what="three questions")
    side = await rig.session()
    while not all(s.ended for s in some):
        lib.in_time(time.monotonic() - began < 12, "not given up")
        await rig.probe(side)
        await asyncio.sleep(0.1)
    check(time.monotonic() - began > 9.5, "given up too early")
    check([s.ended.how for s in some] == ["reset"] * 3, "not reset")
    await rig.probe()


async def not_ours(rig):
    """401: it is our credential that is bad, and the harness is told."""
    await rig.start()
    s = rig.stream()
    rig.registry.faults["validate"] = [Fault(401, {"error": {}},
                                             times=lib.FOREVER)]
    check(await how(s) == "rejected", "%s" % s.ended)
    check(s.ended.payload == REJECTION, "%r" % s.ended.payload)
    # No stream was opened: the executor does not know it.
    check(s.frames["handshake"] == 1 and not s.frames["reset"], "frames")
    rig.deliver(f.data(s.name, 0, bytes(64)))
    await lib.until(lambda: s.frames["reset"] == 1, what="a reset")
    rig.registry.faults["validate"] = []
    await rig.probe()


async def second_handshake(rig):
    """Of two handshakes with one name neither opens a stream."""
    await rig.start()
    gate = asyncio.Event()
    rig.registry.faults["validate"] = [Fault(gate=gate)]
    s = rig.stream()
    s.begin()
    await lib.until(lambda: asked(rig) == 1, what="a question")
    s.send(f.handshake(s.name, bytes(3600)))
    await lib.until(lambda: s.ended, what="a reset")
    check(s.ended.how == "reset", "%s" % s.ended)
    gate.set()
    await asyncio.sleep(0.5)
    check(s.frames["handshake"] == 0, "the first one was answered")
    # An active one stays: only the attempt is reset.
    s = await rig.session()
    s.minds_resets = False
    s.send(f.handshake(s.name, rig.stream().request()))
    await lib.until(lambda: s.frames["reset"], what="a reset")
    await rig.probe(s)


async def data_too_early(rig):
    """Data before message 2 ends the attempt."""
    await rig.start()
    gate = asyncio.Event()
    rig.registry.faults["validate"] = [Fault(gate=gate)]
    s = rig.stream()
    s.begin()
    await lib.until(lambda: asked(rig) == 1, what="a question")
    s.send(f.data(s.name, 0, bytes(64)))
    await lib.until(lambda: s.ended, what="a reset")
    gate.set()
    await asyncio.sleep(0.5)
    check(s.frames["handshake"] == 0, "it was answered")
    await rig.probe()


async def late_answers(rig):
    """The answer for an attempt that was reset is nobody's, even if the name
    is used again meanwhile."""
    await rig.start()
    for late, good in ((False, False), (True, False), (False, True),
                       (True, True)):
        gates = [asyncio.Event(), asyncio.Event()]
        rig.registry.faults["validate"] = [
            Fault(200, {"valid": not good}, gate=gates[0]),
            Fault(200, {"valid": good}, gate=gates[1])]
        before = asked(rig)
        first = rig.stream()
        first.begin()
        await lib.until(lambda: asked(rig) > before, what="a question")
        first.leave()
        second = rig.stream(name=first.name)
        got = asyncio.ensure_future(how(second))
        await lib.until(lambda: asked(rig) > before + 1, what="another one")
        if not late:
            gates[0].set()
            await asyncio.sleep(0.2)
        gates[1].set()
        check(await got == ("open" if good else "reset"),
              "late %s, good %s" % (late, good))
        gates[0].set()
        await asyncio.sleep(0.3)
        check(sum(second.frames.values()) == 1, "%s" % second.frames)
        if good:
            await rig.probe(await second.initialize())
            second.leave()


async def no_credential_elsewhere(rig):
    """A redirect of a question is not followed."""
    await rig.start()
    other = await rig.new_registry()
    rig.registry.faults["validate"] = [
        Fault(s, b"", ["Location: " + other.url + "/cloud"])
        for s in (301, 302, 307, 308)]
    for _ in range(4):
        check(await how(rig.stream()) == "reset", "refused")
    check(not other.requests, "somebody else was asked")
    await rig.probe()


lib.main(*(some_damaged(n, n + 7) for n in range(0, len(DAMAGED), 7)),
         wrong_names,
         refused("words", [Fault(200, b) for b in REFUSALS[:6]]),
         refused("more_words", [Fault(200, b) for b in REFUSALS[6:]]),
         refused("by_status", [yes(s) for s in STATUSES[:5]]),
         refused("by_more", [yes(s) for s in STATUSES[5:]]),
         refused("badly", [
             Fault(cut=True), Fault(raw=b"what?\r\n\r\n"), Fault(raw=b""),
             Fault(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")]),
         # The reference lets these through.
         lib.ours(refused("strictly", [
             yes(201), yes(204), Fault(200, [True]), Fault(200, HUGE)])),
         no_answer, not_ours, second_handshake, data_too_early, late_answers,
         no_credential_elsewhere, at_once=3)
