"""The running daemon is replaced by the program on disk: with the same pid, no
session ends, no connection is refused; one that does not serve is rolled
back."""
import contextlib
import glob
import importlib
import os
import shutil
import signal
import subprocess
import threading
import time

import client
from client import (Client, Server, check, connect, main, resume_in, say,
                    stat_of, wait_for, BUILD, LIMIT, TMP)

lib = importlib.import_module("7common")
nextlib = importlib.import_module("5next")
lines, COUNT = nextlib.lines, nextlib.COUNT

UPGRADES = int(os.environ.get("UPGRADES", "3"))
PROGRAMS = TMP + "/programs"
PROGRAM = PROGRAMS + "/execsrvd"
CHECKS = "case $* in *--check-upgrade*) echo execsrvd 9.9; exit 0;; esac\n"


def install(text=None):
    """Put a program where the daemon was started from: ours, or a script."""
    os.makedirs(PROGRAMS, exist_ok=True)
    for path in glob.glob(BUILD + "/execsrv*"):
        name = os.path.basename(path)
        if os.path.isfile(path) and not os.path.exists(
                "%s/%s" % (PROGRAMS, name)):
            shutil.copy(path, PROGRAMS)
    if text is None:
        shutil.copy(BUILD + "/execsrvd", PROGRAM + ".new")
    else:
        with open(PROGRAM + ".new", "w", encoding="ascii") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(PROGRAM + ".new", 0o755)
    os.rename(PROGRAM + ".new", PROGRAM)


