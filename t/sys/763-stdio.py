"""execsrvctl stdio: a server's messages, a line each, on standard input and
output: all of them, at the pace of both ends, and a reason when it is over."""
import asyncio
import base64
import importlib
import json
import os
import socket
import threading

import tokens

lib = importlib.import_module("8common")
import client  # noqa: E402
from client import BUILD, LIMIT, check  # noqa: E402

HELLO = {"id": 1, "method": "initialize",
         "params": {"clientName": "t", "resumeSessionId": None}}
BIG = 6 << 20


class Bridge:
    """The command, and what comes from it."""

    async def start(self, url, *options, **how):
        clean = {k: v for k, v in os.environ.items()
                 if not k.lower().endswith("_proxy")}
        self.child = await asyncio.create_subprocess_exec(
            BUILD + "/execsrvctl", "stdio", *options, url,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=clean, limit=64 << 20, **how)
        return self

    def send(self, *messages):
        for message in messages:
            self.child.stdin.write(json.dumps(message).encode() + b"\n")

    async def line(self):
        async with asyncio.timeout(LIMIT):
            return await self.child.stdout.readline()

    async def answer(self, number, notes=None):
        """The answer to a request; what came before is kept in notes."""
        while True:
            line = await self.line()
            if not line.endswith(b"\n"):
                raise AssertionError("it ended: %r" % (
                    await self.child.stderr.read(),))
            message = json.loads(line)
            if message.get("id") == number:
                return message
            if notes is not None:
                notes.append(message)

    async def open(self):
        self.send(HELLO)
        check("sessionId" in (await self.answer(1))["result"], "a session")
        self.send({"method": "initialized"})
        return self

    async def end(self, status, told=False):
        """How it ends, by itself or because its input does (told): the rest
        of its output, and what it says."""
        if told:
            self.child.stdin.close()
        async with asyncio.timeout(LIMIT * 3):
            # communicate() ends the input as well, since Python 3.13
            out, err = await asyncio.gather(
                self.child.stdout.read(), self.child.stderr.read())
            await self.child.wait()
        check(self.child.returncode == status, "%s: %r" % (
            self.child.returncode, err))
        return out, err


def start_of(number, name, *argv, **more):
    return {"id": number, "method": "process/start", "params": {
        "processId": name, "argv": list(argv), "cwd": "file:///", "env": {
            "PATH": os.environ["PATH"]}, "tty": False, "pipeStdin": False,
        "arg0": None, **more}}


async def output(bridge, name, notes):
    """All that a process puts out."""
    data = b""
    while True:
        for note in notes:
            what = note.get("params", {})
            if what.get("processId") != name:
                continue
            if note["method"] == "process/output":
                data += base64.b64decode(what["chunk"])
            elif note["method"] == "process/closed":
                return data
        notes[:] = [json.loads(await bridge.line())]


async def exchange(bridge):
    """A session; much output, for a reader that takes its time; much input."""
    await bridge.open()
    notes = []
    bridge.send(start_of(2, "a", "seq", "700000"))
    check("result" in await bridge.answer(2, notes), "started")
    await asyncio.sleep(0.3)            # all that may be held is held
    data = await output(bridge, "a", notes)
    check(data == await lib.numbers(700000), "%d bytes" % len(data))
    notes = []
    bridge.send(start_of(3, "b", "wc", "-c", pipeStdin=True))
    check("result" in await bridge.answer(3, notes), "started")
    chunk = base64.b64encode(b"x" * BIG).decode()
    bridge.send({"id": 4, "method": "process/write", "params": {
        "processId": "b", "chunk": chunk, "writeId": "1"}})
    await bridge.child.stdin.drain()
    check((await bridge.answer(4, notes))["result"]["status"] == "accepted",
          "input")
    bridge.send({"id": 5, "method": "process/closeStdin", "params": {
        "processId": "b"}})
    data = await output(bridge, "b", notes)
    check(int(data) == BIG, data)
    bridge.child.stdin.write(b"\r\n  \n")       # nothing
    check(await bridge.end(0, True) == (b"", b""), "nothing more")


async def servers(rig):
    """A WebSocket, by address and by name, and a Unix socket."""
    path = rig.dir + "/s"
    server = await lib.aside(lambda: client.Server(
        listen=("ws://127.0.0.1:0", "unix:" + path)))
    for url in (server.url, server.url.replace("127.0.0.1", "localhost"),
                "unix:" + path):
        await exchange(await Bridge().start(url))
    await lib.aside(server.stop)


async def environment(rig):
    """One behind a registry."""
    await rig.start()
    bridge = await Bridge().start(
        "remote:%s@%s" % (rig.environment, rig.registry.url), "--token-file",
        tokens.secret(rig.registry.harness_token))
    await exchange(bridge)
    refused = await Bridge().start(
        "remote:%s@%s" % (rig.environment, rig.registry.url), "--token-file",
        tokens.secret("wrong"))
    out, err = await refused.end(1)
    check(out == b"" and err.count(b"\n") == 1 and b"remote:" in err and
          b"wrong" not in err, err)


