"""201: what ends a process or a session leaves none of its descendants."""
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid

lib = importlib.import_module("2common")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 2               # seconds until all are gone

WAYS = ["plain", "setsid", "doublefork", "nohup", "group", "ignore",
        "stopped", "renamed", "closed", "execs", "forker", "subreaper",
        "namespace", "grandchildren", "threads", "headless"]
# In rounds of its own: it takes a whole processor.
FAST_WAYS = ["hopper"]
# A process that changes the mark on purpose is reached by the session's end.
LATE_WAYS = ["mark"]


def namespaces_allowed(uid):
    argv = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "true"]
    if uid is not None:
        argv = ["setpriv", "--reuid", str(uid), "--regid", str(uid),
                "--clear-groups", "sh", "-c", 'exec "$0" "$@"'] + argv
    try:
        return subprocess.run(argv, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


class Round:
    """A session that starts one process for each way to escape."""

    def __init__(self, server, uid, ways):
        self.server, self.ways = server, ways
        self.client = lib.Client(server.url, uid=uid)
        self.dir = lib.temp_dir(0o1777)
        self.marks = {}
        python = lib.python_for(uid)
        for way in ways:
            self.marks[way] = "MARK" + uuid.uuid4().hex
            env = {"PATH": os.environ["PATH"], "MARK": self.marks[way]}
            argv = [python, HERE + "/201-escapes.py", way,
                    self.ready(way)]
            if way == "hopper":
                argv = [lib.BUILD + "/t/201-hopper", self.ready(way)]
            self.client.start(way, *argv, env=env)
        for way in ways:
            lib.check(lib.wait_until(
                lambda: os.path.exists(self.ready(way)), 20),
                "%s does not begin" % way)
            lib.check(lib.marked(self.marks[way]), "%s: nobody there" % way)

    def ready(self, way):
        return os.path.join(self.dir, way)

    def expect_gone(self, what, ways=None, limit=LIMIT):
        deadline = time.monotonic() + limit * lib.SCALE
        # One that hops is not always seen: nobody must be, several times.
        unseen, left = 0, []
        while unseen < 5 and time.monotonic() < deadline:
            left = [w for w in ways or self.ways
                    if lib.marked(self.marks[w])]
            unseen = 0 if left else unseen + 1
        for way in left:
            lib.fail("%s: %s is still there: %s" % (
                what, way, lib.describe(lib.marked(self.marks[way]))))
            lib.kill_all(self.marks[way])

    def clean(self):
        self.client.drop()
        for way in self.ways:
            lib.kill_all(self.marks[way])


def start_sleeper(client, name):
    """An innocent one: (pid, start time)."""
    client.start(name, "sleep", "100000", env={"PATH": os.environ["PATH"]})
    pid = client.pid_of(name)
    return pid, lib.stat_of(pid)[2]


def check_sleepers(what, sleepers):
    for pid, born in sleepers:
        stat = lib.stat_of(pid)
        lib.check(stat and stat[2] == born and stat[0] not in "ZXT",
                  "%s: an innocent process was touched" % what)


def test_terminate(server, uid, ways):
    r = Round(server, uid, ways)
    other = lib.Client(server.url, uid=uid)
    sleepers = [start_sleeper(r.client, "innocent"),
                start_sleeper(other, "innocent")]
    for way in ways:
        answer = r.client.call("process/terminate", processId=way)
        lib.check(answer["running"] is True, "%s did not run" % way)
        r.expect_gone("terminate", [way])
        check_sleepers("terminate " + way, sleepers)
    for way in ways:
        lib.check(r.client.note(way, "process/closed", 5),
                  "terminate: %s is not closed" % way)
    check_sleepers("terminate", sleepers)
    r.clean()
    other.drop()


def test_grace(server, uid):
    """TERM to the group first; who ignores it dies when the grace is over."""
    r = Round(server, uid, ["ignore", "setsid", "doublefork"])
    for way in r.ways:
        r.client.call("process/terminate", processId=way, graceMs=200)
    r.expect_gone("terminate with grace", limit=LIMIT + 0.2)
    r.clean()


def test_finished(server, uid):
    """What a finished process left behind stays until the session ends."""
    mark = "MARK" + uuid.uuid4().hex
    client = lib.Client(server.url, uid=uid)
    client.start("p", "sh", "-c",
                 "setsid sleep 100000 >/dev/null 2>&1 </dev/null & exit 3",
                 env={"PATH": os.environ["PATH"], "MARK": mark})
    lib.check(client.note("p", "process/closed", 10), "p is not closed")
    left = lib.marked(mark)
    lib.check(len(left) == 1, "what a finished process left is gone")
    answer = client.call("process/terminate", processId="p")
    lib.check(answer["running"] is False, "a finished process runs")
    time.sleep(0.1)             # long enough for many passes of a killer
    lib.check(lib.marked(mark) == left,
              "terminate of a finished process killed something")
    client.drop()
    # DetachedTtl and the grace, then it must be gone.
    lib.check(lib.wait_until(lambda: not lib.marked(mark), 2 + LIMIT),
              "left behind after the session: " +
              lib.describe(lib.marked(mark)))
    lib.kill_all(mark)


def test_expiry(server, uid, ways):
    r = Round(server, uid, ways)
    r.client.drop()
    r.expect_gone("expiry", limit=1 + 1 + LIMIT)        # TTL, grace
    r.clean()


def test_worker_death(server, uid, ways):
    other = lib.Client(server.url, uid=uid)
    sleeper = start_sleeper(other, "innocent")
    r = Round(server, uid, ways)
    worker = server.worker_of(r.client.pid_of(ways[0]))
    os.kill(worker, signal.SIGKILL)
    r.expect_gone("worker death")
    check_sleepers("worker death", [sleeper])
    r.clean()
    other.drop()


def test_stop(uid, ways, **how):
    server = lib.Server("-o", "DetachedTtl=60", **how)
    r = Round(server, uid, ways)
    server.stop()
    r.expect_gone("SIGTERM", limit=0.5)
    r.clean()


def test_death_at_stop(uid, ways, **how):
    """The worker dies, and before the master has finished it is stopped."""
    server = lib.Server("-o", "DetachedTtl=60", **how)
    r = Round(server, uid, ways)
    os.kill(server.worker_of(r.client.pid_of(ways[0])), signal.SIGKILL)
    server.stop()
    r.expect_gone("death and SIGTERM", limit=0.5)
    r.clean()


def run(uid, **how):
    ways = [w for w in WAYS if w != "namespace" or namespaces_allowed(uid)]
    if "namespace" not in ways:
        print("no user namespaces here")
    with lib.Server("-o", "DetachedTtl=1", **how) as server:
        for some in (ways, FAST_WAYS):
            test_terminate(server, uid, some)
        test_grace(server, uid)
        test_finished(server, uid)
        for some in (ways + LATE_WAYS, FAST_WAYS):
            test_expiry(server, uid, some)
            test_worker_death(server, uid, some)
    for some in (ways + LATE_WAYS, FAST_WAYS):
        test_stop(uid, some, **how)
        test_death_at_stop(uid, some, **how)


def main():
    if not shutil.which("unshare"):
        lib.skip("no unshare(1)")
    if len(sys.argv) > 1 and sys.argv[1] == "nobody":
        print("a root server, a client without rights")
        run(lib.NOBODY)
    elif len(sys.argv) > 1 and sys.argv[1] == "unprivileged":
        print("a server without rights")
        run(lib.NOBODY, owner=lib.NOBODY, prefix=(
            "setpriv", "--reuid", "65534", "--regid", "65534",
            "--clear-groups"))
    else:
        run(None)
    lib.finish()


main()
