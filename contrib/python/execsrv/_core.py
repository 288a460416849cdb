"""What the synchronous and the asyncio sessions share: one connection."""
import ctypes
import itertools
import json
import os
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, unquote

from . import _lib

lib = _lib.load()
Command = Union[str, os.PathLike, Sequence[Union[str, os.PathLike]]]


class ExecsrvError(Exception):
    """A failure of the connection, or an answer of the server.

    reason is a word: "connect", "refused", "timeout", "lost", "server", "ended"
    and others (execsrv_reason_name(3)); code is that of a JSON-RPC error, or 0.
    A failure that has an errno, of either side, is an OSError instead, such as
    FileNotFoundError or ConnectionRefusedError, with the same members.
    """
    reason = "none"
    code = 0


def error(e: _lib.Error, filename: Optional[str] = None) -> Exception:
    """The exception for a struct execsrv_error."""
    text = e.text.decode(errors="replace")
    found: Exception
    if e.os_error != 0:
        found = OSError(e.os_error, text, filename) if filename \
            else OSError(e.os_error, text)
    elif e.reason == _lib.TIMEOUT:
        found = TimeoutError(text)
    else:
        found = ExecsrvError(text)
    found.reason = lib.execsrv_reason_name(e.reason).decode()  # type: ignore
    found.code = e.code                                        # type: ignore
    return found


def uri(path: Union[str, os.PathLike]) -> str:
    """A path as the protocol has it."""
    path = os.fspath(path)
    if not path.startswith("/"):
        raise ValueError("the path is not absolute: %r" % (path,))
    return "file://" + quote(path)


def from_uri(text: str) -> str:
    return unquote(text[len("file://"):])


class Events:
    """What happens to a process; a subclass per kind of session."""

    def on_answer(self, what: int, e: Optional[Exception]) -> None: ...
    def on_output(self, stream: int, data: bytes) -> None: ...
    def on_exited(self, code: int, denied: bool) -> None: ...
    def on_closed(self, e: Optional[Exception]) -> None: ...


# Hooks get a number and look their object up: what C holds is never freed.
_objects: Dict[int, Any] = {}
_numbers = itertools.count(1)


def _keep(thing: Any) -> int:
    number = next(_numbers)
    _objects[number] = thing
    return number


def _guard(fn):
    """An exception cannot go through C: show it, as threading does."""
    def guarded(*args):
        try:
            return fn(*args)
        except BaseException:                # pylint: disable=W0718
            sys.excepthook(*sys.exc_info())
            return None
    return guarded


def _error_at(e):
    return error(e.contents) if e else None


@_lib.ANSWER_FN
@_guard
def _on_answer(arg, what, e):
    _objects[arg].on_answer(what, _error_at(e))


@_lib.OUTPUT_FN
@_guard
def _on_output(arg, stream, data, size):
    _objects[arg].on_output(stream, ctypes.string_at(data, size))


@_lib.EXITED_FN
@_guard
def _on_exited(arg, code, denied):
    _objects[arg].on_exited(code, denied)


@_lib.CLOSED_FN
@_guard
def _on_closed(arg):
    _objects[arg].on_closed(None)


@_lib.LOST_FN
@_guard
def _on_lost(arg, e):
    _objects[arg].on_closed(error(e.contents))


@_lib.STATUS_FN
@_guard
def _on_status(arg, status, e):
    _objects[arg](_lib.STATUS[status], _error_at(e))


@_lib.JSON_FN
@_guard
def _on_json(arg, text, size, e):
    done = _objects.pop(arg)
    done(json.loads(ctypes.string_at(text, size)) if text else None,
         _error_at(e))


@_lib.DATA_FN
@_guard
def _on_data(arg, data, size):
    _objects[arg].on_data(ctypes.string_at(data, size))


def _room(arg, room, size):
    try:
        data = _objects[arg].on_room(size)
        ctypes.memmove(room, data, len(data))
        return len(data)
    except BaseException as e:               # pylint: disable=W0718
        _objects[arg].failure = e
        return -1


_on_room = _lib.ROOM_FN(_room)


@_lib.DONE_FN
@_guard
def _on_done(arg, _size, e):
    _objects[arg].on_done(_error_at(e))