async def over(rig):
    """Answers that are awaited at the end of input; ends in the wrong place."""
    server = await lib.aside(client.Server)
    bridge = await Bridge().start(server.url)
    bridge.send(HELLO, {"method": "initialized"},
                {"id": 2, "method": "environment/status"})
    out, err = await bridge.end(0, True)
    check([json.loads(line).get("id") for line in out.splitlines()] ==
          [1, 2] and err == b"", (out, err))
    for data, why in ((b'{"id":1', b"no end"), (b"\xff\n", b"UTF-8")):
        bridge = await Bridge().start(server.url)
        bridge.child.stdin.write(data)
        out, err = await bridge.end(1, True)
        check(out == b"" and err.count(b"\n") == 1 and why in err, err)
    # The reader leaves: so does its bridge, and the server's worker.
    bridge = await (await Bridge().start(server.url)).open()
    bridge.send(start_of(2, "a", "yes"))
    await bridge.answer(2)
    bridge.child._transport.get_pipe_transport(1).close()
    async with asyncio.timeout(LIMIT):
        check(await bridge.child.wait() == 1, "no reader")
    # The server ends.
    bridge = await (await Bridge().start(server.url)).open()
    bridge.send({"id": 2, "method": "environment/status"})
    await bridge.answer(2)
    await lib.aside(server.stop)
    out, err = await bridge.end(1)
    check(server.url.encode() in err and err.count(b"\n") == 1, err)


async def silent(rig):
    """Servers that are none, that say nothing, and that stop to."""
    port, kept = client.held_port()
    with kept:
        bridge = await Bridge().start("ws://localhost:%d" % port)
        out, err = await bridge.end(1)
    check(b"refused" in err, err)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = "ws://127.0.0.1:%d" % mute.getsockname()[1]
        upgraded = []

        def serve():
            taken, _ = mute.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += taken.recv(4096)
            taken.sendall(lib.registry.upgraded(head))
            upgraded.append(taken)
        thread = threading.Thread(target=serve)
        thread.start()
        bridge = await Bridge().start(url, "--silence", "2")
        await lib.until(lambda: upgraded, what="it is connected")
        out, err = await bridge.end(1)
        check(b"does not answer a ping" in err, err)
        await lib.aside(thread.join)
        upgraded[0].close()


class Cut:
    """Passes bytes on, and cuts connections when it is told to."""

    async def start(self, url):
        self.to = int(url.rsplit(":", 1)[1])
        self.live, self.count, self.refuses = [], 0, False
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "ws://127.0.0.1:%d" % (
            self.server.sockets[0].getsockname()[1])
        return self

    async def serve(self, reader, writer):
        if self.refuses:
            writer.transport.abort()
            return
        self.count += 1
        up = await asyncio.open_connection("127.0.0.1", self.to)
        self.live += [writer.transport, up[1].transport]
        await asyncio.gather(self.pump(reader, up[1]),
                             self.pump(up[0], writer))

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()

    def cut(self):
        for transport in self.live:
            transport.abort()
        self.live = []


async def recovers(rig):
    """Connections are lost: output and input are whole, and come once; what
    may not be sent twice is answered; the rest goes on."""
    server = await lib.aside(client.Server)
    cut = await Cut().start(server.url)
    bridge = await (await Bridge().start(cut.url)).open()
    notes = []
    bridge.send(start_of(2, "a", "sh", "-c", "seq 300000; read x; echo $x",
                         pipeStdin=True), start_of(3, "b", "sleep", "1000"))
    check("result" in await bridge.answer(2, notes), "started")
    check("result" in await bridge.answer(3, notes), "started")
    for _ in range(5):
        n = cut.count
        cut.cut()
        bridge.send({"id": 4, "method": "environment/status"})
        check("result" in await bridge.answer(4, notes), "it goes on")
        check(cut.count > n, "over the same connection")
    # Both are lost or heard; the server knows a write that it has seen.
    bridge.send({"id": 5, "method": "process/read", "params": {
        "processId": "b", "waitMs": 600000}},
        {"id": 6, "method": "process/write", "params": {
            "processId": "a", "chunk": base64.b64encode(b"end\n").decode(),
            "writeId": "w"}})
    cut.cut()
    check((await bridge.answer(6, notes))["result"]["status"] == "accepted",
          "input")
    data = await output(bridge, "a", notes)
    check(data == await lib.numbers(300000) + b"end\n",
          "%d bytes" % len(data))
    bridge.send({"id": 7, "method": "process/terminate", "params": {
        "processId": "b"}})
    check((await bridge.answer(5))["result"]["exited"], "the old request")
    check((await bridge.end(0, True))[1] == b"", "it complained")
    cut.cut()
    # No connection comes: it says where the session is.
    bridge = await (await Bridge().start(cut.url, "--patience", "1")).open()
    cut.refuses = True
    cut.cut()
    out, err = await bridge.end(1)
    check(b"the connection was lost: " in err and b"session" in err and
          err.count(b"\n") == 1, err)
    # The server ends it.
    cut.refuses = False
    bridge = await (await Bridge().start(cut.url)).open()
    bridge.send({"id": 2, "method": "environment/status"})
    await bridge.answer(2)
    await lib.aside(server.stop)
    out, err = await bridge.end(1)
    check(b"session/ending" in out and err.count(b"\n") == 1, (out, err))
    cut.server.close()


lib.main(servers, environment, over, silent, recovers)
