"""814: the limits of a rendezvous websocket and of a stream; who is beyond one
does not harm who is not."""
import asyncio
import base64
import contextlib
import importlib
import os
import subprocess
import signal
import time

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import (check, cpu, descendants, rss, say,  # noqa: E402
                    LIMIT, SANITIZED)

how = lib.harness.how
INFO = b'{"id":%d,"method":"environment/info","params":{}}'


@lib.own_registry
async def streams(rig):
    """128 streams; the next is reset, and has room when one has gone."""
    await rig.start()
    some = [await rig.session() for _ in range(128)]
    check(len(rig.registry.seen("validate")) == 128, "validations")
    for _ in range(20):     # refused is not failed
        check(await how(rig.stream()) == "reset", "the 129th")
    check(len(rig.registry.seen("validate")) == 128, "asked about the 129th")
    some[0].leave()
    some[0] = await rig.session()
    check(await how(rig.stream()) == "reset", "the 129th again")
    for s in some:
        await rig.probe(s)


async def all_at_once(rig):
    """After an outage all harnesses come back at the same time."""
    await rig.start()
    some = [await rig.session() for _ in range(120)]
    rig.link.cut()
    await rig.linked(after=1)
    made = []

    class Kept(lib.harness.Stream):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            made.append(self)
    # No more than 32 wait for the registry, or they are reset.
    for at in range(0, 120, 30):
        await asyncio.gather(*(
            rig.session(resume=s.session, kind=Kept)
            for s in some[at:at + 30]))
    # One comes again whose loss is not noticed yet.
    wanted = 120 + sum(s.frames["handshake"] for s in made)
    check(len(rig.registry.seen("validate")) == wanted, "%d questions, not %d"
          % (len(rig.registry.seen("validate")), wanted))


async def handshakes_at_once(rig):
    """32 may wait for the registry; the next is reset and nobody asks."""
    await rig.start()
    gate = asyncio.Event()
    rig.registry.faults["validate"] = [lib.Fault(gate=gate, times=32)]
    waiting = [rig.stream() for _ in range(32)]
    for s in waiting:
        s.begin()
    validations = lambda: len(rig.registry.seen("validate"))  # noqa: E731
    await lib.until(lambda: validations() == 32, what="32 questions")
    for _ in range(20):     # refused is not failed
        check(await how(rig.stream()) == "reset", "the 33rd")
    check(validations() == 32 and not any(s.opening.done() for s in waiting),
          "too early")
    gate.set()
    await asyncio.gather(*(s.opening for s in waiting))
    await rig.probe()


async def failures(rig):
    """After eight no handshake is looked at for 10 s; streams go on."""
    await rig.start()
    side = await rig.session()
    rig.registry.refuses = lambda body: True
    for n in range(8):
        check(await how(rig.stream()) == "reset", "refused")
    began = time.monotonic()
    rig.registry.refuses = None
    asked = len(rig.registry.seen("validate"))
    check(asked == 9, "%d questions" % asked)
    # Attempts in it are not counted and do not lengthen it.
    while time.monotonic() - began < 9.3:
        lib.in_time(await how(rig.stream()) == "reset", "in the pause")
        await asyncio.sleep(0.1)
    check(len(rig.registry.seen("validate")) == asked, "asked in the pause")
    await rig.probe(side)
    await asyncio.sleep(began + 10.4 - time.monotonic())
    lib.in_time(await how(rig.stream()) == "open", "behind the pause")
    await rig.probe()
    check(len(rig.registry.environment(rig.environment).links) == 1,
          "the websocket was lost")
    # The count began anew: seven are nothing.
    rig.registry.refuses = lambda body: True
    for n in range(7):
        check(await how(rig.stream()) == "reset", "refused again")
    rig.registry.refuses = None
    await rig.probe()


