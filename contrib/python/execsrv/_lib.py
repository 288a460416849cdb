"""libexecsrv by ctypes: the structs and calls of execsrv.h that are used here.

t/sys/771-python.py compares the structs with those of the header.
"""
import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p,
                    c_int, c_int64, c_size_t, c_ssize_t, c_uint, c_uint16,
                    c_uint64, c_void_p)

NONE, ARGUMENT, SYSTEM, CONNECT, REFUSED, TIMEOUT, LOST, PROTOCOL, SERVER, \
    ENDED, GAP, TOO_MUCH, CANCELLED = range(13)
CONNECTED, RECOVERING, FAILED, OPENING, ENDING = range(5)
STATUS = ("connected", "recovering", "failed", "opening", "ending")
STDOUT, STDERR, PTY = range(3)
START, WRITE, CLOSE_STDIN, SIGNAL, TERMINATE, RESIZE = range(6)


class Error(Structure):
    """struct execsrv_error"""
    _fields_ = [("code", c_int64), ("reason", c_int), ("os_error", c_int),
                ("text", c_char * 512), ("reserved", c_void_p * 4)]


class Options(Structure):
    """struct execsrv_options"""
    _fields_ = [("client_name", c_char_p), ("bearer_token", c_char_p),
                ("connect_ms", c_int), ("initialize_ms", c_int),
                ("recover_ms", c_int), ("silence_ms", c_int),
                ("resume_session", c_char_p), ("no_wait", c_bool),
                ("ca_file", c_char_p), ("reach_program", c_char_p),
                ("open_ms", c_int), ("take", c_bool), ("operate", c_bool),
                ("reserved", c_void_p * 8)]


class Local(Structure):
    """struct execsrv_local"""
    _fields_ = [("program", c_char_p), ("settings", POINTER(c_char_p)),
                ("reserved", c_void_p * 4)]


STATUS_FN = CFUNCTYPE(None, c_void_p, c_int, POINTER(Error))
JSON_FN = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, POINTER(Error))
NOTE_FN = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p, c_size_t)
ANSWER_FN = CFUNCTYPE(None, c_void_p, c_int, POINTER(Error))
OUTPUT_FN = CFUNCTYPE(None, c_void_p, c_int, c_void_p, c_size_t)
EXITED_FN = CFUNCTYPE(None, c_void_p, c_int, c_bool)
CLOSED_FN = CFUNCTYPE(None, c_void_p)
LOST_FN = CFUNCTYPE(None, c_void_p, POINTER(Error))
DATA_FN = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
ROOM_FN = CFUNCTYPE(c_ssize_t, c_void_p, c_void_p, c_size_t)
DONE_FN = CFUNCTYPE(None, c_void_p, c_uint64, POINTER(Error))


class Hooks(Structure):
    """struct execsrv_hooks"""
    _fields_ = [("on_answer", ANSWER_FN), ("on_output", OUTPUT_FN),
                ("on_exited", EXITED_FN), ("on_closed", CLOSED_FN),
                ("on_lost", LOST_FN), ("reserved", c_void_p * 4)]


class Start(Structure):
    """struct execsrv_start"""
    _fields_ = [("argv", POINTER(c_char_p)), ("env", POINTER(c_char_p)),
                ("inherit", c_bool), ("env_policy", c_void_p),
                ("cwd", c_char_p), ("arg0", c_char_p), ("tty", c_bool),
                ("pipe_stdin", c_bool), ("rows", c_uint16),
                ("cols", c_uint16), ("preset", c_int), ("sandbox", c_char_p),
                ("allow_domains", POINTER(c_char_p)),
                ("reserved", c_void_p * 4)]


class File(Structure):
    """struct execsrv_file"""
    _fields_ = [("path", c_char_p), ("sandbox", c_char_p),
                ("offset", c_uint64), ("len", c_uint64), ("mode", c_uint64),
                ("reserved", c_void_p * 4)]


class TransferHooks(Structure):
    """struct execsrv_transfer_hooks"""
    _fields_ = [("on_data", DATA_FN), ("on_room", ROOM_FN),
                ("on_done", DONE_FN), ("reserved", c_void_p * 4)]


CALLS = {
    "version": (c_char_p,),
    "reason_name": (c_char_p, c_int),
    "open": (c_void_p, c_char_p, POINTER(Options), POINTER(Error)),
    "connect_local": (c_void_p, POINTER(Local), POINTER(Options),
                      POINTER(Error)),
    "close_session": (c_int, c_void_p, c_int, POINTER(Error)),
    "close": (None, POINTER(c_void_p)),
    "status": (c_int, c_void_p),
    "on_status": (None, c_void_p, STATUS_FN, c_void_p),
    "why": (POINTER(Error), c_void_p),
    "fd": (c_int, c_void_p),
    "dispatch": (c_int, c_void_p),
    "wait": (c_int, c_void_p, c_int),
    "wakeup": (None, c_void_p),
    "can": (c_bool, c_void_p, c_char_p),
    "session": (c_char_p, c_void_p),
    "cwd": (c_char_p, c_void_p),
    "last_request": (c_uint64, c_void_p),
    "cancel": (c_int, c_void_p, c_uint64),
    "call_json": (c_int, c_void_p, c_char_p, c_char_p, c_size_t, JSON_FN,
                  c_void_p),
    "on_note": (None, c_void_p, NOTE_FN, c_void_p),
    "process_start": (c_void_p, c_void_p, POINTER(Start), POINTER(Hooks),
                      c_void_p),
    "process_attach": (c_void_p, c_void_p, c_char_p, POINTER(Hooks),
                       c_void_p),
    "process_free": (None, POINTER(c_void_p)),
    "process_write": (c_int, c_void_p, c_char_p, c_size_t),
    "process_close_stdin": (c_int, c_void_p),
    "process_signal": (c_int, c_void_p, c_char_p),
    "process_terminate": (c_int, c_void_p, c_uint),
    "process_resize": (c_int, c_void_p, c_uint16, c_uint16),
    "process_id": (c_char_p, c_void_p),
    "process_room": (c_size_t, c_void_p),
    "file_read": (c_void_p, c_void_p, POINTER(File), POINTER(TransferHooks),
                  c_void_p),
    "file_write": (c_void_p, c_void_p, POINTER(File), POINTER(TransferHooks),
                   c_void_p),
    "transfer_free": (None, POINTER(c_void_p)),
}


def load():
    """The library: EXECSRV_LIBRARY, one beside this package, the system's."""
    beside = os.path.join(os.path.dirname(__file__), "lib", "libexecsrv.so.0")
    path = os.environ.get("EXECSRV_LIBRARY") or (
        beside if os.path.exists(beside) else "libexecsrv.so.0")
    library = ctypes.CDLL(path, use_errno=True)
    for name, (result, *arguments) in CALLS.items():
        fn = getattr(library, "execsrv_" + name)
        fn.restype = result
        fn.argtypes = arguments
    return library


def text_list(texts):
    """A list of texts that ends with NULL."""
    return (c_char_p * (len(texts) + 1))(
        *[t if isinstance(t, bytes) else os.fspath(t).encode()
          for t in texts], None)
