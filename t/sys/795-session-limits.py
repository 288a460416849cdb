"""Where there are no control groups resource limits of commands stand in for
TasksMax and MemoryMax; and what else a user has running takes nothing away."""
import contextlib
import glob
import os
import subprocess

import client as lib
from client import LIMIT, RpcError, Server, TMP, check, connect, wait_for

MAX = 10
OTHERS = 25
# Under a root server a user who has nothing else running; others may.
UID = 54795 if os.geteuid() == 0 else os.geteuid()
# Fork until it is refused; of a shell that is its end.
FILL = """i=0
while [ $i -lt 60 ]; do
    sleep 1000 >/dev/null 2>&1 &
    echo x
    i=$((i + 1))
done"""


@contextlib.contextmanager
def crowd():
    """Processes that the user has besides, of which none is ours."""
    def become():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(UID, UID, UID)
            os.setresuid(UID, UID, UID)

    others = []
    try:
        for _ in range(OTHERS):
            others.append(subprocess.Popen(
                ["sleep", "1000"], preexec_fn=become,
                stdin=subprocess.DEVNULL))
        yield
    finally:
        for p in others:
            p.kill()
            p.wait()


def has_processes():
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                if "\nUid:\t%d\t" % UID in f.read():
                    return True
        except OSError:
            pass
    return False


def server():
    """The other address, which is waited for, says when it is ready."""
    if os.geteuid() == 0:
        # Those of the test before would count, and then give room.
        wait_for(lambda: not has_processes(), LIMIT, "none is left")
    return Server("ProcessCgroup=no", "TasksMax=%d" % MAX, "MemoryMax=256M",
                  listen=("ws://127.0.0.1:0",
                          "unix:%s/s%d" % (TMP, Server.count)))


def session(s):
    os.setegid(UID)
    os.seteuid(UID)
    try:
        return connect(s.urls[1])
    finally:
        os.seteuid(os.getuid())
        os.setegid(os.getgid())


def told(s):
    """What status and the log say."""
    shown = lib.told("-R", s.run, "status")
    check("MemoryMax by RLIMIT_AS, TasksMax by RLIMIT_NPROC" in shown, shown)
    for word in ("MemoryMax", "TasksMax"):
        check(word + " cannot be enforced except by RLIMIT" in s.log(), word)


def fill(c, name, most=MAX - 1):
    """A command starts as many processes as it may."""
    out, _ = c.run(name, "sh", "-c", FILL)
    n = out.count(b"x")
    # What else an ordinary user has comes and goes meanwhile.
    check(n == most if os.geteuid() == 0 else n < 50,
          "%d processes, not %d" % (n, most))


def attempt(c, name):
    """None, or why a command is not started."""
    try:
        c.start(name, "sleep", "1000")
    except RpcError as e:
        return e.text
    return None


def tasks():
    """A session has as many as it may, whoever else has some."""
    s = server()
    with crowd(), session(s) as c, session(s) as d:
        told(s)
        fill(c, "a")
        # They are left and count; the place of the shell is free.
        fill(c, "b", 0)
        refused = [why for why in (attempt(c, "c"), attempt(c, "d")) if why]
        check(len(refused) == 1 or os.geteuid() != 0, "%s" % refused)
        check(all("TasksMax" in why for why in refused), "%s" % refused)
        fill(d, "a")
    s.stop()


def more_others():
    """The user gets more while a session runs: the next command has room."""
    s = server()
    with session(s) as c:
        _, code = c.run("a", "true")
        check(code == 0, "the first one: status %d" % code)
        with crowd():
            fill(c, "b")
    s.stop()


def memory():
    s = server()
    with session(s) as c:
        _, code = c.run("a", "dd", "if=/dev/zero", "of=/dev/null", "bs=64M",
                        "count=1")
        check(code == 0, "64 MiB: status %d" % code)
        _, code = c.run("b", "dd", "if=/dev/zero", "of=/dev/null", "bs=512M",
                        "count=1")
        check(code != 0, "512 MiB, and nothing said")
    s.stop()


lib.main(tasks, more_others, memory)
