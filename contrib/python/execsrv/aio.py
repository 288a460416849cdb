"""The same for asyncio: a session whose calls are awaited.

    async with await execsrv.aio.connect("ws://127.0.0.1:7411") as s:
        p = await s.create_subprocess_exec("make", stdout=PIPE)
        async for line in p.stdout:
            ...
        await p.wait()
"""
import asyncio
import io
from typing import Any, List, Optional

from . import (DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess,
               Entry, ExecsrvError, Stat, _files, _lib)
from ._core import Core, Events, Transfer, lib

__all__ = ["connect", "AsyncSession", "Process", "PIPE", "STDOUT", "DEVNULL",
           "ExecsrvError"]


async def connect(url: Optional[str] = None, *, on_status=None,
                  **options: Any) -> "AsyncSession":
    """Open a session; options as of execsrv.Session."""
    s = AsyncSession(url, on_status, options)
    try:
        await s._opened
    except BaseException:
        s.close()
        raise
    return s


class AsyncSession:
    """As execsrv.Session; for the event loop that made it."""

    def __init__(self, url, on_status, options):
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.create_future()
        self._on_status = on_status
        self._core = Core(url, True, on_status=self._told, **options)
        self._fd = lib.execsrv_fd(self._core.x)
        if self._fd == -1:
            e = self._core.failure()
            self._core.close()
            raise e
        self._loop.add_reader(self._fd, self._ready)

    def _ready(self):
        if lib.execsrv_dispatch(self._core.x) == -1:
            self._loop.remove_reader(self._fd)
            self._fd = -1

    def _told(self, status, why):
        if not self._opened.done():
            if status == "failed":
                self._opened.set_exception(why)
            elif status == "connected":
                self._opened.set_result(None)
        elif self._on_status is not None:
            self._loop.call_soon(self._on_status, status, why)

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        if self._fd != -1:
            self._loop.remove_reader(self._fd)
            self._fd = -1
        self._core.close()

    @property
    def id(self) -> str:
        return (lib.execsrv_session(self._core.check()) or b"").decode()

    @property
    def status(self) -> str:
        return _lib.STATUS[lib.execsrv_status(self._core.check())]

    def can(self, capability: str) -> bool:
        return lib.execsrv_can(self._core.check(), capability.encode())

    async def call(self, method: str, params: Any = None) -> Any:
        """Send a request of any method; cancelled with its task."""
        future = self._loop.create_future()

        def done(result, e):
            if not future.done():
                if e is not None:
                    future.set_exception(e)
                else:
                    future.set_result(result)
        request = self._core.call(method, params, done)
        try:
            return await future
        except asyncio.CancelledError:
            self._core.cancel(request)
            raise

    # --- processes

    async def create_subprocess_exec(self, *args, stdin=None, stdout=None,
                                     stderr=None, **options) -> "Process":
        """As asyncio's; cwd, env, sandbox, tty as of execsrv.Popen."""
        p = Process(self, args, stdin, stdout, stderr, options)
        try:
            await p._started
        except BaseException:
            p._handle.free()
            raise
        return p

    async def create_subprocess_shell(self, command: str, **options):
        return await self.create_subprocess_exec(
            "/bin/sh", "-c", command, **options)

    async def run(self, args, *, input: Optional[bytes] = None,
                  capture_output: bool = False, check: bool = False,
                  **options) -> CompletedProcess:
        """As execsrv.Session.run(), with bytes; asyncio.wait_for() has the
        timeout, after which the process is killed."""
        if capture_output:
            options["stdout"] = options["stderr"] = PIPE
        if input is not None:
            options["stdin"] = PIPE
        p = await self.create_subprocess_exec(*args, **options)
        try:
            out, err = await p.communicate(input)
        except BaseException:
            p.kill()
            raise
        if check and p.returncode != 0:
            raise CalledProcessError(p.returncode or 0, args, out, err)
        return CompletedProcess(args, p.returncode or 0, out, err)

    # --- files

    async def _file(self, request: _files.Request) -> Any:
        method, params, made = request
        return made(await self.call(method, params))

    async def stat(self, path) -> Stat:
        return await self._file(_files.stat(path))

    async def scandir(self, path) -> List[Entry]:
        return await self._file(_files.scandir(path))

    async def listdir(self, path) -> List[str]:
        return [e.name for e in await self.scandir(path)]

    async def mkdir(self, path, parents: bool = False) -> None:
        await self._file(_files.mkdir(path, parents))

    async def remove(self, path, *, recursive: bool = False,
                     missing_ok: bool = False) -> None:
        await self._file(_files.remove(path, recursive, missing_ok))

    async def copy(self, source, target, *, recursive: bool = False) -> None:
        await self._file(_files.copy(source, target, recursive))

    async def rename(self, source, target) -> None:
        await self._file(_files.rename(source, target))

    async def realpath(self, path) -> str:
        return await self._file(_files.realpath(path))

    async def _move(self, path, write, read) -> None:
        future = self._loop.create_future()

        def done(e):
            if not future.done():
                if e is not None:
                    future.set_exception(e)
                else:
                    future.set_result(None)
        free = self._core.move(path, Transfer(write, read, done),
                               read is None)
        try:
            await future
        finally:
            free()

    async def read_bytes(self, path) -> bytes:
        parts: List[bytes] = []
        await self._move(path, parts.append, None)
        return b"".join(parts)

    async def write_bytes(self, path, data: bytes) -> None:
        if len(data) <= _files.SMALL:
            await self._file(_files.write(path, data))
        else:
            await self._move(path, None, io.BytesIO(data).read)


