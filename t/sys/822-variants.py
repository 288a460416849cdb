"""822: the ways of May and June 2026, without Noise: plain JSON-RPC on the
websocket, and relay frames in the clear."""
import asyncio
import base64
import importlib
import itertools
import json
import os
import re
import signal
import time

lib = importlib.import_module("8common")
f = importlib.import_module("8frames")
from client import RpcError, check, LIMIT, SCALE  # noqa: E402

Fault = lib.Fault


numbers = itertools.count(1)    # of processes


class Talk:
    """JSON-RPC by some way to send a text."""

    def __init__(self, send):
        self.send = send
        self.ids = itertools.count(1)
        self.got = []

    async def call(self, method, params=None):
        number = next(self.ids)
        self.send(json.dumps({"id": number, "method": method,
                              "params": params or {}}).encode())
        m = await lib.until(lambda: next(
            (m for m in self.got if m.get("id") == number), None),
            what="an answer to " + method)
        if "error" in m:
            raise RpcError(m["error"])
        return m["result"]

    async def initialize(self, resume=None):
        params = {"clientName": "t"}
        if resume:
            params["resumeSessionId"] = resume
        self.session = (await self.call("initialize", params))["sessionId"]
        self.send(b'{"method":"initialized","params":{}}')
        return self

    async def start(self, process, *argv):
        await self.call("process/start", {
            "processId": process, "argv": list(argv), "cwd": "file:///tmp",
            "env": {"PATH": os.environ["PATH"]}, "tty": False,
            "pipeStdin": False, "arg0": None})

    async def run(self, *argv):
        """The output of a command."""
        process = "p%d" % next(numbers)
        await self.start(process, *argv)
        await lib.until(lambda: any(
            m.get("method") == "process/closed" and
            m["params"]["processId"] == process for m in self.got),
            what="the end of a process")
        return b"".join(base64.b64decode(m["params"]["chunk"])
                        for m in self.got
                        if m.get("method") == "process/output" and
                        m["params"]["processId"] == process)

    async def probe(self):
        out = await self.run("echo", "hello")
        check(out == b"hello\n", "%r" % out)


# --- plain -------------------------------------------------------------------

def plain(rig, link):
    """What is on a websocket is one connection."""
    talk = Talk(lambda text: link.send(text, 1))
    talk.at = 0

    class Texts(list):
        def append(self, text):
            talk.got.append(json.loads(text))
    link.texts = Texts()
    return talk


async def start_plain(rig, arguments=None, env=None, **how):
    if rig.registry is None:
        await rig.new_registry()
    made = lib.Program(rig, rig.registry.url, arguments=arguments or [
        "--executor-id", rig.environment], env=env or {
        "CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN": rig.token}, **how)
    rig.programs.append(made)
    return made, await rig.linked(program=made)


async def plain_registration(rig):
    """Body and answer are of another kind."""
    await start_plain(rig)
    entry, = rig.registry.seen("register")
    check(entry.path == "/cloud/executor/%s/register" % rig.environment,
          entry.path)
    check(entry.field("authorization") == "Bearer " + rig.token, "credential")
    body = entry.json()
    check(re.fullmatch("codex-exec-server-[0-9a-f]{64}",
                       body.pop("idempotency_id")), "idempotency_id")
    check(body == {"executor_id": rig.environment,
                   "name": "codex-exec-server", "labels": {},
                   "metadata": {}}, "%s" % body)


async def plain_name(rig):
    """--name is told here."""
    await start_plain(rig, ["--executor-id", rig.environment, "--name",
                            "A \"name\" \u00e4"])
    body = rig.registry.seen("register")[0].json()
    check(body["name"] == "A \"name\" \u00e4", "%s" % body)


