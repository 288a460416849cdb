"""514: what stands in the way of the next master: another one at the same
moment, a run directory without room, or that cannot be written, and a worker
that does not come."""
import atexit
import contextlib
import importlib
import os
import shutil
import signal
import subprocess

from client import (TMP, Server, check, children, connect, freeze, is_alive,
                    main, skip, wait_for, BUILD, LIMIT)

lib = importlib.import_module("7common")
nextlib = importlib.import_module("5next")
attend = nextlib.attend
LOST = "sessions will not survive this daemon"


def states(server):
    """Of its sessions; none while it does not listen."""
    with contextlib.suppress(AssertionError):
        return [r["state"] for r in lib.ask(server, "sessions")]
    return []


def two_at_once():
    """One of them has the directory and the sessions, the other one says so."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sleep", "1000")
    nextlib.kill(server)
    argv = [BUILD + "/execsrvd", "-o", "RuntimeDirectory=" + server.run,
            "--listen", server.url]
    for _ in range(5):
        both = [subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE) for _ in range(2)]
        wait_for(lambda b=both: attend([c]) or
                 any(p.poll() is not None for p in b), LIMIT, "one of two ends")
        loser = next(p for p in both if p.poll() is not None)
        winner = both[1 - both.index(loser)]
        said = loser.stderr.read().decode()
        check(loser.returncode == 1 and "another execsrvd uses" in said, said)
        atexit.register(winner.kill)
        wait_for(lambda: attend([c]) or states(server) == ["attached"], LIMIT,
                 "adopted")
        winner.send_signal(signal.SIGKILL)
        winner.communicate()
    server = nextlib.Next(server)
    nextlib.adopted(server, 1)
    check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    c.close()
    server.stop()


def on(options):
    """A server whose run directory is a file system of its own."""
    folder = TMP + "/small"
    os.makedirs(folder, exist_ok=True)
    return Server("RuntimeDirectory=%s/run" % folder, run=False, prefix=(
        "unshare", "-m", "sh", "-c", "mount -t tmpfs -o %s none %s && "
        "exec \"$@\"" % (options, folder), "sh"))


def without_room():
    """It serves, and says what it cannot do."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        skip("mounts take root")
    server = on("size=64k,mode=755")
    check(LOST in server.log() and "No space left" in server.log(),
          server.log())
    with connect(server.url) as c:
        check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
    server.stop()


def filled_later():
    """Those that have a record survive; the others are told about."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        skip("mounts take root")
    server = on("size=140k,mode=755")
    check(LOST not in server.log(), server.log())
    clients = [connect(server.url) for _ in range(70)]
    wait_for(lambda: "No space left" in server.log(), LIMIT, "no room")
    for c in clients:
        check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
        c.sock.close()
    server.stop()


def read_only():
    """A next master says so; the sessions wait for one that can write."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        skip("mounts take root")
    server = Server()
    c = connect(server.url)
    c.start("p", "sleep", "1000")
    nextlib.kill(server)
    r = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$0" && '
         'mount -o remount,bind,ro "$0" && exec "$@"', server.run,
         BUILD + "/execsrvd", "-o", "RuntimeDirectory=" + server.run,
         "--listen", server.url], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=LIMIT)
    check(r.returncode == 1 and "Read-only file system" in r.stderr, r)
    server = nextlib.Next(server)
    nextlib.adopted(server, 1)
    check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    c.close()
    server.stop()


def does_not_come():
    """What operators want of its session is answered; it can be killed."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sleep", "1000")
    worker = nextlib.worker_now(c, "who")
    freeze(worker)
    commands = children(worker)
    nextlib.kill(server)
    server = nextlib.Next(server)
    for words in (("signal", "1", "p", "TERM"), ("tail", "1", "p"),
                  ("kill", "1", "p")):
        lib.ctl(server, *words, status=1)
        check("does not answer" in lib.ctl.err, lib.ctl.err)
    lib.ctl(server, "show", "1")
    check(states(server) == ["awaited"], "awaited: %s" % states(server))
    lib.ctl(server, "kill", "1", status=1)
    check("its worker was killed" in lib.ctl.err, lib.ctl.err)
    wait_for(lambda: not any(is_alive(p) for p in [worker, *commands]), LIMIT,
             "all of it is gone")
    wait_for(lambda: states(server) == [], LIMIT, "no session")
    c.close()
    # At the end of the server it is killed as well.
    c = connect(server.url)
    worker = nextlib.worker_now(c, "who")
    freeze(worker)
    nextlib.kill(server)
    server = nextlib.Next(server)
    check(states(server) == ["awaited"], "awaited: %s" % states(server))
    server.stop()
    wait_for(lambda: not is_alive(worker), LIMIT, "the worker ends")
    c.close()


if __name__ == "__main__":
    main(two_at_once, without_room, filled_later, read_only, does_not_come)
