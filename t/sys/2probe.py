"""What a command can do to its worker and to the master, as JSON.

2probe.py WORKER MASTER CONTROL-SOCKET
"""
import ctypes
import json
import os
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_DETACH = 16, 0x4206, 17
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438
SYS_KCMP = {"x86_64": 312}.get(os.uname().machine, 272)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def attempt(fn):
    """"refused", or what came of it."""
    try:
        return fn() or "refused"
    except PermissionError:
        return "refused"
    except OSError as e:
        return "refused" if e.errno == 1 else "error: %s" % e


def call(number, *args):
    r = LIBC.syscall(number, *(ctypes.c_long(a) for a in args))
    if r == -1:
        raise OSError(ctypes.get_errno(), "syscall")
    return r


def read(path):
    with open(path, "rb") as file:
        return "read %d bytes" % len(file.read(64))


def write_mem(pid):
    with open("/proc/%d/mem" % pid, "r+b"):
        return "opened for writing"


def listing(path):
    return "listed %d" % len(os.listdir(path))


def link(path):
    return "link " + os.readlink(path)


def ptrace(request, pid):
    if LIBC.ptrace(request, pid, None, None) == -1:
        raise OSError(ctypes.get_errno(), "ptrace")
    if request == PTRACE_ATTACH:
        os.waitpid(pid, 0)
    LIBC.ptrace(PTRACE_DETACH, pid, None, None)
    return "attached"


def vm(call_name, pid):
    room = ctypes.create_string_buffer(16)
    mine = Iovec(ctypes.addressof(room), 16)
    theirs = Iovec(0x1000, 16)
    r = getattr(LIBC, call_name)(pid, ctypes.byref(mine), 1,
                                 ctypes.byref(theirs), 1, 0)
    if r == -1:
        e = ctypes.get_errno()
        # EFAULT: the address is bad, but we would have been let in.
        return "let in" if e == 14 else None
    return "moved %d bytes" % r


def getfd(pid):
    pidfd = call(SYS_PIDFD_OPEN, pid, 0)
    try:
        for fd in range(64):
            try:
                return "got fd %d" % call(SYS_PIDFD_GETFD, pidfd, fd, 0)
            except OSError as e:
                if e.errno == 1:
                    return None
    finally:
        os.close(pidfd)
    return "looked at descriptors"


def kcmp(pid):
    call(SYS_KCMP, os.getpid(), pid, 0, 0, 0)
    return "compared"


def control(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(path)
        return "connected"


def probe(pid):
    proc = "/proc/%d/" % pid
    out = {
        "environ": attempt(lambda: read(proc + "environ")),
        "mem": attempt(lambda: read(proc + "mem")),
        "mem for writing": attempt(lambda: write_mem(pid)),
        "maps": attempt(lambda: read(proc + "maps")),
        "smaps": attempt(lambda: read(proc + "smaps")),
        "auxv": attempt(lambda: read(proc + "auxv")),
        "syscall": attempt(lambda: read(proc + "syscall")),
        "stack": attempt(lambda: read(proc + "stack")),
        "io": attempt(lambda: read(proc + "io")),
        "fd": attempt(lambda: listing(proc + "fd")),
        "map_files": attempt(lambda: listing(proc + "map_files")),
        "fd 1": attempt(lambda: link(proc + "fd/1")),
        "exe": attempt(lambda: link(proc + "exe")),
        "cwd": attempt(lambda: link(proc + "cwd")),
        "root": attempt(lambda: listing(proc + "root/")),
        "ptrace attach": attempt(lambda: ptrace(PTRACE_ATTACH, pid)),
        "ptrace seize": attempt(lambda: ptrace(PTRACE_SEIZE, pid)),
        "process_vm_readv": attempt(lambda: vm("process_vm_readv", pid)),
        "process_vm_writev": attempt(lambda: vm("process_vm_writev", pid)),
        "pidfd_getfd": attempt(lambda: getfd(pid)),
        "kcmp": attempt(lambda: kcmp(pid)),
    }
    return out


print(json.dumps({"worker": probe(int(sys.argv[1])),
                  "master": probe(int(sys.argv[2])),
                  "control": attempt(lambda: control(sys.argv[3]))}))
