"""834: a sweep of faults: the N-th call of each kind fails in the master, or in
the template and the workers that it forks.  The master lives on and serves the
next client, and who was there before notices nothing.

POINTS=N is how many N are tried of each kind, STRIDE the step between them."""
import base64
import contextlib
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (Closed, LIMIT, RpcError, Server, check, connect,
                    is_alive, main, probe, resume_in, say, skip, wait_for)

POINTS = int(os.environ.get("POINTS", 4))
STRIDE = int(os.environ.get("STRIDE", 1))
KINDS = [
    "accept4:EMFILE", "socketpair:EMFILE", "openat:EMFILE", "pipe2:EMFILE",
    "clone:EAGAIN", "clone3:EAGAIN", "mmap:ENOMEM", "brk:ENOMEM",
    "mprotect:ENOMEM", "read:EIO", "write:EIO", "sendmsg:ENOBUFS",
    "recvmsg:ENOMEM", "sendto:ENOBUFS", "recvfrom:ENOMEM",
    "epoll_ctl:ENOMEM", "epoll_wait:EINTR", "fcntl:EMFILE", "ioctl:EIO",
    "waitid:EINTR", "wait4:EINTR", "getsockopt:ENOBUFS",
    "setsockopt:ENOBUFS", "newfstatat:EIO", "timerfd_create:EMFILE",
    "memfd_create:ENOMEM", "prlimit64:EPERM", "setresuid:EAGAIN",
    "signalfd4:EMFILE", "unlinkat:EIO"]


@contextlib.contextmanager
def failing(pids, kind, number):
    """While the N-th call of that kind of each of them, and of what they start,
    fails."""
    call, error = kind.split(":")
    argv = ["strace", "-f", "-qq", "-o", "/dev/null",
            "-e", "trace=" + call, "-e", "inject=%s:error=%s:when=%d" % (
                call, error, number)]
    for pid in pids:
        argv += ["-p", str(pid)]
    tracer = subprocess.Popen(argv, stderr=subprocess.DEVNULL)

    def attached():
        """To one; some may be gone by now."""
        for pid in pids:
            with contextlib.suppress(OSError), open(
                    "/proc/%d/status" % pid, encoding="ascii") as f:
                if "TracerPid:\t%d\n" % tracer.pid in f.read():
                    return True
        return tracer.poll() is not None
    try:
        wait_for(attached, LIMIT, "strace attaches")
        yield
    finally:
        detach(tracer)


def detach(tracer):
    """When it is told to end strace waits for one after another of those that it
    traces: for ever for a process that ends, one of whose threads stands still
    in its own exit until strace comes to it."""
    tracer.terminate()
    try:
        tracer.wait(LIMIT / 6)
    except subprocess.TimeoutExpired:
        tracer.kill()           # the kernel lets go of all of them
        tracer.wait()


def use(server):
    """What a client does; whether all of it went well."""
    try:
        with connect(server.url) as c:
            out, status = c.run("a", "sh", "-c", "echo hello; exit 3",
                                seconds=LIMIT / 2)
            good = (out, status) == (b"hello\n", 3)
            c.call("fs/readDirectory", {"path": "file:///etc"}, LIMIT / 2)
            c.start("b", "cat", pipeStdin=True)
            session = c.session
            c.reset()
        with resume_in(server.url, session, LIMIT / 2) as c:
            c.call("session/close", seconds=LIMIT / 2)
        return good
    except (RpcError, Closed, OSError, AssertionError):
        return False


def echo(c, text):
    c.call("process/write", {
        "processId": "echo", "chunk": base64.b64encode(text).decode()})
    came = b""
    while came != text:
        came += base64.b64decode(c.note("process/output", "echo")["chunk"])


def sweep(what, pids_of):
    server = Server("SpareWorkers=1", "MaxSpareWorkers=1")
    probe(server.url)
    points = bad = 0
    with connect(server.url) as old:
        old.start("echo", "cat", pipeStdin=True)
        for kind in KINDS:
            for number in range(1, POINTS * STRIDE + 1, STRIDE):
                with failing(pids_of(server), kind, number):
                    bad += not use(server)
                points += 1
                check(is_alive(server.pid), "%s:%d: the master is dead" % (
                    kind, number))
                echo(old, b"%d\n" % points)
                serves(server, "%s, %s, %d" % (what, kind, number))
    say("  %s: %d points; %d sessions in which it was met saw an error, no "
        "other" % (what, points, bad))
    server.stop()


def serves(server, where):
    """As soon as nothing fails any more."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            probe(server.url)
            return
        except (AssertionError, RpcError, Closed, OSError) as e:
            check(time.monotonic() < deadline, "%s: nobody is served: %s" % (
                where, e))
        time.sleep(0.1)


def in_master():
    sweep("the master", lambda server: [server.pid])


def in_template():
    sweep("template and workers", lambda server: [
        p for p in server.workers()])


if os.geteuid() != 0 or shutil.which("strace") is None:
    skip("wants root and strace")
main(in_master, in_template)
