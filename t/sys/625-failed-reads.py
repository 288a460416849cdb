"""625: output of which reads fail: made up for, or told, never cut short."""
import base64
import contextlib
import os
import shutil
import subprocess

from client import (LIMIT, SANITIZED, Server, check, connect, main, skip,
                    wait_for, worker_of)

SIZE = 3 << 20
WHY = "Input/output error"


@contextlib.contextmanager
def failing(pid, when=""):
    """Its reads fail: those that strace(1) is told."""
    with subprocess.Popen(
            ["strace", "-q", "-e", "trace=read", "-e",
             "inject=read:error=EIO" + when, "-p", str(pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL) as tracer:

        def traced():
            with open("/proc/%d/status" % pid, encoding="ascii") as f:
                return "TracerPid:\t%d\n" % tracer.pid in f.read()
        try:
            wait_for(traced, LIMIT, "strace(1)")
            yield
        finally:
            tracer.terminate()


def read(c, after):
    return c.call("process/read", {"processId": "p", "afterSeq": after,
                                   "maxBytes": 1 << 20, "waitMs": 10000})


def start(c):
    """A command that waits for a byte before it puts out the rest."""
    c.start("p", "sh", "-c", "read x; head -c %d /dev/zero" % SIZE,
            pipeStdin=True)


def go(c):
    c.call("process/write", {"processId": "p", "writeId": "w",
                             "chunk": base64.b64encode(b"\n").decode()})


def now_and_then():
    server = Server()
    with connect(server.url) as c:
        start(c)
        with failing(worker_of(server, c), ":when=1+2"):
            go(c)
            size, seq = 0, 0
            while True:
                m = c.until(lambda: c.notes and c.notes.popleft())["params"]
                if m["processId"] != "p":
                    continue
                seq += 1
                check(m["seq"] == seq, "%d follows %d" % (m["seq"], seq - 1))
                if "chunk" in m:
                    size += len(base64.b64decode(m["chunk"]))
                elif "exitCode" not in m:
                    break
        check(size == SIZE, "%d bytes" % size)
        check(read(c, seq - 1)["failure"] is None, "said to have failed")
    server.stop()


def always():
    server = Server()
    with connect(server.url) as c:
        start(c)
        with failing(worker_of(server, c)):
            go(c)
            said = c.note("process/output", "p")["chunk"]
            check(WHY in base64.b64decode(said).decode(), "told: %s" % said)
            c.note("process/closed", "p")
        a = read(c, 0)
        check(a["closed"] and {k["chunk"] for k in a["chunks"]} == {said},
              "closed: %s" % a)
        check(WHY in (a["failure"] or ""), "why: %s" % a)
        check(server.has_logged("reading its stdout: " + WHY), "logged")
        check(c.run("next", "echo", "x") == (b"x\n", 0), "the session")
    server.stop()


if os.geteuid() != 0 or shutil.which("strace") is None or SANITIZED:
    skip("wants root and strace(1), and no sanitizers")
main(now_and_then, always)
