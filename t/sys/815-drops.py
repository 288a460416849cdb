"""815: hundreds of times (a thousand with SLOW=1) streams are lost under output,
by resets, errors and cuts of the rendezvous: nothing is lost and nothing comes
twice.

A thousand cuts of the rendezvous: EXECUTORS=50 SESSIONS=1 DROPS=20 CUTS=0 (with
sealed streams pauses grow to half a minute).  CUTS=N is how often each session
loses a stream otherwise, and then only with the websocket; SEED=N repeats a
run."""
import asyncio
import base64
import contextlib
import hashlib
import importlib
import os
import random

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import check, say, LIMIT, SLOW  # noqa: E402


def number(name, default):
    return int(os.environ.get(name, default))


CUTS = number("CUTS", 20)
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
rng = random.Random(SEED)
# Twenty lines in one write, again and again.
WRITER = ("n=0; while :; do printf '%%d\\n' %s; n=$((n + 20)); sleep 0.15; "
          "done" % " ".join("$((n + %d))" % i for i in range(1, 21)))
Ended, Sealed = lib.harness.Ended, lib.harness.Stream
Clear = lib.harness.Clear


class Reader:
    """What came of a command, from notifications and reads together."""

    def __init__(self):
        self.next, self.early = 1, {}   # the lowest number not seen
        self.notified = set()
        self.rest, self.line = b"", 1
        self.bytes, self.hash = 0, hashlib.sha256()

    def add(self, seq, chunk):
        if seq < self.next or seq in self.early:
            return
        self.early[seq] = chunk
        while self.next in self.early:
            data = base64.b64decode(self.early.pop(self.next))
            self.next += 1
            self.bytes += len(data)
            self.hash.update(data)
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                check(line == b"%d" % self.line,
                      "line %r, not %d" % (line, self.line))
                self.line += 1

    def on_note(self, m):
        p = m["params"]
        check(p["seq"] not in self.notified, "notified twice: %d" % p["seq"])
        self.notified.add(p["seq"])
        if m["method"] == "process/output":
            self.add(p["seq"], p["chunk"])

    async def catch_up(self, s):
        """Read what was missed."""
        while True:
            after = self.next - 1
            r = await s.call("process/read", {
                "processId": "p", "afterSeq": after,
                "maxBytes": rng.choice([1, 1000, 1 << 20]), "waitMs": 0})
            check(not r["chunks"] or r["chunks"][0]["seq"] <= self.next,
                  "a gap: %s after %d" % (r["chunks"][:1], after))
            for chunk in r["chunks"]:
                self.add(chunk["seq"], chunk["chunk"])
            if not r["chunks"]:
                return r


def error(s):
    """A frame that ends the stream for the executor too."""
    rng.choice([
        lambda: s.send(f.data(s.name, s.sent, bytes(64))),
        lambda: s.send(f.data(s.name, s.sent + 65, b"x" * 20)),
        lambda: s.send(s.seal(bytes(4)))])()


def nothing(_):
    return True


async def serve(rig, name, cuts, reader, session, kind=Sealed, ended=nothing):
    """Lose a session that often, and then only with the websocket, until a
    claim about the environment is true, and come back; how often with the
    websocket."""
    lost = done = 0
    while done < cuts or not ended(name):
        s = None
        try:
            s = await lib.harness.resumed(
                lambda: rig.stream(name, kind=kind), session, 3 * LIMIT)
            s.keeps_notes, s.on_note = False, reader.on_note
            moment = rng.random()
            if moment > 0.2:
                await reader.catch_up(s)
            if moment > 0.3:
                await asyncio.sleep(rng.random() * 0.6)
            if moment > 0.9 and not s.ended:
                s.ask("process/read", {"processId": "p", "afterSeq": None,
                                       "waitMs": 100})
            if done >= cuts:
                await reader.catch_up(s)
                while not s.ended and not ended(name):
                    await asyncio.sleep(0.05)
            if s.ended:
                pass
            elif kind is Clear or rng.random() < 0.5:
                s.leave()
            else:
                error(s)
                await lib.until(lambda s=s: s.ended, what="a reset")
                if s.ended.how == "reset":
                    s.forget()
        except Ended:
            pass
        if s and s.ended and s.ended.how == "lost":
            lost += 1
        else:
            done += 1
    return lost


