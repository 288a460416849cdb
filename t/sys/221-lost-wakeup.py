"""221: a signal that wakes nobody, for a worker and for the master."""
import contextlib
import os
import shutil
import signal
import subprocess

from client import (LIMIT, SANITIZED, Server, check, connect, main, skip,
                    stat_of, wait_for, worker_of, zombies)


@contextlib.contextmanager
def deaf(pid, calls):
    """The first of each of these system calls fails."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-q", "-e", "trace=" + calls, "-e",
         "inject=%s:error=EIO:when=1" % calls, "-p", str(pid)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)

    def traced():
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return "TracerPid:\t%d\n" % tracer.pid in f.read()
    try:
        wait_for(traced, LIMIT, "strace(1)")
        yield
    finally:
        tracer.terminate()
        tracer.wait()


# To look for children; to see why the loop woke, and to wake it.
CHILDREN, SEEING, WAKING = "waitid", "read", "write"


def worker():
    server = Server()
    with connect(server.url) as c:
        pid = worker_of(server, c)
        for calls in (CHILDREN, SEEING):
            c.start(calls, "sleep", "100000")
            child = [p["pid"] for p in c.call("process/list")["processes"]
                     if p["processId"] == calls][0]
            with deaf(pid, calls):
                os.kill(child, signal.SIGKILL)
                wait_for(lambda p=child: (stat_of(p) or "Z")[0] == "Z",
                         LIMIT, "its end")
                check(c.note("process/exited", calls)["exitCode"] == 137,
                      "exit")
    server.stop()


def master():
    server = Server()
    for calls in (CHILDREN, SEEING):
        with connect(server.url) as c:
            pid = worker_of(server, c)
            with deaf(server.pid, calls):
                os.kill(pid, signal.SIGKILL)
                wait_for(lambda p=pid: stat_of(p) is None, LIMIT,
                         "its end: %s" % zombies(server.pid))
    server.stop()


def told():
    """SIGHUP and SIGUSR1 are acted on, however late."""
    server = Server(args=["-D"])
    for sig, text in ((signal.SIGHUP, "the configuration was read again"),
                      (signal.SIGUSR1, "SIGUSR1")):
        with deaf(server.pid, SEEING):
            os.kill(server.pid, sig)
            wait_for(lambda t=text: server.has_logged(t), LIMIT, text)
    server.stop()


def told_to_stop():
    for calls in (SEEING, WAKING):
        server = Server()
        with deaf(server.pid, calls):
            server.stop()


if os.geteuid() != 0 or shutil.which("strace") is None or SANITIZED:
    skip("wants root and strace(1), and no sanitizers")
main(worker, master, told, told_to_stop)