HOOKS = _lib.Hooks(_on_answer, _on_output, _on_exited, _on_closed, _on_lost)
MOVES = _lib.TransferHooks(_on_data, _on_room, _on_done)


class Transfer:
    """A file on its way; done(exception or None) at its end."""

    def __init__(self, write, read, done):
        self.on_room, self.on_data, self.done = read, self._take, done
        self.write, self.failure = write, None

    def _take(self, data):
        if self.failure is None:
            try:
                self.write(data)
            except BaseException as e:       # pylint: disable=W0718
                self.failure = e

    def on_done(self, e):
        self.done(self.failure or e)


class Core:
    """A connection and its session."""

    def __init__(self, url: Optional[str], no_wait: bool, *,
                 token: Optional[str] = None, name: str = "python",
                 resume: Optional[str] = None, ca_file: Optional[str] = None,
                 connect_timeout: float = 10, open_timeout: float = 0,
                 recover_timeout: float = 25,
                 on_status: Optional[Callable] = None,
                 settings: Sequence[str] = ()):
        def text(t):
            return t.encode() if t is not None else None
        o = _lib.Options(
            client_name=text(name), bearer_token=text(token),
            connect_ms=int(connect_timeout * 1000),
            recover_ms=int(recover_timeout * 1000) or -1,
            resume_session=text(resume), no_wait=no_wait,
            ca_file=text(ca_file), open_ms=int(open_timeout * 1000))
        e = _lib.Error()
        if url is None:
            local = _lib.Local(settings=_lib.text_list(settings))
            self.x = lib.execsrv_connect_local(ctypes.byref(local),
                                               ctypes.byref(o),
                                               ctypes.byref(e))
        else:
            self.x = lib.execsrv_open(url.encode(), ctypes.byref(o),
                                      ctypes.byref(e))
        if not self.x:
            raise error(e)
        self.numbers: List[int] = []
        self.is_busy = False
        if on_status is not None:
            number = self.keep(on_status)
            lib.execsrv_on_status(self.x, _on_status, number)

    def keep(self, thing: Any) -> int:
        """A number for C, until the connection is closed."""
        self.numbers = [n for n in self.numbers if n in _objects]
        self.numbers.append(_keep(thing))
        return self.numbers[-1]

    def check(self):
        """The handle; an error if it is closed."""
        if not self.x:
            raise ValueError("the session is closed")
        return self.x

    def wait(self, ms: int) -> int:
        """execsrv_wait(); an exception if it is called from on_status."""
        x = self.check()
        if self.is_busy:
            raise RuntimeError("not from within on_status")
        self.is_busy = True
        try:
            return lib.execsrv_wait(x, ms)
        finally:
            self.is_busy = False

    def close(self) -> None:
        if self.is_busy:
            raise RuntimeError("not from within on_status")
        if self.x:
            x = ctypes.c_void_p(self.x)
            self.x = None
            lib.execsrv_close(ctypes.byref(x))
            for n in self.numbers:
                _objects.pop(n, None)

    def failure(self) -> Exception:
        """Why the connection failed, or why errno says that a call did."""
        if lib.execsrv_status(self.check()) == _lib.FAILED:
            return error(lib.execsrv_why(self.x).contents)
        number = ctypes.get_errno()
        return OSError(number, os.strerror(number))

    def call(self, method: str, params: Any, done: Callable) -> int:
        """Send a request; done(result, exception) follows.  Its number."""
        data = json.dumps(params, ensure_ascii=False).encode() \
            if params is not None else None
        number = self.keep(done)
        if lib.execsrv_call_json(self.check(), method.encode(), data,
                                 len(data or b""), _on_json, number) == -1:
            del _objects[number]
            raise self.failure()
        return lib.execsrv_last_request(self.x)

    def cancel(self, request: int) -> None:
        if self.x:
            lib.execsrv_cancel(self.x, request)

    def start(self, args: Command, events: Events, *,
              cwd: Union[str, os.PathLike, None] = None,
              env: Optional[Mapping[str, str]] = None, stdin: bool = False,
              tty: bool = False, size: Optional[Sequence[int]] = None,
              shell: bool = False, sandbox: Union[str, dict, None] = None,
              allow_domains: Optional[Sequence[str]] = None) -> "Handle":
        """Start a process; events.on_answer() tells whether it runs."""
        x = self.check()
        argv = [args] if isinstance(args, (str, os.PathLike)) else list(args)
        if shell:
            argv = ["/bin/sh", "-c", *argv]
        where = os.fspath(cwd) if cwd is not None else \
            (lib.execsrv_cwd(x) or b"/").decode()
        s = _lib.Start(argv=_lib.text_list(argv), cwd=where.encode(),
                       inherit=env is None, pipe_stdin=stdin, tty=tty,
                       env=_lib.text_list(["%s=%s" % v for v in
                                           (env or {}).items()]))
        if size is not None:
            s.rows, s.cols = size
        presets = {"read-only": 1, "workspace-write": 2}
        if isinstance(sandbox, str) and sandbox not in presets:
            raise ValueError("no such sandbox: %r" % (sandbox,))
        if isinstance(sandbox, dict):
            s.sandbox = json.dumps(sandbox).encode()
        elif sandbox is not None:
            s.preset = presets[sandbox]
        if allow_domains is not None:
            s.allow_domains = _lib.text_list(allow_domains)
        number = self.keep(events)
        p = lib.execsrv_process_start(x, ctypes.byref(s),
                                      ctypes.byref(HOOKS), number)
        if not p:
            del _objects[number]
            raise self.failure()
        return Handle(self, p, number)

    def attach(self, process_id: str, events: Events) -> "Handle":
        """A process of a session that was resumed."""
        number = self.keep(events)
        p = lib.execsrv_process_attach(self.check(), process_id.encode(),
                                       ctypes.byref(HOOKS), number)
        if not p:
            del _objects[number]
            raise self.failure()
        return Handle(self, p, number)

    def move(self, path: str, transfer: Transfer, reads: bool,
             mode: int = 0) -> Callable[[], None]:
        """Read or write a file; return what frees the transfer."""
        uri(path)
        f = _lib.File(path=os.fspath(path).encode(), mode=mode)
        number = self.keep(transfer)
        fn = lib.execsrv_file_read if reads else lib.execsrv_file_write
        t = ctypes.c_void_p(fn(self.check(), ctypes.byref(f),
                               ctypes.byref(MOVES), number))
        if not t:
            del _objects[number]
            raise self.failure()

        def free():
            if self.x:
                lib.execsrv_transfer_free(ctypes.byref(t))
            _objects.pop(number, None)
        return free


