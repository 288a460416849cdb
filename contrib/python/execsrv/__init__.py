"""Run commands and use files on a machine with an exec server.

    import execsrv

    with execsrv.Session("ws://127.0.0.1:7411") as s:
        print(s.run(["uname", "-a"], capture_output=True, text=True).stdout)

Session has the habits of subprocess; execsrv.aio has those of asyncio.  Paths
are absolute and of the server's machine.
"""
import io
import subprocess
import sys
import time
from subprocess import (DEVNULL, PIPE, STDOUT,  # noqa: F401
                        CalledProcessError, CompletedProcess, TimeoutExpired)
from typing import Any, Callable, List, Optional

from . import _files, _lib
from ._core import Core, Events, ExecsrvError, Handle, Transfer, error, lib
from ._files import Entry, Stat

__all__ = ["Session", "Popen", "run", "ExecsrvError", "Entry", "Stat", "PIPE",
           "STDOUT", "DEVNULL", "CalledProcessError", "CompletedProcess",
           "TimeoutExpired", "version"]
__version__ = "0.1.0"


def version() -> str:
    """The version of libexecsrv."""
    return lib.execsrv_version().decode()


class Session:
    """A connection to a server and its session.

    url: ws://, wss://, unix: or remote:, as of execsrv_open(3); None: a server of
    our own, which ends with the session.  For use by one thread at a time; other
    threads have sessions of their own.  The connection is made again when it is
    lost, and processes go on; on_status(word, exception) hears of that.
    """

    def __init__(self, url: Optional[str] = None, **options: Any):
        """options: token, name, resume (a session's id), ca_file,
        connect_timeout, open_timeout (how long to try for the first connection),
        recover_timeout, on_status, settings (of a server of our own)."""
        self._core = Core(url, False, **options)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the server ends the session after a while."""
        self._core.close()

    def end(self, timeout: float = 10) -> None:
        """End the session and its processes now, and close the connection."""
        e = _lib.Error()
        r = lib.execsrv_close_session(self._core.check(),
                                      int(timeout * 1000), e)
        self.close()
        if r == -1:
            raise error(e)

    @property
    def id(self) -> str:
        """With which another client may resume the session."""
        return (lib.execsrv_session(self._core.check()) or b"").decode()

    @property
    def status(self) -> str:
        """"connected", "recovering", "ending" or "failed"."""
        return _lib.STATUS[lib.execsrv_status(self._core.check())]

    def can(self, capability: str) -> bool:
        return lib.execsrv_can(self._core.check(), capability.encode())

    def wakeup(self) -> None:
        """End a wait() of the thread that uses the session; from any thread."""
        lib.execsrv_wakeup(self._core.check())

    def _until(self, is_done: Callable[[], Any],
               deadline: Optional[float] = None) -> bool:
        """Handle events until something has happened; False: too late."""
        while not is_done():
            left = -1
            if deadline is not None:
                left = int((deadline - time.monotonic()) * 1000)
                if left <= 0:
                    return False
            if self._core.wait(left) == -1 and \
                    not is_done():
                raise self._core.failure()
        return True

    def call(self, method: str, params: Any = None,
             timeout: Optional[float] = None) -> Any:
        """Send a request of any method; return its result."""
        answer: List[Any] = []
        request = self._core.call(method, params,
                                  lambda r, e: answer.extend((r, e)))
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            if not self._until(lambda: answer, deadline):
                raise TimeoutError("the server does not answer " + method)
        except BaseException:
            self._core.cancel(request)
            raise
        if answer[1] is not None:
            raise answer[1]
        return answer[0]

    # --- processes

    def Popen(self, args, **options: Any) -> "Popen":
        """Start a process, see Popen."""
        return Popen(self, args, **options)

    def run(self, args, *, input=None, capture_output: bool = False,
            timeout: Optional[float] = None, check: bool = False,
            **options: Any) -> CompletedProcess:
        """As subprocess.run(), there."""
        if capture_output:
            options["stdout"] = options["stderr"] = PIPE
        if input is not None:
            options["stdin"] = PIPE
        with Popen(self, args, **options) as p:
            try:
                out, err = p.communicate(input, timeout)
            except BaseException:
                p.kill()
                raise
        if check and p.returncode != 0:
            raise CalledProcessError(p.returncode, p.args, out, err)
        return CompletedProcess(p.args, p.returncode, out, err)

    # --- files

    def _file(self, request: _files.Request) -> Any:
        method, params, made = request
        return made(self.call(method, params))

    def stat(self, path) -> Stat:
        return self._file(_files.stat(path))

    def exists(self, path) -> bool:
        try:
            self.stat(path)
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except ExecsrvError as e:
            if e.code == -32004:
                return False
            raise

    def scandir(self, path) -> List[Entry]:
        return self._file(_files.scandir(path))

    def listdir(self, path) -> List[str]:
        return [e.name for e in self.scandir(path)]

    def mkdir(self, path, parents: bool = False) -> None:
        self._file(_files.mkdir(path, parents))

    def remove(self, path, *, recursive: bool = False,
               missing_ok: bool = False) -> None:
        self._file(_files.remove(path, recursive, missing_ok))

    def copy(self, source, target, *, recursive: bool = False) -> None:
        """On the server's side."""
        self._file(_files.copy(source, target, recursive))

    def rename(self, source, target) -> None:
        """Needs the capability execsrvFsAttributes."""
        self._file(_files.rename(source, target))

    def realpath(self, path) -> str:
        return self._file(_files.realpath(path))

    def _move(self, path, write, read, mode: int = 0) -> None:
        done: List[Any] = []
        free = self._core.move(path, Transfer(write, read, done.append),
                               read is None, mode)
        try:
            self._until(lambda: done)
        finally:
            free()
        if done[0] is not None:
            raise done[0]

    def read_bytes(self, path) -> bytes:
        """A file of any size."""
        parts: List[bytes] = []
        self._move(path, parts.append, None)
        return b"".join(parts)

    def read_text(self, path, encoding: str = "utf-8") -> str:
        return self.read_bytes(path).decode(encoding)

    def write_bytes(self, path, data: bytes) -> None:
        """Create or replace a file."""
        if len(data) <= _files.SMALL:
            self._file(_files.write(path, data))
        else:
            self._move(path, None, io.BytesIO(data).read)

    def write_text(self, path, text: str, encoding: str = "utf-8") -> None:
        self.write_bytes(path, text.encode(encoding))

    def get(self, path, local) -> None:
        """Copy a file from the server into a local one."""
        with open(local, "wb") as f:
            self._move(path, f.write, None)

    def put(self, local, path, mode: int = 0) -> None:
        """Copy a local file to the server."""
        with open(local, "rb") as f:
            self._move(path, None, f.read, mode)