class _Writer:
    """Standard input, as asyncio's StreamWriter."""

    def __init__(self, p: "Process"):
        self._p, self._is_closing = p, False

    def write(self, data: bytes) -> None:
        if not self._p._closed.done():
            self._p._handle.write(bytes(data))

    async def drain(self) -> None:
        """Wait until the process has taken most of it."""
        p = self._p
        while p._handle.room() == 0 and not p._closed.done() and \
                p._write_failure is None:
            p._answered.clear()
            await p._answered.wait()
        if p._write_failure is not None or p._closed.done():
            raise BrokenPipeError("the process does not take input")

    def close(self) -> None:
        if not self._is_closing and not self._p._closed.done():
            self._p._handle.close_stdin()
        self._is_closing = True

    write_eof = close

    def is_closing(self) -> bool:
        return self._is_closing


class Process(Events):
    """As asyncio.subprocess.Process; returncode is 128 + N after signal N."""

    def __init__(self, session, args, stdin, stdout, stderr, options):
        loop = asyncio.get_running_loop()
        self.args, self.returncode = args, None
        self.sandbox_denied = False
        self._started = loop.create_future()
        self._closed = loop.create_future()
        self._answered = asyncio.Event()
        self._write_failure: Optional[Exception] = None
        self._to_stdout = stderr == STDOUT
        self.stdout = asyncio.StreamReader() if stdout == PIPE else None
        self.stderr = asyncio.StreamReader() if stderr == PIPE else None
        self._handle = session._core.start(args, self, stdin=stdin == PIPE,
                                           **options)
        self.id = self._handle.id
        self.stdin = _Writer(self) if stdin == PIPE else None

    def on_answer(self, what: int, e: Optional[Exception]) -> None:
        if what == _lib.START and not self._started.done():
            if e is not None:
                self._started.set_exception(e)
            else:
                self._started.set_result(None)
        elif what == _lib.WRITE:
            self._write_failure = self._write_failure or e
            self._answered.set()

    def on_output(self, stream: int, data: bytes) -> None:
        to = self.stderr if stream == _lib.STDERR and not self._to_stdout \
            else self.stdout
        if to is not None:
            to.feed_data(data)

    def on_exited(self, code: int, denied: bool) -> None:
        self.returncode, self.sandbox_denied = code, denied

    def on_closed(self, e: Optional[Exception]) -> None:
        for stream in self.stdout, self.stderr:
            if stream is not None:
                if e is not None:
                    stream.set_exception(e)
                else:
                    stream.feed_eof()
        if e is not None and not self._started.done():
            self._started.set_exception(e)
        elif not self._closed.done():
            self._closed.set_result(e)
        self._answered.set()

    async def wait(self) -> int:
        """Wait for its end, and for that of its output."""
        e = await asyncio.shield(self._closed)
        if e is not None:
            raise e
        self._handle.free()
        return self.returncode

    async def communicate(self, input: Optional[bytes] = None):
        if self.stdin is not None:
            try:
                for at in range(0, len(input or b""), 65536):
                    self.stdin.write((input or b"")[at:at + 65536])
                    await self.stdin.drain()
            except BrokenPipeError:
                pass
            self.stdin.close()
        await self.wait()
        return (await self.stdout.read() if self.stdout else None,
                await self.stderr.read() if self.stderr else None)

    def send_signal(self, sig) -> None:
        if not self._closed.done():
            self._handle.signal(sig)

    def terminate(self) -> None:
        if not self._closed.done():
            self._handle.terminate()

    def kill(self) -> None:
        if not self._closed.done():
            self._handle.kill()