async def resume(talk, session):
    """Again while the connection before counts as attached."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return await talk.initialize(session)
        except RpcError as e:
            check(e.code == -32010 and time.monotonic() < deadline, "%s" % e)
        await asyncio.sleep(0.05)


async def plain_session(rig):
    """Text and binary messages; each reconnect registers again; the session
    goes on."""
    _, link = await start_plain(rig)
    talk = await plain(rig, link).initialize()
    await talk.probe()
    talk.send = link.send
    await talk.probe()
    await talk.start("keep", "sleep", "600")
    for n in range(1, 3):
        link.cut()
        link = await rig.linked(after=n)
        talk = await resume(plain(rig, link), talk.session)
        got = await talk.call("process/read", {
            "processId": "keep", "afterSeq": None, "maxBytes": 1,
            "waitMs": 0})
        check(not got["exited"], "the process ended")
    ids = {e.json()["idempotency_id"] for e in rig.registry.seen("register")}
    check(len(rig.registry.seen("register")) == 3 and len(ids) == 1,
          "%s" % ids)


async def plain_pauses(rig):
    """1 s doubling, and anew after each upgrade that works."""
    await rig.new_registry()
    rig.registry.faults["upgrade"] = [Fault(cut=True), Fault(500)]
    await start_plain(rig)
    rig.link.cut()
    await rig.linked(after=1)
    r = rig.registry
    gaps = [b.at - a.at for a, b in zip(r.seen("register")[1:],
                                        r.upgrades()[1:])]
    for gap, window in zip(gaps, (1, 2, 1)):
        lib.in_time(window / 2 - 0.02 <= gap <= window + 0.6 * SCALE,
                    "pauses %s" % gaps)
    check(len(gaps) == 3, "%s" % gaps)


async def plain_nonsense(rig):
    """What is no JSON is answered and does no harm."""
    _, link = await start_plain(rig)
    talk = await plain(rig, link).initialize()
    link.send(b"what?", 1)
    m = await lib.until(lambda: next(
        (m for m in talk.got if m.get("id") == -1), None), what="an answer")
    check(m["error"]["code"] == -32600, "%s" % m)
    await talk.probe()


# --- relay -------------------------------------------------------------------

RELAY = ("--remote-transport", "relay")


class Clear:
    """A stream whose payloads are messages in the clear."""

    def __init__(self, rig, name):
        self.name, self.link = name, rig.link
        self.frames, self.seq, self.ended = [], 0, None
        self.rig = rig
        self.talk = Talk(self.send)
        rig.registry.streams[name] = self

    def send(self, text):
        self.rig.deliver(f.data(self.name, self.seq, text))
        self.seq += 1

    def on_frame(self, frame):
        self.frames.append(frame)
        if frame.kind == "data":
            self.talk.got.append(json.loads(frame.payload))
        elif frame.kind == "reset":
            self.ended = "reset"

    def on_lost(self):
        self.ended = "lost"


async def relay_registration(rig):
    """Without a body."""
    await rig.start(arguments=RELAY)
    entry, = rig.registry.seen("register")
    check(entry.path == "/cloud/environment/%s/register" % rig.environment,
          entry.path)
    check(entry.body == b"" and entry.field("content-type") is None,
          "%r" % entry.head)
    check(entry.field("authorization") == "Bearer " + rig.token, "credential")


async def relay_streams(rig):
    """Several at once; each reconnect registers again."""
    await rig.start(arguments=RELAY)
    some = [Clear(rig, b"stream-%d" % n) for n in range(5)]
    for c in some:
        await c.talk.initialize()
    await asyncio.gather(*(c.talk.probe() for c in some))
    check(len({c.talk.session for c in some}) == 5, "sessions of their own")
    for c in some:
        seqs = [x.seq for x in c.frames if x.kind == "data"]
        check(seqs == list(range(len(seqs))), "%s" % seqs)
    rig.deliver(f.reset(some[0].name))
    rig.link.cut()
    await rig.linked(after=1)
    check(len(rig.registry.seen("register")) == 2, "not registered again")
    for n in (0, 1):
        again = Clear(rig, b"again-%d" % n)
        await resume(again.talk, some[n].talk.session)
        await again.talk.probe()


async def relay_held(rig):
    """Messages that nobody takes, of nine streams: those that hold more than
    is there for all are reset, the others have lost nothing."""
    await rig.start(arguments=RELAY)
    side = await Clear(rig, b"side").talk.initialize()
    some = [Clear(rig, b"held-%d" % n) for n in range(9)]
    for c in some:
        await c.talk.initialize()
        c.worker = int(await c.talk.run("sh", "-c", "echo $PPID"))
    for c in some:
        os.kill(c.worker, signal.SIGSTOP)
    try:
        for c in some:
            for n in range(118):
                c.send(b'{"id":%d,"method":"environment/info","params":{}}' %
                       (9000 + n) + b" " * (240 << 10))
                await rig.link.writer.drain()
            await side.probe()
        check([c.ended for c in some] == [None] * 7 + ["reset"] * 2,
              "%s" % [c.ended for c in some])
    finally:
        for c in some:
            os.kill(c.worker, signal.SIGCONT)
    for c in some[:7]:
        await lib.until(lambda c=c: sum(
            m.get("id", 0) >= 9000 for m in c.talk.got) == 118,
            what="all answers")
    await some[0].talk.probe()


async def relay_nonsense(rig):
    """Bad payloads are dropped, frames of other kinds ignored, a reset ends a
    stream."""
    await rig.start(arguments=RELAY)
    c = Clear(rig, b"stream")
    await c.talk.initialize()
    for frame in (b"", b"\xff\xff", f.ack(c.name), f.heartbeat(c.name),
                  f.resume(c.name, 3), f.handshake(c.name, b"x" * 3600),
                  f.data(b"", 0, b"{}"), f.data(c.name, 0, b"", 0, 1),
                  f.data(c.name, 7, b"what?"), f.data(c.name, 8, b"{"),
                  f.data(c.name, 9, b"[]"), f.data(c.name, 9, b"\xff")):
        rig.deliver(frame)
        await c.talk.probe()
        check(c.ended is None, "%r: %s" % (frame, c.ended))
    check(all(x.kind == "data" for x in c.frames), "%s" % c.frames[-3:])


lib.main(*map(lib.ours, (
    plain_registration, plain_name, plain_session, plain_pauses,
    plain_nonsense, relay_registration, relay_streams, relay_held,
    relay_nonsense)),
    at_once=3)
