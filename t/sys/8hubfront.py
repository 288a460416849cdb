"""execsrv-hub in the place of the tests' own registry: executors talk to a front,
which notes their requests, may fail instead, and passes everything else to a
hub; harnesses of the test are connected to the hub itself."""
import asyncio
import contextlib
import importlib
import struct
import time
import urllib.parse

from client import frame

registry = importlib.import_module("8registry")
frames = importlib.import_module("8frames")
hublib = importlib.import_module("8hub")
harness = importlib.import_module("8harness")

RULES = """
Match Executor token:build
	MayRegister *
Match Harness token:ci
	MayConnect *
"""
# Of resets that are the hub's own.
REASONS = (b"executor_disconnected", b"too_many_streams")
RAW = b"raw"            # the connection of frames that are nobody's


def stream_of(data):
    """As far as it can be read."""
    stream = None
    with contextlib.suppress(ValueError):
        for number, value in frames.fields(data):
            if number == 2 and isinstance(value, bytes):
                stream = value
    return stream


class OwnRegistryOnly(Exception):
    """What a hub does not do, because it must not."""


class Unknown(dict):
    """What the hub knows alone."""

    def __missing__(self, key):
        raise OwnRegistryOnly("allowed")

    def pop(self, *what):
        raise OwnRegistryOnly("allowed")


class HubLink:
    """The websocket of an executor, as the front sees it: bytes."""

    def __init__(self, environment, entry, ends):
        self.environment, self.entry, self.ends = environment, entry, ends
        self.opened, self.closed = time.monotonic(), None

    def cut(self):
        for writer in self.ends:
            writer.transport.abort()

    def close(self, code=1001):
        self.ends[0].write(b"\x88\x02" + struct.pack(">H", code))
        self.ends[1].transport.abort()

    def __getattr__(self, name):
        raise OwnRegistryOnly("link." + name)


class HubHarness:
    """The websocket of a harness, in the tests' loop."""

    def __init__(self, front, url):
        self.front, self.out, self.data = front, bytearray(), b""
        self.is_leaving = False
        self.ws = hublib.Ws(url)
        self.sock = self.ws.sock
        self.data = self.ws.data
        self.sock.setblocking(False)
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.sock, self.on_readable)

    def close(self):
        if self.sock.fileno() != -1:
            self.loop.remove_reader(self.sock)
            self.loop.remove_writer(self.sock)
            self.sock.close()

    def send(self, data, op=2):
        if self.sock.fileno() == -1:
            return
        self.out += frame(op, data)
        self.on_writable()

    def leave(self):
        """When all is sent."""
        self.is_leaving = True
        self.on_writable()

    def on_writable(self):
        try:
            while self.out:
                n = self.sock.send(self.out)
                del self.out[:n]
        except BlockingIOError:
            self.loop.add_writer(self.sock, self.on_writable)
            return
        except OSError:
            self.close()
            return
        self.loop.remove_writer(self.sock)
        if self.is_leaving:
            self.close()

    def on_readable(self):
        try:
            piece = self.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self.close()
            return
        self.data += piece
        at = 0
        while True:
            got = self.take(at)
            if got is None:
                break
            at = got
        self.data = self.data[at:]

    def take(self, at):
        """A frame of the hub: where the next one begins; None: incomplete."""
        data = self.data
        if len(data) < at + 2:
            return None
        n, head = data[at + 1] & 127, at + 2
        size = {126: 2, 127: 8}.get(n, 0)
        if len(data) < head + size:
            return None
        if size:
            n = int.from_bytes(data[head:head + size], "big")
        end = head + size + n
        if len(data) < end:
            return None
        payload, op = data[head + size:end], data[at] & 15
        if op == 9:
            self.send(payload, 10)
        elif op == 2:
            self.front.on_hub_frame(payload)
        return end




