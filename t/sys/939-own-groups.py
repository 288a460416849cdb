"""939: the control groups of version 1 that limit sessions, and who may remove
them."""
import glob
import importlib
import os
import signal
import subprocess

import fusefs
from client import (Closed, Server, check, children, connect, main,
                    skip, wait_for, LIMIT)

nextlib = importlib.import_module("5next")

LIMITS = ("TasksMax=50", "MemoryMax=512M")
NEW_PIDS = ("unshare", "--pid", "--fork", "--mount-proc")


def folders(pid=None):
    """Those of daemons, by controller; of one daemon, by its number."""
    name = "execsrv-*" if pid is None else "execsrv-%d" % pid
    return sorted(p for c in ("pids", "memory", "cpu") for p in glob.glob(
        "/sys/fs/cgroup/%s/**/%s" % (c, name), recursive=True))


def serves(server, what):
    with connect(server.url) as c:
        check(c.run("p", "cat", "/proc/self/cgroup")[0].count(
            b"execsrv-") >= 2, "no limits: " + what)
        c.call("session/close")


def in_another_namespace():
    """To a daemon with process numbers of its own ours is no process."""
    server = Server(*LIMITS)
    ours = folders(server.pid)
    check(len(ours) >= 2, "no groups of ours: %s" % ours)
    other = Server(*LIMITS, prefix=NEW_PIDS)
    serves(other, "the other one")
    check(folders(server.pid) == ours, "taken away: %s" % folders())
    serves(server, "ours")
    # unshare(1) waits for it, and does not pass signals on.
    for pid in children(other.pid):
        os.kill(pid, signal.SIGTERM)
    other.process.wait(LIMIT)
    check(folders(server.pid) == ours, "taken away at its end")
    serves(server, "ours, after its end")
    server.stop()
    check(not folders(server.pid), "left: %s" % folders(server.pid))


def the_dead():
    """What a daemon that was killed leaves is removed by the next."""
    server = Server(*LIMITS)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    check(folders(server.pid), "nothing is left")
    wait_for(lambda: not subprocess.run(
        ["pgrep", "-g", str(server.pid)], check=False,
        stdout=subprocess.DEVNULL).returncode == 0, LIMIT, "its workers' end")
    other = Server(*LIMITS)
    check(not folders(server.pid), "left: %s" % folders(server.pid))
    other.stop()


def procs(path):
    """What is in a group and those below it."""
    found = []
    for where, _, _ in os.walk(path):
        with open(where + "/cgroup.procs", encoding="ascii") as f:
            found += f.read().split()
    return found


def of_the_attached():
    """With OrphanTtl 0 a session ends with its connection, not before; its
    groups are empty then, and removed by the next daemon."""
    server = Server(*LIMITS, "OrphanTtl=0")
    c = connect(server.url)
    c.start("p", "sleep", "1000")
    # The worker, and the command.
    wait_for(lambda: all(len(procs(path)) == 2 for path in
                         folders(server.pid) if "/pids/" in path), LIMIT,
             "the groups: %s" % folders(server.pid))
    nextlib.kill(server)
    beside = Server(*LIMITS)
    successor = nextlib.Next(server, *LIMITS)
    check(c.run("q", "echo", "on")[0] == b"on\n", "it does not go on")
    check(all(len(procs(path)) == 2 for path in folders(server.pid)
              if "/pids/" in path), "its groups: %s" % folders(server.pid))
    beside.stop()
    c.reset()
    wait_for(lambda: not any(procs(path) for path in folders(server.pid)),
             LIMIT, "its end")
    successor.stop()
    check(not folders(server.pid), "left: %s" % folders(server.pid))


def taken_away():
    """Whoever does it: the next session has its limits all the same."""
    server = Server(*LIMITS)
    serves(server, "at first")
    for path in folders(server.pid):
        wait_for(lambda p=path: not glob.glob(p + "/s*"), LIMIT, "no session")
        os.rmdir(path)
    serves(server, "afterwards")
    check("was removed" in server.log(), server.log())
    check(server.status()["unlimited"] == "0", "counted")
    server.stop()


def cannot_be_set():
    """A session without its limits is none; its client and the operator are
    told."""
    server = Server(*LIMITS)
    for path in folders(server.pid):
        for flags in (fusefs.MS_BIND,
                      fusefs.MS_BIND | fusefs.MS_REMOUNT | fusefs.MS_RDONLY):
            fusefs.mount(path.encode(), path, None, flags, None)
    try:
        connect(server.url)
        check(False, "a session without limits")
    except Closed as e:
        check("503" in str(e), "%s" % e)
    wait_for(lambda: server.status()["unlimited"] == "1", LIMIT, "a count")
    check("limit: " in server.log(), server.log())
    for path in folders(server.pid):
        fusefs.unmount(path)
    server.stop()


if os.geteuid() != 0 or not os.path.isdir("/sys/fs/cgroup/pids"):
    skip("wants root and control groups of version 1")
fusefs.own_mounts()
main(in_another_namespace, the_dead, of_the_attached, taken_away,
     cannot_be_set)
