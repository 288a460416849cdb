"""A server's door with TLS, for tests of wss://: what comes through it goes on
to a server in the clear, as a fault lets it; and certificates for it."""
import asyncio
import contextlib
import importlib
import ssl
import threading

from client import LIMIT, TMP

proxy = importlib.import_module("8proxy")
Certificates = proxy.Certificates


class Door:
    """In a thread with a loop of its own. `fault(door, number)` says of each
    connection what to do with a piece from the server: a function that returns
    what to pass on, and whether to go on. Without a context it is a door that
    accepts and says nothing."""

    def __init__(self, url, context, fault=None, host="127.0.0.1"):
        self.server = int(url.rsplit(":", 1)[1]) if url else None
        self.context, self.fault, self.host = context, fault, host
        self.connections = 0
        self.heads = []             # the first bytes of each, unsealed
        self.closes = 0             # goodbyes of clients
        self.beats = 0              # pongs that nobody has asked for
        self.answer = None          # bytes instead of a server
        self.loop = asyncio.new_event_loop()
        self.tasks = set()
        ready = threading.Event()
        threading.Thread(target=self.main, args=(ready,), daemon=True).start()
        ready.wait(LIMIT)
        self.url = "wss://127.0.0.1:%d" % self.port
        self.name = "wss://localhost:%d" % self.port

    def main(self, ready):
        asyncio.set_event_loop(self.loop)
        # A client that trusts us not is no news.
        self.loop.set_exception_handler(lambda *_: None)
        self.listener = self.loop.run_until_complete(asyncio.start_server(
            self.serve if self.context else self.accept, self.host, 0,
            ssl=self.context))
        self.port = self.listener.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    def shut(self):
        """Nobody is there any more."""
        def end():
            self.listener.close()
            for task in self.tasks:
                task.cancel()
        self.loop.call_soon_threadsafe(end)

    def cut(self):
        """All connections end without a word."""
        self.loop.call_soon_threadsafe(
            lambda: [task.cancel() for task in self.tasks])

    async def accept(self, reader, writer):
        self.connections += 1
        with contextlib.suppress(OSError):
            await reader.read()
        writer.close()

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        self.connections += 1
        try:
            with contextlib.suppress(OSError, ssl.SSLError,
                                     asyncio.IncompleteReadError):
                await self.pass_on(reader, writer, self.connections)
        except asyncio.CancelledError:
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()

    async def pass_on(self, reader, writer, number):
        change = self.fault(self, number) if self.fault else \
            lambda data: (data, True)
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if self.answer is not None:
            writer.write(self.answer)
            await writer.drain()
            return
        up_reader, up_writer = await asyncio.open_connection(
            "127.0.0.1", self.server, limit=1 << 16)
        up_writer.write(head)
        try:
            await asyncio.gather(
                self.pump(reader, up_writer, self.from_client),
                self.pump(up_reader, writer, change))
        finally:
            up_writer.transport.abort()

    def from_client(self, data):
        self.beats += data.startswith(b"\x8a\x80")
        return data, True

    @staticmethod
    async def pump(reader, writer, change):
        while data := await reader.read(1 << 14):
            data, goes_on = change(data)
            writer.write(data)
            await writer.drain()
            if not goes_on:
                break
        # Whoever ends first, it is over.
        raise ConnectionError


def certificates():
    return Certificates(TMP + "/ca")