def upgrade(run, *options):
    """Exit status, and what it says."""
    done = subprocess.run(
        [BUILD + "/execsrvctl", "-R", run, "upgrade", *options],
        capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout + done.stderr


def upgraded(run):
    status, text = upgrade(run)
    check(status == 0, "upgrade: %d: %s" % (status, text))
    return text


def started(kind, *options, **more):
    """A daemon whose program is ours to replace."""
    install()
    client.BUILD = PROGRAMS
    try:
        return kind(*options, **more)
    finally:
        client.BUILD = BUILD


class Reader(threading.Thread):
    """Reads all the lines of a process, and answers pings meanwhile."""

    def __init__(self, c, process, number):
        super().__init__(daemon=True)
        self.what, self.failed = (c, process, number), None
        self.start()

    def run(self):
        try:
            lines(*self.what)
        except Exception as e:          # pylint: disable=broad-except
            self.failed = repr(e)

    def stop(self):
        self.join(LIMIT + self.what[2])
        check(not self.is_alive() and self.failed is None,
              "output: %s" % self.failed)


class Callers(threading.Thread):
    """New sessions all the time, each of which runs a command."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.n, self.failed, self.over = url, 0, None, False
        self.start()

    def run(self):
        while not self.over and self.failed is None:
            try:
                with connect(self.url) as c:
                    check(c.run("p", "echo", "x") == (b"x\n", 0), "output")
                    c.call("session/close", {})
                self.n += 1
            except Exception as e:          # pylint: disable=broad-except
                self.failed = repr(e)

    def stop(self):
        self.over = True
        self.join(LIMIT)
        check(self.failed is None, "a connection: %s" % self.failed)
        return self.n


def goes_on():
    server = started(Server, listen=("ws://127.0.0.1:0", "unix:%s/sock" % TMP))
    c, t, away = (connect(u) for u in (server.url, server.urls[1],
                                       server.url))
    number = 270 + 10 * UPGRADES
    c.start("p", "sh", "-c", COUNT % number)
    t.start("t", "sh", "-c", "stty -echo; " + COUNT % number, tty=True)
    away.start("p", "sh", "-c", COUNT % 100)
    away.reset()
    wait_for(lambda: "detached" in [r["state"] for r in lib.ask(
        server, "sessions")], LIMIT, "detached")
    session = lib.session_of(server, c)
    readers = Reader(c, "p", number), Reader(t, "t", number)
    callers = [Callers(u) for u in server.urls]
    took = []
    for _ in range(UPGRADES):
        began = time.monotonic()
        before = sum(caller.n for caller in callers)
        text = upgraded(server.run)
        took.append(time.monotonic() - began)
        check("from" in text and "to" in text, text)
        status = server.status()
        check(int(status["pid"]) == server.pid, "another pid")
        wait_for(lambda n=before: sum(caller.n for caller in callers) > n + 4
                 or any(caller.failed for caller in callers), LIMIT,
                 "new sessions")
        for caller in callers:
            check(caller.failed is None, "a connection: %s" % caller.failed)
    say("  %d upgrades in %.2f s at most, %d sessions meanwhile" % (
        UPGRADES, max(took), sum(caller.stop() for caller in callers)))
    check(lib.session_of(server, c) == session, "another number")
    check(int(server.status()["crashes"]) == 0, "counted as deaths")
    for reader in readers:
        reader.stop()
    again = resume_in(server.url, away.session, LIMIT)
    check(again.call("process/read", {
        "processId": "p", "afterSeq": 0, "waitMs": 1000})["chunks"], "output")
    os.kill(server.pid, signal.SIGUSR2)
    wait_for(lambda: server.log().count("was replaced by") == UPGRADES + 1, LIMIT,
             "an upgrade by a signal")
    check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    check({r["version"] for r in lib.ask(server, "sessions")} ==
          {server.status()["version"]}, "versions of the sessions")
    for one in c, t, again:
        one.close()
    server.stop()


def refused():
    """Programs that do not pass the check change nothing."""
    server = started(Server)
    c = connect(server.url)
    for text, wanted in (("echo no >&2; exit 1\n", "no"),
                         ("echo hello\n", "hello"),
                         ("echo execsrvd 9.9; kill -9 $$\n", "execsrvd 9.9"),
                         ("exit 0\n", "it says nothing")):
        install(text)
        for options in ("--check",), ():
            status, said = upgrade(server.run, *options)
            check(status == 1 and "cannot be used: " + wanted in said, said)
    os.chmod(PROGRAM, 0o644)
    status, said = upgrade(server.run)
    check(status == 1 and "Permission denied" in said, said)
    os.unlink(PROGRAM)
    status, said = upgrade(server.run)
    check(status == 1 and "No such file" in said, said)
    install()
    # A file of sessions that this program would not understand.
    with open(server.run + "/sessions", "r+b", buffering=0) as f:
        magic = f.read(8)
        f.seek(0)
        f.write(b"another!")
        status, said = upgrade(server.run, "--check")
        check(status == 1 and "/sessions: " in said, said)
        f.seek(0)
        f.write(magic)
    check("sessions  1" in upgrade(server.run, "--check")[1], "--check")
    check("was replaced" not in server.log(), "something happened")
    check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
    upgraded(server.run)
    c.close()
    server.stop()


def rolled_back(daemon, running):
    c, other = connect(daemon.url), connect(daemon.url)
    c.start("p", "sh", "-c", COUNT % 100)
    for text, wanted in (("exit 3\n", "it ended"),
                         ("kill -SEGV $$\n", "it ended"),
                         ("exec sleep 1000\n", "not ready in time")):
        install(CHECKS + text)
        status, said = upgrade(daemon.run)
        check(status == 1 and "execsrvd 9.9: " in said and wanted in said and
              "goes on" in said, "%d: %s" % (status, said))
        check(other.run(text, "echo", "x") == (b"x\n", 0), "a command")
        with connect(daemon.url) as new:
            check(new.run("q", "echo", "x") == (b"x\n", 0), "a command")
    # One that serves, by way of another program.
    install(CHECKS + "exec %s/execsrvd \"$@\"\n" % os.path.abspath(BUILD))
    pid = running()
    upgraded(daemon.run)
    check(running() == pid, "another pid")
    lines(c, "p", 100)
    c.close()
    other.close()


def rolled_back_with_monitor():
    daemon = started(nextlib.Daemon)
    monitor = [p for p in daemon.processes() if p != daemon.pid() and
               p != 0 and stat_of(daemon.pid())[1] == str(p)]
    rolled_back(daemon, daemon.pid)
    # It is watched as before.
    check(stat_of(daemon.pid())[1] in [str(p) for p in monitor],
          "the monitor is not its parent")
    pid = daemon.kill()
    wait_for(lambda: daemon.pid() not in (0, pid), LIMIT, "started again")
    wait_for(lambda: connects(daemon.url), LIMIT, "it serves")
    daemon.stop()


def connects(url):
    with contextlib.suppress(Exception):
        Client(url).close()
        return True
    return False


def rolled_back_alone():
    server = started(Server)
    rolled_back(server, lambda: int(server.status()["pid"]))
    os.kill(int(server.status()["pid"]), signal.SIGTERM)
    wait_for(lambda: not os.path.exists(server.run), LIMIT, "it ends")
    server.process.wait()


def not_here():
    """Servers whose end means something to somebody else."""
    server = started(Server, args=("-D",), prefix=())
    server.stop()
    done = subprocess.run(
        [PROGRAM, "--listen", "ws://127.0.0.1:0", "-o",
         "RuntimeDirectory=%s/entry" % TMP, "--", "sh", "-c",
         "until %s/execsrvctl -R %s/entry ready -q; do sleep 0.1; done; "
         "%s/execsrvctl -R %s/entry upgrade" % (BUILD, TMP, BUILD, TMP)],
        capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    check(done.returncode == 1 and "ends with its command" in done.stderr,
          "%d: %s" % (done.returncode, done.stderr))


if __name__ == "__main__":
    main(goes_on, refused, rolled_back_alone, rolled_back_with_monitor,
         not_here)
