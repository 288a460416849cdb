"""815: a thousand times streams are lost under output, by resets, errors and
cuts of the rendezvous: nothing is lost and nothing comes twice.

CUTS=N of each session instead of 20; SEED=N repeats a run."""
import asyncio
import base64
import importlib
import os
import random

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import check, say, LIMIT  # noqa: E402

CUTS = int(os.environ.get("CUTS", "20"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
rng = random.Random(SEED)
# Twenty lines in one write, again and again.
WRITER = ("n=0; while :; do printf '%%d\\n' %s; n=$((n + 20)); sleep 0.15; "
          "done" % " ".join("$((n + %d))" % i for i in range(1, 21)))
Ended = lib.harness.Ended


class Reader:
    """What came of a command, from notifications and reads together."""

    def __init__(self):
        self.next, self.early = 1, {}   # the lowest number not seen
        self.notified = set()
        self.rest, self.line = b"", 1
        self.bytes = 0

    def add(self, seq, chunk):
        if seq < self.next or seq in self.early:
            return
        self.early[seq] = chunk
        while self.next in self.early:
            data = base64.b64decode(self.early.pop(self.next))
            self.next += 1
            self.bytes += len(data)
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


async def serve(rig, name, cuts, reader, session):
    """Lose a session that often and come back; how often with the
    websocket."""
    lost = done = 0
    while done < cuts:
        s = None
        try:
            s = await lib.harness.resumed(lambda: rig.stream(name), session,
                                          3 * LIMIT)
            s.keeps_notes, s.on_note = False, reader.on_note
            moment = rng.random()
            if moment > 0.2:
                await reader.catch_up(s)
            if moment > 0.3:
                await asyncio.sleep(rng.random() * 0.6)
            if moment > 0.9 and not s.ended:
                s.ask("process/read", {"processId": "p", "afterSeq": None,
                                       "waitMs": 100})
            if rng.random() < 0.5:
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


async def begin(rig, name, *argv):
    s = await rig.session(environment=name)
    reader = Reader()
    s.keeps_notes, s.on_note = False, reader.on_note
    await s.start("p", *argv)
    s.leave()
    return reader, s.session


async def finish(rig, name, reader, session):
    """It goes on, and at its end all is there."""
    s = await lib.harness.resumed(lambda: rig.stream(name), session, 2 * LIMIT)
    s.keeps_notes, s.on_note = False, reader.on_note
    before = reader.line
    await reader.catch_up(s)
    await lib.until(lambda: reader.line > before + 40, what="more lines")
    await s.call("process/terminate", {"processId": "p"})

    async def is_closed():
        return (await reader.catch_up(s))["closed"]
    while not await is_closed():
        await asyncio.sleep(0.05)
    check(reader.rest == b"", "part of a line: %r" % reader.rest)
    s.leave()
    return reader.line - 1


async def drops(rig):
    """Ten sessions at each of five executors."""
    say("SEED=%d CUTS=%d" % (SEED, CUTS))
    await rig.new_registry()
    names = ["env-%d" % n for n in range(5)]
    for name in names:
        rig.program(name)
    for name in names:
        await rig.linked(name)
    jobs = [(name, *await begin(rig, name, "sh", "-c", WRITER))
            for name in names for _ in range(10)]

    async def cutter(name, times):
        for n in range(times):
            await asyncio.sleep(0.3 + rng.random())
            link = await rig.linked(name, n, 4 * LIMIT)
            rng.choice([link.cut, link.close])()
            await lib.until(lambda link=link: link.closed, what="the end")

    cutters = asyncio.gather(*(cutter(name, 4) for name in names))
    lost = await asyncio.gather(*(serve(rig, name, CUTS, reader, session)
                                  for name, reader, session in jobs))
    await cutters
    lines = [await finish(rig, *job) for job in jobs]
    say("%d streams lost, %d of them with a websocket; %d lines" %
        (CUTS * 50 + sum(lost), sum(lost), sum(lines)))
    check(sum(lost) > 20, "the websockets were not in use")
    for name in names:
        environment = rig.registry.environment(name)
        check(len(environment.links) == 5, "%d websockets of %s" %
              (len(environment.links), name))
        check(len(environment.keys) == 1, "%s registered again" % name)


if __name__ == "__main__":
    lib.main(drops)
