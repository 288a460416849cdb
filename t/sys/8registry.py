"""An environment registry and its rendezvous on loopback, which can do all that
a real one must not.  All in one loop; what a harness sends comes from the test
itself (8harness.py) or over a websocket of its own (the stock client)."""
import asyncio
import base64
import collections
import contextlib
import hashlib
import importlib
import json
import math
import secrets
import struct
import time
import urllib.parse

from client import held_port

frames = importlib.import_module("8frames")

PROFILE = "noise_hybrid_ik_v1"
BIGGEST = 61456             # bytes of a record as it is sent
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Fault:
    """What comes instead of an answer, that many times: nothing (hang), the
    end of the connection (cut), bytes as they are (raw, and the end), or a
    status; pieces are sent with a pause after each.  Only a delay, or a gate
    (an event to wait for): the ordinary answer, later."""

    def __init__(self, status=None, body=b"", fields=(), delay=0, hang=False,
                 cut=False, raw=None, pieces=None, pause=0, times=1,
                 gate=None):
        self.status, self.fields = status, fields
        self.body = body if isinstance(body, bytes) else \
            json.dumps(body).encode()
        self.delay, self.hang, self.cut, self.raw = delay, hang, cut, raw
        self.pieces, self.pause, self.times = pieces, pause, times
        self.gate = gate

    async def answer(self, reader, writer, entry):
        """Whether it was all that is to be said."""
        await asyncio.sleep(self.delay)
        if self.gate:
            await self.gate.wait()
        if self.hang:
            entry.status = "hang"
            with contextlib.suppress(OSError):
                await reader.read()
            entry.ended = time.monotonic()
            writer.close()
        elif self.cut:
            entry.status = "cut"
            writer.transport.abort()
        elif self.raw is not None or self.pieces is not None:
            entry.status = "raw"
            for piece in self.pieces or [self.raw]:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(self.pause)
            writer.close()
        elif self.status is not None:
            reply(writer, entry, self.status, self.body, self.fields)
        else:
            return False
        return True


FOREVER = math.inf


def reply(writer, entry, status, body, fields=()):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    entry.status = status
    writer.write(("HTTP/1.1 %d Whatever\r\nContent-Type: application/json\r\n"
                  "Content-Length: %d\r\n%s\r\n" %
                  (status, len(body), "".join(f + "\r\n" for f in fields)))
                 .encode() + body)


class Entry:
    """A request that came."""

    def __init__(self, head, body, peer):
        self.at = time.monotonic()
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target = lines[0].split(" ")[:2]
        self.fields = [tuple(x.strip() for x in line.split(":", 1))
                       for line in lines[1:] if line]
        self.head, self.body, self.peer = head, body, peer
        self.path, _, self.query = self.target.partition("?")
        self.operation = self.path.rsplit("/", 1)[-1]
        self.status = None
        self.ended = None           # when they gave up waiting

    def field(self, name):
        return next((v for n, v in self.fields if n.lower() == name), None)

    def json(self):
        return json.loads(self.body)