class Handle:
    """A process of a connection."""

    def __init__(self, core: Core, p: int, number: int):
        self.core, self.p, self.number = core, p, number
        self.id = lib.execsrv_process_id(p).decode()

    def _do(self, fn, *args) -> None:
        self.core.check()
        if fn(self.p, *args) == -1:
            raise self.core.failure()

    def write(self, data: bytes) -> None:
        self._do(lib.execsrv_process_write, data, len(data))

    def close_stdin(self) -> None:
        """Needs a capability: a command may wait for this for ever."""
        if not lib.execsrv_can(self.core.check(),
                               b"execsrvProcessCloseStdin"):
            raise ExecsrvError("the server cannot end the input of a process")
        self._do(lib.execsrv_process_close_stdin)

    def room(self) -> int:
        """Bytes to write next: more would only wait on the way."""
        return lib.execsrv_process_room(self.p) \
            if self.core.x and self.p else 1

    def signal(self, sig: Union[int, str]) -> None:
        self._do(lib.execsrv_process_signal, str(
            sig if isinstance(sig, str) else int(sig)).encode())

    def terminate(self) -> None:
        if lib.execsrv_can(self.core.check(), b"execsrvProcessSignalName"):
            self.signal("TERM")
        else:
            self.kill()

    def kill(self) -> None:
        self._do(lib.execsrv_process_terminate, 0)

    def resize(self, rows: int, cols: int) -> None:
        self._do(lib.execsrv_process_resize, rows, cols)

    def free(self) -> None:
        """No more events."""
        if self.p and self.core.x:
            p = ctypes.c_void_p(self.p)
            lib.execsrv_process_free(ctypes.byref(p))
        self.p = 0
        _objects.pop(self.number, None)
