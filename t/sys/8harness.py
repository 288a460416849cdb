"""Harnesses: the far ends of streams, as many as a test likes in one loop."""
import asyncio
import base64
import collections
import contextlib
import importlib
import itertools
import json
import os
import struct
import subprocess
import time
import uuid

from client import BUILD, LIMIT, RpcError, check

frames = importlib.import_module("8frames")

SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"
RECORD = 61440              # plaintext of a record
TAG = 16


class Noise:
    """The program 8noise, which can what Python cannot."""

    def __init__(self):
        self.process = subprocess.Popen(
            [BUILD + "/t/8noise"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def ask(self, letter, *fields):
        """The fields of the answer, or None and the reason in self.why."""
        body = letter + b"".join(struct.pack(">I", len(f)) + f for f in fields)
        pipe = self.process.stdin
        pipe.write(struct.pack(">I", len(body)) + body)
        pipe.flush()
        read = self.process.stdout.read
        size, = struct.unpack(">I", read(4))
        got, at, out = read(size), 1, []
        while at < size:
            end = at + 4 + int.from_bytes(got[at:at + 4], "big")
            out.append(got[at + 4:end])
            at = end
        if got[:1] == b".":
            return out
        self.why = out[0].decode()
        return None

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        check(self.process.wait(LIMIT) == 0, "8noise ended badly")


class Party:
    """A key pair of a harness; lives as long as the program."""

    def __init__(self, noise):
        self.noise = noise
        self.number, dh, kem = noise.ask(b"I")
        self.public = {"suite": SUITE,
                       "x25519_public_key": base64.b64encode(dh).decode(),
                       "mlkem768_public_key": base64.b64encode(kem).decode()}


class Ended(Exception):
    """A stream is over: "reset" by the executor or "lost" with its
    websocket; or it never was: "rejected" with a payload, "offline"."""

    def __init__(self, how, payload=b""):
        super().__init__(how)
        self.how, self.payload = how, payload


def cut(message, size=RECORD):
    """The records of a message."""
    data = struct.pack(">I", len(message)) + message
    return [data[at:at + size] for at in range(0, len(data), size)]


class Stream:
    """A stream to an executor and the JSON-RPC connection on it."""

    def __init__(self, registry, noise, environment, party, name=None):
        self.registry, self.noise = registry, noise
        self.environment = environment
        self.name = name or str(uuid.uuid4()).encode()
        self.party = party
        self.bundle = registry.admit(environment, self.party.public)
        self.link = None                # the websocket it lives on
        self.channel = None
        self.opening = self.ended = None
        self.frames = collections.Counter()     # that came, by kind
        self.largest = 0                # payload of a data frame
        self.minds_resets = True
        self.record = RECORD            # how messages are cut
        self.sent = 0                   # records sealed: the next number
        # Receiving
        self.next, self.waiting = 0, {}
        self.plain = bytearray()
        self.received = 0               # bytes of messages
        # JSON-RPC
        self.ids = itertools.count(1)
        self.calls = {}
        self.notes = []
        self.keeps_notes = True
        self.orphans = []               # answers nobody waits for
        self.on_note = None
        self.session = None
        self.announces = {}             # members of initialize

    # --- frames --------------------------------------------------------------

    def send(self, frame):
        self.registry.deliver(self.environment, frame)

    def on_frame(self, frame):
        self.frames[frame.kind] += 1
        if frame.kind == "reset":
            if self.minds_resets:
                self.end(Ended("reset"))
        elif frame.kind == "handshake":
            self.on_response(frame.payload)
        elif self.ended is None:
            self.on_data(frame)

    def on_lost(self):
        self.end(Ended("lost"))

    def end(self, why):
        if self.ended:
            return
        self.ended = why
        if self.channel:
            self.noise.ask(b"F", self.channel)
            self.channel = None
        for future in [self.opening, *self.calls.values()]:
            if future and not future.done():
                future.set_exception(why)
                future.exception()      # looked at, if nobody else does
        self.calls.clear()

    def leave(self):
        """The harness goes; the rendezvous tells the executor."""
        self.send(frames.reset(self.name, b"harness_disconnected"))
        self.forget()

    def forget(self):
        """The harness goes, and nobody is told."""
        self.end(Ended("left"))
        if self.registry.streams.get(self.name) is self:
            del self.registry.streams[self.name]

    # --- the handshake -------------------------------------------------------

    def request(self, authorization=None):
        """Message 1."""
        key = self.bundle["executor_public_key"]
        if authorization is None:
            authorization = self.bundle["harness_key_authorization"].encode()
        self.channel, message = self.noise.ask(
            b"M", self.party.number,
            base64.b64decode(key["x25519_public_key"]),
            base64.b64decode(key["mlkem768_public_key"]),
            self.environment.encode(),
            self.bundle["executor_registration_id"].encode(), self.name,
            authorization)
        return message

    def begin(self, frame=None, authorization=None):
        """Send a handshake; wait for self.opening then."""
        self.link = self.registry.linked(self.environment)
        if self.link is None:
            raise Ended("offline")
        self.registry.streams[self.name] = self
        self.opening = asyncio.get_running_loop().create_future()
        message = self.request(authorization)
        self.send(frame(message) if frame else
                  frames.handshake(self.name, message))

    async def open(self, seconds=LIMIT, **how):
        self.begin(**how)
        async with asyncio.timeout(seconds):
            await self.opening
        return self

    def on_response(self, message):
        if self.opening is None or self.opening.done():
            self.registry.complain("a handshake frame out of place")
            return
        got = self.noise.ask(b"T", self.channel, message)
        if got is None:
            self.registry.complain("message 2: " + self.noise.why)
        elif got[0]:
            self.end(Ended("rejected", got[0]))
        else:
            self.opening.set_result(self)

    # --- records -------------------------------------------------------------

    def seal_record(self, plain):
        """(number, payload) of the next record."""
        if self.ended:
            raise self.ended
        counter, record = self.noise.ask(b"S", self.channel, plain)
        number = int.from_bytes(counter, "big")
        self.sent = number + 1
        return number, record

    def seal(self, plain):
        """A data frame that carries it."""
        return frames.data(self.name, *self.seal_record(plain))

    def send_message(self, message):
        for piece in cut(message, self.record):
            self.send(self.seal(piece))

    def on_data(self, frame):
        if frame.seq < self.next or frame.seq in self.waiting:
            self.registry.complain("a record came twice")
        self.waiting[frame.seq] = frame.payload
        while self.next in self.waiting and self.ended is None:
            record = self.waiting.pop(self.next)
            self.largest = max(self.largest, len(record))
            got = self.noise.ask(b"O", self.channel,
                                 struct.pack(">I", self.next), record)
            if got is None:
                self.registry.complain("a record: " + self.noise.why)
                return
            self.next += 1
            self.plain += got[0]
            self.messages()

    def messages(self):
        while len(self.plain) >= 4:
            end = 4 + int.from_bytes(self.plain[:4], "big")
            if len(self.plain) < end:
                return
            message = json.loads(bytes(self.plain[4:end]))
            self.received += end - 4
            del self.plain[:end]
            self.on_message(message)

    # --- JSON-RPC ------------------------------------------------------------

    def on_message(self, message):
        if "method" in message:
            if self.keeps_notes:
                self.notes.append(message)
            if self.on_note:
                self.on_note(message)
            return
        future = self.calls.pop(message["id"], None)
        if future is None:
            self.orphans.append(message)
        elif future.done():
            return
        elif "error" in message:
            future.set_exception(RpcError(message["error"]))
        else:
            future.set_result(message["result"])

    def ask(self, method, params=None):
        """Send a request: a future."""
        number = next(self.ids)
        future = asyncio.get_running_loop().create_future()
        self.send_message(json.dumps(
            {"id": number, "method": method, "params": params or {}}).encode())
        self.calls[number] = future
        return future

    async def call(self, method, params=None, seconds=LIMIT):
        async with asyncio.timeout(seconds):
            return await self.ask(method, params)

    async def initialize(self, resume=None, seconds=LIMIT):
        params = {"clientName": "t/sys"}
        if resume is not None:
            params["resumeSessionId"] = resume
        params.update(self.announces)
        got = await self.call("initialize", params, seconds)
        self.session = got["sessionId"]
        check(resume in (None, self.session), "another session id")
        self.send_message(b'{"method":"initialized","params":{}}')
        return self

    def receipt(self, number=None):
        """Say what came, or something else."""
        self.send_message(json.dumps({
            "method": "session/received", "params": {
                "bytes": self.received if number is None else number}})
            .encode())

    async def start(self, process, *argv, **more):
        return await self.call("process/start", {
            "processId": process, "argv": list(argv), "cwd": "file:///tmp",
            "env": {"PATH": os.environ["PATH"]}, "tty": False,
            "pipeStdin": False, "arg0": None, **more})

    async def note(self, method, process, seconds=LIMIT):
        """The first notification of that kind about a process."""
        deadline = time.monotonic() + seconds
        seen = 0
        while True:
            for m in self.notes[seen:]:
                if m["method"] == method and \
                        m["params"]["processId"] == process:
                    return m["params"]
            seen = len(self.notes)
            if self.ended:
                raise self.ended
            check(time.monotonic() < deadline,
                  "not in %g s: %s of %s" % (seconds, method, process))
            await asyncio.sleep(0.005)

    async def run(self, *argv, process=None, seconds=LIMIT, **more):
        """Run a command: (output, status)."""
        # A session that is resumed knows its old ones.
        process = process or str(uuid.uuid4())
        await self.start(process, *argv, **more)
        await self.note("process/closed", process, seconds)
        mine = [m for m in self.notes
                if m["params"].get("processId") == process]
        chunks = sorted((m["params"]["seq"], m["params"]["chunk"])
                        for m in mine if m["method"] == "process/output")
        status = [m["params"]["exitCode"] for m in mine
                  if m["method"] == "process/exited"]
        return (b"".join(base64.b64decode(c) for _, c in chunks),
                status[0] if status else None)


class Clear(Stream):
    """One whose payloads are messages in the clear: it is open at once."""

    async def open(self, seconds=LIMIT):
        self.link = self.registry.linked(self.environment)
        if self.link is None:
            raise Ended("offline")
        self.registry.streams[self.name] = self
        return self

    def send_message(self, message):
        if self.ended:
            raise self.ended
        self.send(frames.data(self.name, self.sent, message))
        self.sent += 1

    def on_data(self, frame):
        if frame.seq != self.next:
            self.registry.complain("message %d, not %d" %
                                   (frame.seq, self.next))
        self.next = frame.seq + 1
        self.on_message(json.loads(frame.payload))


async def how(stream, **more):
    """How an attempt to open a stream ends: "open" or a word of Ended."""
    try:
        await stream.open(**more)
    except Ended as e:
        return e.how
    return "open"


async def resumed(make, session, seconds=LIMIT):
    """A stream with that session, as the stock harness comes back to it: again
    after -32010, and again when the executor is away."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(Ended):
            stream = make()
            try:
                await stream.open()
                return await stream.initialize(session)
            except RpcError as e:
                check(e.code == -32010, "resume: %s" % e)
                stream.leave()
        check(time.monotonic() < deadline, "not resumed in %g s" % seconds)
        await asyncio.sleep(0.02)
