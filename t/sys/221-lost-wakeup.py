"""221: a SIGCHLD that wakes nobody, for a worker and for the master."""
import contextlib
import os
import shutil
import signal
import subprocess

from client import (LIMIT, SANITIZED, Server, check, connect, main, skip,
                    stat_of, wait_for, worker_of, zombies)


@contextlib.contextmanager
def deaf(pid):
    """Its first look for children that ended fails."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-q", "-e", "trace=waitid", "-e",
         "inject=waitid:error=EIO:when=1", "-p", str(pid)],
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


def worker():
    server = Server()
    with connect(server.url) as c:
        c.start("p", "sleep", "100000")
        pid = [p["pid"] for p in c.call("process/list")["processes"]][0]
        with deaf(worker_of(server, c)):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: (stat_of(pid) or "Z")[0] == "Z", LIMIT,
                     "its end")
            check(c.note("process/exited", "p")["exitCode"] == 137, "exit")
    server.stop()


def master():
    server = Server()
    with connect(server.url) as c:
        pid = worker_of(server, c)
        with deaf(server.pid):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: stat_of(pid) is None, LIMIT, "its end: %s" %
                     zombies(server.pid))
    server.stop()


if os.geteuid() != 0 or shutil.which("strace") is None or SANITIZED:
    skip("wants root and strace(1), and no sanitizers")
main(worker, master)
