"""623: no core files: neither of the master nor of those that serve a session,
though the limits of their commands would let them."""
import importlib
import os
import signal
import subprocess
import tempfile

from client import (TMP, RpcError, Server, check, connect, descendants,
                    is_alive, main, signal_all, skip, wait_for,
                    LIMIT, SANITIZED)

box = importlib.import_module("6common")
CORE = ("prlimit", "--core=unlimited")


def cores(folder):
    return [n for n in os.listdir(folder) if "core" in n]


def is_first(pid):
    """Whether it is number 1 in a namespace of its own."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return any(line.startswith("NSpid:") and
                       line.split()[-1] == "1" for line in f)
    except OSError:
        return False


def none():
    """One of each kind is killed in a folder where others leave a core."""
    folder = tempfile.mkdtemp(dir=TMP)
    before = os.getcwd()
    os.chdir(folder)
    try:
        subprocess.run([*CORE, "sh", "-c", "kill -ABRT $$"], check=False)
        if not cores(folder):
            skip("programs leave no core files here")
        for name in cores(folder):
            os.unlink(name)
        server = Server(prefix=CORE)
        with connect(server.url) as c:
            c.call("fs/readFile", {"path": "file:///etc/passwd"})
            c.call("fs/readFile", {"path": "file:///etc/passwd",
                                   "sandbox": box.sandbox(
                                       box.at("/etc", "read"), cwd="/etc")})
            try:
                c.call("http/request", {"requestId": "r", "method": "GET",
                                        "url": "http://127.0.0.1:1/"})
            except RpcError:
                pass
            worker = int(c.run("who", "sh", "-c", "echo $PPID")[0])
            # A command of the session may leave one: so could they.
            c.run("abort", "sh", "-c", "cd '%s' && kill -ABRT $$" % folder)
            wait_for(lambda: cores(folder), LIMIT, "that of a command")
            for name in cores(folder):
                os.unlink(name)
            ours = [*descendants(worker), worker,
                    *(p for p in descendants(server.pid) if p != worker)]
            check(len(set(ours)) > 5, "processes: %s" % ours)
            # The first process of a namespace would not die of it.
            inner = [p for p in ours if is_first(p)]
            for pid in dict.fromkeys(ours):
                signal_all([pid], signal.SIGABRT)
                wait_for(lambda p=pid: p in inner or not is_alive(p), LIMIT,
                         "the end of %d" % pid)
            os.kill(server.pid, signal.SIGABRT)
            wait_for(lambda: server.process.poll() is not None, LIMIT,
                     "the end of the master")
        check(not cores(folder), "cores: %s" % cores(folder))
    finally:
        os.chdir(before)


if __name__ == "__main__":
    if SANITIZED:
        skip("a sanitizer decides about core files itself")
    if "/" in open("/proc/sys/kernel/core_pattern", encoding="ascii").read() \
            .split()[0]:
        skip("core files go elsewhere here")
    main(none)