async def authorizations(rig):
    """Up to 4096 bytes of UTF-8, more is reset without a question."""
    await rig.start()

    def stream(text):
        s = rig.stream()
        key = s.bundle["harness_key_authorization"]
        rig.registry.allowed[text.decode("utf-8", "replace")] = \
            rig.registry.allowed.pop(key)
        return s, text

    for text in (b"a", "\u00e4\u2603\U0001f600\"\\\x01\x7f".encode(),
                 b"x" * 4096):
        s, text = stream(text)
        check(await how(s, authorization=text) == "open", "%r" % text[:10])
    asked = len(rig.registry.seen("validate"))
    for text in (b"x" * 4097, b"\xff", b"\xc0\x80", b"\xed\xa0\x80",
                 b"x" * (65535 - 3568)):
        s, text = stream(text)
        check(await how(s, authorization=text) == "reset", "%r" % text[:10])
    check(len(rig.registry.seen("validate")) == asked, "asked about those")
    check(asked == 3, "%d questions" % asked)


async def requests_behind_one(rig):
    """Hundreds of requests behind one that waits: answered, or the stream
    ends; another stream does not notice."""
    await rig.start()
    side, s = await rig.session(), await rig.session()
    await s.start("p", "sleep", "600")
    s.ask("process/read", {"processId": "p", "afterSeq": None,
                           "maxBytes": 100, "waitMs": 3000})
    for n in range(600):
        if s.ended:
            break
        s.send_message(INFO % (9000 + n))
        if n % 100 == 99:
            await rig.probe(side)
    await lib.until(lambda: s.ended or len(s.orphans) == 600,
                    what="answers or the end")
    say("ended" if s.ended else "answered")
    await rig.probe(side)


@lib.ours
async def a_worker_that_stands_still(rig):
    """Its stream ends when too much waits for it, in little memory."""
    program = await rig.start()
    side, s = await rig.session(), await rig.session()
    out, _ = await s.run("sh", "-c", "echo $PPID")
    uplink, = program.uplink_pids()
    await rig.probe(side)
    before = rss(uplink)
    os.kill(int(out), signal.SIGSTOP)
    try:
        for n in range(3000):
            if s.ended:
                break
            s.send_message(INFO % n + b" " * 1000)
            if n % 200 == 199:
                await rig.probe(side)
        await lib.until(lambda: s.ended, what="the end of the stream")
        check(s.ended.how == "reset", "%s" % s.ended)
        await rig.probe(side)
        check(rss(uplink) - before < 8 << 20 or SANITIZED, "%d KiB more" %
              ((rss(uplink) - before) >> 10))
    finally:
        os.kill(int(out), signal.SIGCONT)
    await lib.harness.resumed(rig.stream, s.session)


@lib.ours
async def unfinished(rig):
    """Many streams with the beginning of a long message each: those that hold
    more than is there for all are reset, all others go on and end theirs."""
    program = await rig.start()
    uplink, = program.uplink_pids()
    side = await rig.session()
    message = INFO % 9000 + b" " * (60 << 20)
    pieces = lib.harness.cut(message)

    async def pour(s, begin, end):
        for at in range(begin, end):
            if s.ended:
                return
            s.send(s.seal(pieces[at]))
            if at % 64 == 63:
                await rig.link.writer.drain()
                await asyncio.sleep(0)

    await rig.probe(side)
    before = rss(uplink)
    # Less than each has for itself, then as much as fits three times.
    small, large = 8, 55 * 1024 // 60
    many = [await rig.session() for _ in range(60)]
    long = [await rig.session() for _ in range(6)]
    for s in long:
        await pour(s, 0, large)
        await rig.probe(side)
    for s in many:
        await pour(s, 0, small)
    await rig.probe(side)
    check(not any(s.ended for s in many), "one with little was reset")
    ended = [bool(s.ended) for s in long]
    check(ended == [False] * 3 + [True] * 3, "reset: %s" % ended)
    more = rss(uplink) - before
    say("%d MiB more" % (more >> 20))
    check(more < 256 << 20 or SANITIZED, "too much memory")
    for s in long[:3] + many[:3]:
        await pour(s, small if s in many else large, len(pieces))
        await lib.until(lambda s=s: len(s.orphans) == 1, 3 * LIMIT,
                        "an answer")
    # There is room again, also for who was reset.
    again = await rig.session(resume=long[3].session)
    await pour(again, 0, len(pieces))
    await lib.until(lambda: len(again.orphans) == 1, 3 * LIMIT, "an answer")
    check(not any(s.ended for s in many + long[:3]), "one was reset late")
    for s in many[3:9]:
        s.leave()
    await rig.probe(side)
    check(len(rig.registry.environment(rig.environment).links) == 1,
          "the websocket was lost")