class HubFront(registry.Registry):
    def __init__(self, token, **how):
        self.hub, self.conns, self.is_made = None, {}, False
        super().__init__(token, **how)
        self.allowed = Unknown()
        self.is_made = True

    def __setattr__(self, name, value):
        if self.__dict__.get("is_made") and value and name in (
                "patch", "refuses", "shape", "link_class"):
            raise OwnRegistryOnly(name)
        super().__setattr__(name, value)

    async def start(self):
        await super().start()
        if self.hub is None:
            self.hub = hublib.Hub("RequestRate 100000", RULES, starts=False)
            self.hub.token["build"] = self.token
            self.hub.token["ci"] = self.harness_token
            self.hub.fleet_url = self.url
            self.hub.write()
            await asyncio.to_thread(self.hub.start)
        return self

    async def stop(self):
        """Another start() has the same hub."""
        await super().stop()
        for conn in self.conns.values():
            conn.close()
        self.conns.clear()

    async def over(self):
        await super().over()
        if self.hub:
            await asyncio.to_thread(self.hub.stop)

    def expire(self):
        raise OwnRegistryOnly("tickets that expire at once")

    # --- executors -----------------------------------------------------------

    async def ask(self, entry):
        """A request to the hub, as it came: both ends of its connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1",
                                                       self.hub.port)
        writer.write(entry.head + b"\r\n\r\n" + entry.body)
        return reader, writer

    async def answer(self, entry, writer):
        reader, there = await self.ask(entry)
        text = await reader.read()
        there.close()
        answer = hublib.Answer(text)
        entry.status = answer.status
        if entry.operation == "register" and answer.status == 200:
            got = answer.json()
            environment = self.environment(got["environment_id"])
            environment.registration = got["executor_registration_id"]
            environment.key = entry.json()["executor_public_key"]
            environment.keys.append(environment.key)
        writer.write(text)
        await writer.drain()
        writer.close()

    async def on_upgrade(self, entry, reader, writer):
        if await self.fails("upgrade", entry, reader, writer):
            await writer.drain()
            return False
        from_hub, to_hub = await self.ask(entry)
        head = await from_hub.readuntil(b"\r\n\r\n")
        writer.write(head)
        entry.status = int(head.split(b" ")[1])
        if entry.status != 101:
            writer.write(await from_hub.read())
            await writer.drain()
            to_hub.close()
            return False
        name = urllib.parse.unquote(entry.path.rsplit("/", 1)[-1])
        environment = self.environment(name)
        link = HubLink(name, entry, (writer, to_hub))
        environment.link = link
        environment.links.append(link)
        try:
            await asyncio.wait([
                asyncio.ensure_future(self.pass_on(reader, to_hub)),
                asyncio.ensure_future(self.pass_on(from_hub, writer))],
                return_when=asyncio.FIRST_COMPLETED)
        finally:
            link.closed = time.monotonic()
            if environment.link is link:
                environment.link = None
            link.cut()
        return False

    @staticmethod
    async def pass_on(reader, writer):
        with contextlib.suppress(OSError):
            while True:
                data = await reader.read(1 << 18)
                if not data:
                    return
                writer.write(data)
                await writer.drain()

    # --- harnesses -----------------------------------------------------------

    def admit(self, name, key):
        answer = self.hub.connect(name, "ci", key)
        if answer.status != 200:
            raise harness.Ended("offline")
        return answer.json()

    def its_conn(self, name, stream, bundle):
        """The websocket that a stream's frames take."""
        conn = self.conns.get((name, stream))
        if conn is None or conn.sock.fileno() == -1:
            bundle = bundle or self.admit(name, hublib.new_key())
            path = bundle["url"].partition("://")[2].partition("/")[2]
            conn = self.conns[name, stream] = HubHarness(
                self, "ws://127.0.0.1:%d/%s" % (self.hub.port, path))
        return conn

    def deliver(self, name, data):
        stream = stream_of(data)
        owner = self.streams.get(stream)
        mine = isinstance(owner, harness.Stream) and \
            owner.environment == name
        try:
            conn = self.its_conn(name, stream if mine else RAW,
                                 owner.bundle if mine else None)
        except (harness.Ended, hublib.Refused):
            if mine:
                owner.on_lost()
            return
        conn.send(data)
        if mine and data == frames.reset(stream, b"harness_disconnected"):
            conn.leave()

    def on_hub_frame(self, data):
        got = frames.decode(data)
        owner = self.streams.get(got.stream)
        if got.kind == "reset" and got.payload in REASONS:
            if owner is not None:
                del self.streams[got.stream]
                owner.on_lost()
            return
        self.on_frame(data, True)