class Link:
    """A websocket of an executor, or of a harness that is not the test."""

    def __init__(self, registry, ticket, entry, reader, writer):
        self.registry, self.ticket, self.entry = registry, ticket, entry
        self.environment, self.role = ticket.environment, ticket.role
        self.reader, self.writer = reader, writer
        self.opened = time.monotonic()
        self.closed = None              # when, and then the close code if any
        self.code = None
        self.pings, self.pongs, self.texts = [], [], []
        self.answers_pings = True
        self.reads = asyncio.Event()    # cleared: a peer that does not read
        self.reads.set()
        self.received = self.sent = 0   # frames; bytes
        self.link = None                # of a harness: the executor's

    def on_lost(self):
        self.close()

    def send(self, payload, op=2, fin=True):
        if self.writer.transport.is_closing():
            return
        head = bytes([(128 if fin else 0) | op])
        n = len(payload)
        if n < 126:
            head += bytes([n])
        elif n < 65536:
            head += b"\x7e" + struct.pack(">H", n)
        else:
            head += b"\x7f" + struct.pack(">Q", n)
        self.sent += len(head + payload)
        self.writer.write(head + payload)

    @property
    def taken(self):
        """Bytes that are no longer kept here for it."""
        return self.sent - self.writer.transport.get_write_buffer_size()

    def cut(self):
        """As a network does: no close frame."""
        self.writer.transport.abort()

    def close(self, code=1001):
        self.send(struct.pack(">H", code), 8)

    async def frame(self):
        head = await self.reader.readexactly(2)
        n = head[1] & 127
        if n == 126:
            n = int.from_bytes(await self.reader.readexactly(2), "big")
        elif n == 127:
            n = int.from_bytes(await self.reader.readexactly(8), "big")
        if head[0] & 0x70 or not head[1] & 128:
            self.registry.complain("reserved bits or no mask: %r" % head)
        key = await self.reader.readexactly(4)
        data = await self.reader.readexactly(n)
        pad = (key * (n // 4 + 1))[:n]
        return head[0] & 15, head[0] & 128, (
            int.from_bytes(data, "little") ^
            int.from_bytes(pad, "little")).to_bytes(n, "little")

    async def serve(self):
        parts = []
        while True:
            await self.reads.wait()
            op, fin, data = await self.frame()
            self.received += 1
            if op == 8:
                self.code = int.from_bytes(data[:2], "big")
                return
            if op == 9:
                self.pings.append((time.monotonic(), data))
                if self.answers_pings:
                    self.send(data, 10)
            elif op == 10:
                self.pongs.append(data)
            else:
                if op:
                    parts, kind = [], op
                parts.append(data)
                if fin:
                    self.registry.on_message(self, kind, b"".join(parts))


Ticket = collections.namedtuple("Ticket", "role environment registration")


class Environment:
    """What is known of one: the newest registration and its websocket."""

    def __init__(self, name):
        self.name = name
        self.registration = None
        self.key = None             # the executor's, as it wrote it
        self.keys = []              # those of all registrations
        self.link = None
        self.links = []             # all that were connected


def upgraded(head):
    """The answer to a request for a websocket."""
    key = Entry(head.removesuffix(b"\r\n\r\n"), b"",
                None).field("sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest())
    return (b"HTTP/1.1 101 Switching Protocols\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")


class Registry:
    def __init__(self, token, host="127.0.0.1", tls=None, name=None):
        self.token, self.host, self.tls = token, host, tls
        self.name = name or host    # in what it says of itself
        self.harness_token = secrets.token_hex(12)
        self.requests = []
        self.connections = 0        # that got as far as a request
        self.complaints = []        # about an executor's frames
        self.environments = {}
        self.tickets = {}
        self.allowed = {}           # authorization: what it stands for
        self.streams = {}           # stream id: who gets the frames
        self.strays = []            # frames for nobody
        self.tasks = set()
        # Faults are used up from the front.
        self.faults = {"register": [], "validate": [], "connect": [],
                       "upgrade": [], "harness": []}
        self.patch = {}             # of the answer to register; None: without
        self.refuses = None         # validate: function of the request
        self.shape = None           # function of a harness frame: frames
        self.link_class = Link
        self.kept = None            # keeps the port for the next start

    # --- a server ------------------------------------------------------------

    async def start(self):
        if self.kept is None:
            self.port, self.kept = held_port(self.host)
        self.server = await asyncio.start_server(
            self.on_connection, self.host, self.port, ssl=self.tls,
            limit=1 << 20)
        self.url = "%s://%s:%d" % ("https" if self.tls else "http",
                                   self.name, self.port)
        return self

    async def stop(self):
        """Nobody is there any more; may be started again."""
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def over(self):
        """For good."""
        await self.stop()
        self.kept.close()

    async def on_connection(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError,
                                     asyncio.LimitOverrunError):
                while await self.on_request(reader, writer):
                    await writer.drain()
        except asyncio.CancelledError:
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()

    async def on_request(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        entry = Entry(head, b"", writer.get_extra_info("peername"))
        length = int(entry.field("content-length") or 0)
        if entry.field("transfer-encoding"):
            self.complain("a body in chunks")
            return False
        entry.body = await reader.readexactly(length)
        self.requests.append(entry)
        if entry.field("upgrade"):
            return await self.on_upgrade(entry, reader, writer)
        if not await self.fails(entry.operation, entry, reader, writer):
            await self.answer(entry, writer)
        return not writer.transport.is_closing()

    async def answer(self, entry, writer):
        self.on_post(entry, writer)

    async def fails(self, queue, entry, reader, writer):
        faults = self.faults.get(queue)
        if not faults:
            return False
        fault = faults[0]
        fault.times -= 1
        if fault.times <= 0:
            faults.pop(0)
        return await fault.answer(reader, writer, entry)

    # --- the registry --------------------------------------------------------

    def complain(self, text):
        self.complaints.append(text)

    def seen(self, operation):
        return [e for e in self.requests if e.operation == operation]

    def upgrades(self):
        return [e for e in self.requests if e.field("upgrade")]

    def environment(self, name):
        return self.environments.setdefault(name, Environment(name))

    def on_post(self, entry, writer):
        parts = entry.path.split("/")
        known = {"register": self.register, "validate": self.validate,
                 "connect": self.connect}
        if len(parts) < 4 or entry.operation not in known or \
                entry.method != "POST":
            return reply(writer, entry, 404, {"error": {"code": "not_found"}})
        token = self.harness_token if entry.operation == "connect" \
            else self.token
        if entry.field("authorization") != "Bearer " + token:
            return reply(writer, entry, 401,
                         {"error": {"code": "unauthorized",
                                    "message": "who are you?"}})
        name = urllib.parse.unquote(parts[-2])
        status, answer = known[entry.operation](name, entry)
        return reply(writer, entry, status, answer)

    def ticket(self, role, name, registration):
        ticket = secrets.token_hex(12)
        self.tickets[ticket] = Ticket(role, name, registration)
        return "%s://%s:%d/rendezvous/%s?role=%s&sig=%s" % (
            "wss" if self.tls else "ws", self.name, self.port,
            urllib.parse.quote(name, safe=""), role, ticket)

    def expire(self):
        """No URL that was handed out is good any more."""
        self.tickets.clear()

    def register(self, name, entry):
        environment = self.environment(name)
        environment.registration = "reg-" + secrets.token_hex(8)
        role, answer = "environment", {"environment_id": name}
        if "/cloud/executor/" in entry.path:
            role = "plain"
            answer = {"id": environment.registration, "executor_id": name}
        elif entry.body:
            environment.key = entry.json()["executor_public_key"]
            environment.keys.append(environment.key)
            answer["security_profile"] = PROFILE
            answer["executor_registration_id"] = environment.registration
        else:
            role = "relay"
        answer["url"] = self.ticket(role, name, environment.registration)
        answer.update(self.patch)
        return 200, {k: v for k, v in answer.items() if v is not None}

    def admit(self, name, key):
        """What connect hands to a harness with that public key."""
        environment = self.environments[name]
        authorization = "auth-" + secrets.token_hex(16)
        self.allowed[authorization] = (name, environment.registration, key)
        return {"environment_id": name, "security_profile": PROFILE,
                "executor_registration_id": environment.registration,
                "executor_public_key": environment.key,
                "harness_key_authorization": authorization,
                "url": self.ticket("harness", name, environment.registration)}

    def connect(self, name, entry):
        if self.environment(name).link is None:
            return 409, {"error": {"code": "environment_offline"}}
        return 200, self.admit(name, entry.json()["harness_public_key"])

    def validate(self, name, entry):
        body = entry.json()
        is_known = self.allowed.get(body["harness_key_authorization"]) == (
            name, body["executor_registration_id"],
            body["harness_public_key"])
        return 200, {"valid": is_known and not (self.refuses and
                                                self.refuses(body))}

    # --- the rendezvous ------------------------------------------------------

    async def on_upgrade(self, entry, reader, writer):
        ticket = self.tickets.get(entry.query.rsplit("sig=", 1)[-1])
        if ticket is None:
            reply(writer, entry, 401, b"",
                  ["X-Codex-Rendezvous-Rejection-Reason: expired"])
            return False
        if await self.fails("harness" if ticket.role == "harness" else
                            "upgrade", entry, reader, writer):
            await writer.drain()
            return False
        entry.status = 101
        writer.write(upgraded(entry.head))
        link = self.link_class(self, ticket, entry, reader, writer)
        if ticket.role != "harness":
            environment = self.environment(ticket.environment)
            if environment.link:
                environment.link.close()
            environment.link = link
            environment.links.append(link)
        try:
            await link.serve()
        finally:
            link.closed = time.monotonic()
            self.on_end(link)
        return False

    def on_end(self, link):
        """One side is gone; its streams end, and the other side is told."""
        environment = self.environment(link.environment)
        if environment.link is link:
            environment.link = None
        for name, owner in list(self.streams.items()):
            if owner is link:
                del self.streams[name]
                self.deliver(link.environment,
                             frames.reset(name, b"harness_disconnected"))
            elif link.role != "harness" and owner.link is link:
                del self.streams[name]
                owner.on_lost()

    def on_message(self, link, op, data):
        if link.role == "harness":
            frame = frames.decode(data)
            link.link = self.environment(link.environment).link
            self.streams.setdefault(frame.stream, link)
            self.deliver(link.environment, data)
            return
        if op == 1:
            link.texts.append(data)
        if op == 1 and link.role != "plain":
            self.complain("a text message: %r" % data)
        elif link.role != "plain":
            self.on_frame(data, link.role == "environment")

    def on_frame(self, data, is_sealed):
        """From an executor: right in every detail, whatever it was sent."""
        try:
            frame = frames.decode(data)
        except (ValueError, TypeError) as e:
            self.complain("not a frame: %s, %r" % (e, data[:80]))
            return
        if (frame.version, frame.ack, frame.bits) != (1, 0, 0) or \
                not frame.payload or \
                is_sealed and len(frame.payload) > BIGGEST or \
                frame.kind not in ("data", "reset", "handshake") or \
                frame.kind == "data" and (frame.index, frame.count) != (0, 1) \
                or frame.kind == "reset" and \
                frame.payload != frames.REASON.encode():
            self.complain("a frame that is wrong: %r" % (frame,))
        owner = self.streams.get(frame.stream)
        if owner is None:
            self.strays.append(frame)
        elif isinstance(owner, Link):
            owner.send(data)
        else:
            owner.on_frame(frame)

    def deliver(self, name, data):
        """A message from a harness to the executor of an environment."""
        link = self.environments[name].link
        if link:
            for piece in self.shape(data) if self.shape else [data]:
                link.send(piece)

    # --- what tests wait for -------------------------------------------------

    def linked(self, name, after=0):
        """Its websocket, if it is not among the first ones."""
        environment = self.environments.get(name)
        if environment is None or len(environment.links) <= after:
            return None
        return environment.link