async def floods(rig):
    """Of frames that are answered, and of pings, by somebody who does not read
    the answers: little memory, and all goes on."""
    program = await rig.start()
    side = await rig.session()
    await rig.probe(side)
    before = memory(program)
    rig.link.reads.clear()
    for n in range(30000):
        rig.deliver(f.data(b"nobody-%d" % n, 0, bytes(64)))
        if n % 3 == 0:
            rig.link.send(bytes(125), 9)
        if n % 1000 == 0:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    more = memory(program) - before
    say("%d KiB more" % (more >> 10))
    # A sanitizer keeps what was freed.
    check(more < 8 << 20 or SANITIZED, "too much memory")
    rig.link.reads.set()
    await rig.probe(side)
    check(len(rig.registry.environment(rig.environment).links) == 1,
          "the websocket was lost")


def files_limit(pid, number):
    """Its soft limit of descriptors, set by a process of the same user."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        ids = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    uid, gid = ids["Uid"].split()[0], ids["Gid"].split()[0]
    prefix = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups"] \
        if os.getuid() == 0 else []
    return subprocess.run(
        [*prefix, "prlimit", "--pid", str(pid), "--nofile=%d:" % number],
        check=False).returncode == 0


@lib.ours
async def no_descriptors(rig):
    """New streams are reset, those that are there go on, and the machine is
    not kept busy."""
    program = await rig.start()
    side = await rig.session()
    uplink, = program.uplink_pids()
    # So few that it has them all already.
    if not files_limit(uplink, 8):
        return say("left out: prlimit is not permitted")
    used = cpu(uplink)
    for _ in range(5):
        s = rig.stream()
        got = await how(s)
        if got == "open":
            await lib.until(lambda s=s: s.ended, what="a reset")
        check(s.ended.how == "reset", "%s" % s.ended)
        await rig.probe(side)
    await asyncio.sleep(1)
    check(cpu(uplink) - used < 0.3, "it is busy")
    check(files_limit(uplink, 1024), "prlimit")
    await rig.probe()
    await rig.probe(side)
    check(program.uplink_pids() == [uplink], "it died")


def memory(program):
    """Of all its processes; some may just end."""
    total = 0
    for pid in [program.pid, *descendants(program.pid)]:
        with contextlib.suppress(OSError, KeyError):
            total += rss(pid)
    return total


async def a_rendezvous_that_does_not_read(rig):
    """It costs time, not memory, and nothing is lost."""
    program = await rig.start()
    s = await rig.session()
    size, seqs, got = 48 << 20, [], 0

    def on_note(m):
        nonlocal got
        if "seq" in m["params"]:        # of a process
            seqs.append(m["params"]["seq"])
        if m["method"] == "process/output":
            got += len(base64.b64decode(m["params"]["chunk"]))

    s.on_note, s.keeps_notes = on_note, False
    await s.start("p", "head", "-c", str(size), "/dev/zero")
    await lib.until(lambda: got, what="output")
    rig.link.reads.clear()
    before = memory(program)
    await asyncio.sleep(2)
    more = memory(program) - before
    say("%d MiB more while nobody reads" % (more >> 20))
    check(more < 32 << 20 or SANITIZED, "too much memory")
    check(got < size // 2, "%d came all the same" % got)
    rig.link.reads.set()
    await lib.until(lambda: got == size or s.ended, 3 * LIMIT, "all output")
    check(s.ended is None, "%s" % s.ended)
    await s.call("environment/info")
    check(len(set(seqs)) == len(seqs) == max(seqs), "each event once")


lib.main(streams, all_at_once, handshakes_at_once, failures, authorizations,
         requests_behind_one, a_worker_that_stands_still, unfinished, floods,
         no_descriptors, a_rendezvous_that_does_not_read, at_once=3)