class _Output(io.RawIOBase):
    """What a process writes."""

    def __init__(self, p: "Popen"):
        super().__init__()
        self._p, self.data = p, bytearray()

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        self._p.session._until(lambda: self.data or self._p._is_closed)
        if not self.data and self._p._failure is not None:
            raise self._p._failure
        n = min(len(room), len(self.data))
        room[:n] = self.data[:n]
        del self.data[:n]
        return n


class _Input(io.RawIOBase):
    """What a process reads."""

    def __init__(self, p: "Popen"):
        super().__init__()
        self._p = p

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        p = self._p
        p.session._until(lambda: p._handle.room() > 0 or
                         p._write_failure or p._is_closed)
        if p._write_failure is not None or p._is_closed:
            raise BrokenPipeError("the process does not take input")
        data = bytes(data[:p._handle.room()])
        p._handle.write(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            # It stays open where that cannot be done: for __exit__ to know.
            if not self._p._is_closed and self._p.session._core.x:
                self._p._handle.close_stdin()
            super().close()


class Popen(Events):
    """A process of a session, as subprocess.Popen.

    stdout and stderr: PIPE, or None, which copies to those of this program;
    DEVNULL; stderr may be STDOUT.  cwd is by default the folder that the server
    was started in, env its environment.  sandbox: "read-only", "workspace-write",
    or a dict of the protocol.  tty: a terminal of (rows, cols), or True; all of
    its output is in stdout.  returncode is 128 + N after signal N.

    What nobody reads is kept in memory while events of the session are handled.
    """

    def __init__(self, session: Session, args, *, stdin=None, stdout=None,
                 stderr=None, text: bool = False,
                 encoding: Optional[str] = None, errors: str = "strict",
                 tty=False, **options: Any):
        self.session, self.args = session, args
        self.returncode: Optional[int] = None
        self.sandbox_denied = False
        self._is_closed = False
        self._answers: List[Optional[Exception]] = []
        self._failure: Optional[Exception] = None
        self._write_failure: Optional[Exception] = None
        self._text = (encoding or "utf-8", errors) if text or encoding \
            else None
        self._raw = [_Output(self) if stdout == PIPE else stdout,
                     _Output(self) if stderr == PIPE else stderr]
        self.stdout = self._reader(self._raw[0])
        self.stderr = self._reader(self._raw[1])
        self.stdin: Any = None
        size = tty if isinstance(tty, (tuple, list)) else None
        self._handle: Handle = session._core.start(
            args, self, stdin=stdin == PIPE, tty=bool(tty), size=size,
            **options)
        self.id = self._handle.id
        try:
            session._until(lambda: self._answers)
            if self._answers[0] is not None:
                raise self._answers[0]
        except BaseException:
            self._handle.free()
            raise
        if stdin == PIPE:
            raw = io.BufferedWriter(_Input(self), 65536)
            self.stdin = io.TextIOWrapper(raw, *self._text,
                                          write_through=True) \
                if self._text else raw

    def _reader(self, raw):
        if not isinstance(raw, _Output):
            return None
        buffered = io.BufferedReader(raw, 65536)
        return io.TextIOWrapper(buffered, *self._text) if self._text \
            else buffered

    def __enter__(self) -> "Popen":
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            if self.stdin is not None:
                self.stdin.close()
        except BrokenPipeError:
            pass
        except ExecsrvError:
            self.kill()
            raise
        finally:
            if self.session._core.x:
                self.wait()
            self._handle.free()

    # --- events

    def on_answer(self, what: int, e: Optional[Exception]) -> None:
        if what == _lib.START:
            self._answers.append(e)
        elif what == _lib.WRITE and e is not None:
            self._write_failure = e

    def on_output(self, stream: int, data: bytes) -> None:
        to = self._raw[1] if stream == _lib.STDERR else self._raw[0]
        if stream == _lib.STDERR and to == STDOUT:
            to = self._raw[0]
        if isinstance(to, _Output):
            to.data += data
        elif to is None:
            out = sys.stderr if stream == _lib.STDERR else sys.stdout
            getattr(out, "buffer", out).write(data)
            out.flush()
        elif to != DEVNULL:
            to.write(data)

    def on_exited(self, code: int, denied: bool) -> None:
        self.returncode, self.sandbox_denied = code, denied

    def on_closed(self, e: Optional[Exception]) -> None:
        self._is_closed, self._failure = True, e

    # --- calls

    def poll(self) -> Optional[int]:
        """Handle what has come; the return code, or None while it runs."""
        if not self._is_closed:
            self.session._core.wait(0)
        return self.returncode if self._is_closed else None

    def wait(self, timeout: Optional[float] = None) -> int:
        """Wait for its end, and for that of its output."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self.session._until(lambda: self._is_closed, deadline):
            raise TimeoutExpired(self.args, timeout or 0)
        if self._failure is not None:
            raise self._failure
        assert self.returncode is not None
        return self.returncode

    def communicate(self, input=None, timeout: Optional[float] = None):
        """Write input, close it, and return all output, as subprocess's."""
        if self.stdin is not None:
            try:
                if input:
                    self.stdin.write(input)
                self.stdin.close()
            except BrokenPipeError:
                pass
        self.wait(timeout)
        return (self.stdout.read() if self.stdout else None,
                self.stderr.read() if self.stderr else None)

    def send_signal(self, sig) -> None:
        """A number or a name, such as "TERM"."""
        if not self._is_closed:
            self._handle.signal(sig)

    def terminate(self) -> None:
        if not self._is_closed:
            self._handle.terminate()

    def kill(self) -> None:
        """By SIGKILL, with its descendants."""
        if not self._is_closed:
            self._handle.kill()

    def resize(self, rows: int, cols: int) -> None:
        self._handle.resize(rows, cols)


def run(args, *, url: Optional[str] = None, token: Optional[str] = None,
        **options: Any) -> subprocess.CompletedProcess:
    """Session.run() in a session of its own."""
    with Session(url, token=token) as s:
        return s.run(args, **options)
