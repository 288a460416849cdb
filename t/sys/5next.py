"""What tests of the next master share: one that is killed, its successor."""
import atexit
import base64
import contextlib
import os
import signal
import subprocess

import client
from client import (Server, check, pids, signal_all, stat_of, wait_for, LIMIT,
                    TMP)

COUNT = "i=0; while [ $i -lt %d ]; do echo $i; i=$((i+1)); sleep 0.01; done"


class Next(Server):
    """A server in the place of another one: its directory and addresses."""

    def __init__(self, former, *options, **more):
        super().__init__("RuntimeDirectory=" + former.run, *options,
                         listen=tuple(former.urls), run=False, **more)
        self.run = former.run


def kill(server):
    """As the OOM killer does it."""
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()
    server.process.stdout.close()


def adopted(server, number):
    """Wait until it has so many sessions of the former one."""
    wait_for(lambda: int(server.status()["adopted"]) == number, LIMIT,
             "%d are adopted" % number)
    check(int(server.status()["not_adopted"]) == 0, "somebody was refused")


def attend(clients):
    """Take what came, pings among it: who answers none for long is closed."""
    for c in clients:
        c.pump()


def worker_now(client, process):
    """The pid of the worker that serves a client, whoever its parent is."""
    out, _ = client.run(process, "sh", "-c", "echo $PPID")
    check(stat_of(int(out)) is not None, "no such worker")
    return int(out)


def lines(c, process, number):
    """All lines of COUNT, in order, and its end."""
    out = b""
    while True:
        c.until(lambda: c.notes)
        m = c.notes.popleft()["params"]
        if m["processId"] != process:
            continue
        if "chunk" in m:
            out += base64.b64decode(m["chunk"])
        elif "exitCode" in m:
            check(m["exitCode"] == 0, "it ended with %s" % m["exitCode"])
        else:
            break
    check(out.split() == [b"%d" % i for i in range(number)],
          "not all lines: %r" % out[-200:])


def collect(c, seen):
    """What has come; the numbers of one client's lines have no gap."""
    with contextlib.suppress(Exception):
        c.pump()
    while c.notes:
        m = c.notes.popleft()
        check(m["method"] == "process/output", "it ended: %s" % m)
        p = m["params"]
        if p["processId"] != "p":
            continue
        last = getattr(c, "last", 0)
        if p["seq"] <= last:
            continue            # read before
        check(p["seq"] == last + 1, "seq %d after %d" % (p["seq"], last))
        c.last = p["seq"]
        seen[c] += base64.b64decode(p["chunk"])


def missed(new, old, seen):
    """What came while nobody was attached."""
    new.last = getattr(old, "last", 0)
    seen[new] = seen.pop(old)
    read = new.call("process/read", {"processId": "p", "afterSeq": new.last,
                                     "maxBytes": 1 << 20})
    for chunk in read["chunks"]:
        check(chunk["seq"] == new.last + 1, "seq %d" % chunk["seq"])
        new.last = chunk["seq"]
        seen[new] += base64.b64decode(chunk["chunk"])


class Daemon:
    """execsrvd in the background, with a configuration file."""
    count = 0

    def __init__(self, *lines):
        Daemon.count += 1
        self.run = "%s/daemon%d" % (TMP, Daemon.count)
        self.dir = self.run + ".d"
        os.mkdir(self.dir)
        self.conf, self.file = self.dir + "/conf", self.dir + "/pid"
        with open(self.conf, "w", encoding="ascii") as f:
            f.write("\n".join([
                "RuntimeDirectory " + self.run, "PidFile " + self.file,
                "LogTo %s/log" % self.dir, "PermitRootSession yes",
                "Listen ws://127.0.0.1:0", "Listen unix:%s/sock" % self.dir,
                *lines, ""]))
        atexit.register(self.end)
        subprocess.run([client.BUILD + "/execsrvd", "-f", self.conf], check=True,
                       stdin=subprocess.DEVNULL, timeout=LIMIT)
        with open(self.run + "/listen", encoding="ascii") as f:
            self.urls = f.read().split()
        self.url = self.urls[0]

    def end(self):
        """Whatever state it is in: the monitor first."""
        for p in sorted(self.processes()):
            signal_all([p], signal.SIGKILL)

    def pid(self):
        try:
            with open(self.file, encoding="ascii") as f:
                return int(f.read() or 0)
        except OSError:
            return 0

    def processes(self):
        """All that are execsrvd with that file."""
        out = []
        for p in pids():
            try:
                with open("/proc/%d/cmdline" % p, "rb") as f:
                    if self.conf.encode() in f.read().split(b"\0"):
                        out.append(p)
            except OSError:
                pass
        return out

    def kill(self, sig=signal.SIGKILL):
        """The master; its pid."""
        pid = self.pid()
        os.kill(pid, sig)
        return pid

    def another(self, old):
        """Wait until another master than that one has come."""
        try:
            wait_for(lambda: self.pid() not in (0, old), LIMIT, "a new master")
        except AssertionError:
            with open(self.dir + "/log", encoding="utf-8") as f:
                print("master %d died; now: %s; the log:" %
                      (old, self.processes()), *f.readlines()[-20:], sep="\n")
            raise

    def stop(self):
        os.kill(self.pid(), signal.SIGTERM)
        wait_for(lambda: not self.processes(), LIMIT, "it ends")
        check(not os.path.exists(self.run), "something is left")
        check(not os.path.exists(self.dir + "/sock"), "a socket is left")
