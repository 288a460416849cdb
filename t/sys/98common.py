"""What the 98x tests share: a server in namespaces of its own."""
import atexit
import contextlib
import os
import subprocess

from client import (BUILD, LIMIT, TMP, check, children, is_alive, say,
                    skip, wait_for)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def status_of(pid):
    """/proc/PID/status; nothing of one that is gone, as spares may be."""
    try:
        return read("/proc/%d/status" % pid)
    except OSError:
        return ""


def unshare(*what, user=os.geteuid() != 0):
    """A prefix; as an ordinary user with a user namespace, if there may be."""
    argv = ["unshare", *what]
    if user:
        argv += ["--user", "--map-current-user", "--keep-caps"]
    r = subprocess.run([*argv, "true"], capture_output=True, check=False)
    if r.returncode != 0:
        skip("no namespaces here: " + r.stderr.decode().strip())
    return argv


def unshare_pid():
    return unshare("--pid", "--fork", "--kill-child", "--mount-proc")


class Contained:
    """A server that is the only child of what starts it, or that itself."""
    count = 0

    def __init__(self, prefix, *args, command=(), stdin=subprocess.DEVNULL,
                 options=(), program=BUILD + "/execsrvd", depth=1, env=None,
                 run=True):
        Contained.count += 1
        self.base = "%s/contained%d" % (TMP, Contained.count)
        argv = [*prefix, program, "-D"]
        if run:
            argv += ["-o", "RuntimeDirectory=%s.run" % self.base]
        argv += ["--listen", "ws://127.0.0.1:0"]
        for option in options:
            argv += ["-o", option]
        argv += args
        if command:
            argv += ["--", *command]
        with open(self.base + ".out", "wb") as out, \
                open(self.base + ".log", "wb") as log:
            self.process = subprocess.Popen(argv, stdin=stdin, stdout=out,
                                            stderr=log, env=env)
        atexit.register(self.kill)
        self.pid = self.process.pid
        if prefix:
            self.find(depth)
        self.url = None
        wait_for(self.find_url, LIMIT, "the server's address")

    def find(self, depth):
        for _ in range(depth):
            self.pid = wait_for(lambda: children(self.pid) or
                                self.process.poll() is not None, LIMIT,
                                "what it starts")
            check(self.pid is not True, "ended: " + self.log())
            self.pid = self.pid[0]

    def find_url(self):
        # What ends at once has said it before.
        over = self.process.poll() is not None
        for line in [*self.out().splitlines(True),
                     *self.log().splitlines(True)]:
            if "ws://" in line and "descriptor" not in line and \
                    line.endswith("\n"):
                self.url = line[line.index("ws://"):].rstrip("\n")
                return True
        check(not over, "ended: " + self.log())
        return False

    def out(self):
        return read(self.base + ".out")

    def log(self):
        return read(self.base + ".log")

    def signal(self, sig):
        os.kill(self.pid, sig)

    def wait(self, seconds=LIMIT):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("does not end: " + self.log()) from None

    def stop(self, sig):
        self.signal(sig)
        return self.wait()

    def kill(self):
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, 9)
            self.process.kill()
        self.process.wait()


def all_gone(pids):
    wait_for(lambda: not [p for p in pids if is_alive(p)], LIMIT,
             "the end of %s" % pids)


def show(server):
    say("  " + server.log().replace("\n", "\n  "))