async def begin(rig, name, *argv, **how):
    s = await rig.session(environment=name, **how)
    reader = Reader()
    s.keeps_notes, s.on_note = False, reader.on_note
    await s.start("p", *argv)
    s.leave()
    return reader, s.session


async def is_closed(reader, s):
    return (await reader.catch_up(s))["closed"]


async def last_lines(rig, name, reader, session, kind=Sealed):
    """It goes on, and is ended."""
    s = await lib.harness.resumed(lambda: rig.stream(name, kind=kind),
                                  session, 3 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    before = reader.line
    if not await is_closed(reader, s):
        await lib.until(lambda: s.ended or reader.line > before + 40,
                        what="more lines")
        await s.call("process/terminate", {"processId": "p"})
    while not await is_closed(reader, s):
        await asyncio.sleep(0.05)
    s.leave()


async def finish(rig, *job):
    """At its end all is there; the bytes."""
    reader = job[1]
    while True:
        with contextlib.suppress(Ended):
            await last_lines(rig, *job)
            break
    check(reader.rest == b"", "part of a line: %r" % reader.rest)
    text = b"".join(b"%d\n" % n for n in range(1, reader.line))
    check(reader.bytes == len(text) and reader.hash.digest() ==
          hashlib.sha256(text).digest(), "other bytes")
    return reader.bytes


async def cutter(rig, name, times, readers):
    """Cut a rendezvous that often, each time when output has come over it."""
    for n in range(times):
        link = await rig.linked(name, n, 4 * LIMIT)
        had = sum(r.bytes for r in readers)
        await lib.until(lambda had=had: sum(r.bytes for r in readers) > had,
                        3 * LIMIT, "output over websocket %d" % n)
        await asyncio.sleep(rng.random())
        rng.choice([link.cut, link.close])()
        await lib.until(lambda link=link: link.closed, what="the end")


# Who comes back late on a machine that stands still finds his session.
KEPT = ["DetachedTtl=10m"]


async def drops(rig, kind, executors, sessions, times, **how):
    """Some sessions at each of some executors."""
    say("SEED=%d CUTS=%d" % (SEED, CUTS))
    await rig.new_registry()
    names = ["env-%d" % n for n in range(executors)]
    for name in names:
        rig.program(name, options=KEPT, **how)
    for name in names:
        await rig.linked(name, seconds=3 * LIMIT)
    jobs = [(name, *await begin(rig, name, "sh", "-c", WRITER, kind=kind))
            for name in names for _ in range(sessions)]
    cutters = {name: asyncio.ensure_future(cutter(
        rig, name, times, [job[1] for job in jobs if job[0] == name]))
        for name in names}
    lost = await asyncio.gather(*(serve(
        rig, name, CUTS, reader, session, kind,
        lambda name: cutters[name].done()) for name, reader, session in jobs))
    await asyncio.gather(*cutters.values())
    # All at once: a session that nobody has expires.
    got = await asyncio.gather(*(finish(rig, *job, kind) for job in jobs))
    say("%d websockets cut, %d streams lost with them; %d bytes in all, with "
        "the SHA-256 that they should have" %
        (times * executors, sum(lost), sum(got)))
    check(sum(lost) > times, "the websockets were not in use")
    for name in names:
        environment = rig.registry.environment(name)
        # Of a long run on a slow machine some may have ended otherwise.
        check(len(environment.links) == times + 1 or "DROPS" in os.environ and
              len(environment.links) > times, "%d websockets of %s" %
              (len(environment.links), name))
        check(kind is Clear or len(environment.keys) == 1,
              "%s registered again" % name)


async def sealed_drops(rig):
    """The ordinary kind of stream; pauses grow to half a minute."""
    await drops(rig, Sealed, number("EXECUTORS", 5 if SLOW else 2),
                number("SESSIONS", 10), number("DROPS", 4))


@lib.ours
async def clear_drops(rig):
    """Every cut is followed by a registration, after a second at most."""
    await drops(rig, Clear, number("EXECUTORS", 2), number("SESSIONS", 3),
                number("DROPS", 8), arguments=("--remote-transport", "relay"))


if __name__ == "__main__":
    lib.main(sealed_drops, clear_drops)
