"""201: what ends a process or a session leaves none of its descendants."""
import importlib
import os
import resource
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
        "stopped", "renamed", "closed", "subreaper", "namespace",
        "grandchildren", "threads", "headless", "mark", "mark_family",
        "mark_group"]
# In rounds of their own: they take a whole processor.
FAST_WAYS = ["execs", "forker", "hopper"]
# Reached by terminate where there are control groups ...
GROUP_WAYS = ["late_mark"]
# ... and not even there, but by the session's end.
LATE_WAYS = ["moved"]


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
            argv = [python, "-I", "-S", HERE + "/2escapes.py", way,
                    self.ready(way)]
            if way == "hopper":
                argv = [lib.BUILD + "/t/201-hopper", self.ready(way)]
            self.client.start(way, *argv, env=env)
        for way in ways:
            lib.check(lib.wait_until(lambda: os.path.exists(self.ready(way))),
                      "%s does not begin" % way)
            lib.check(lib.wait_until(lambda: lib.marked(self.marks[way])),
                      "%s: nobody there" % way)

    def ready(self, way):
        return os.path.join(self.dir, way)

    def expect_gone(self, what, ways=None, limit=LIMIT):
        began = time.monotonic()
        # One that hops is not always seen: nobody must be, several times.
        unseen, left, took, last = 0, [], 0, 0
        marks = {w: self.marks[w] for w in ways or self.ways}
        while unseen < 5 and took < lib.LIMIT * lib.SCALE:
            took = time.monotonic() - began
            found = lib.marked_by(marks.values())
            left = [w for w in marks if found[marks[w]]]
            unseen = 0 if left else unseen + 1
            last = took if left else last
        for way in left:
            lib.fail("%s: %s is still there: %s" % (
                what, way, lib.describe(lib.marked(self.marks[way]))))
            lib.kill_all(self.marks[way])
        if not left and last > limit * lib.SCALE:
            self.clean()
            raise lib.Late("%s: %s: gone after %.1f s" % (
                what, ways or "all", last))

    def clean(self):
        self.client.drop()
        for way in self.ways:
            lib.kill_all(self.marks[way])


def start_sleeper(server, client, name):
    """An innocent one: (pid, start time)."""
    client.start(name, "sleep", "100000", env={"PATH": os.environ["PATH"]})
    pid = server.pid_of(client, name)
    return pid, lib.stat_of(pid)[2]


def check_sleepers(what, sleepers):
    for pid, born in sleepers:
        stat = lib.stat_of(pid)
        lib.check(stat and stat[2] == born and stat[0] not in "ZXT",
                  "%s: an innocent process was touched" % what)


def test_terminate(server, uid, ways):
    r = Round(server, uid, ways)
    other = lib.Client(server.url, uid=uid)
    sleepers = [start_sleeper(server, r.client, "innocent"),
                start_sleeper(server, other, "innocent")]
    for way in ways:
        answer = r.client.call("process/terminate", processId=way)
        lib.check(answer["running"] is True, "%s did not run" % way)
        r.expect_gone("terminate", [way])
        check_sleepers("terminate " + way, sleepers)
    for way in ways:
        lib.check(r.client.note(way, "process/closed"),
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
    lib.check(client.note("p", "process/closed"), "p is not closed")
    # While it executes its program, nothing can be read of it.
    left = lib.wait_until(lambda: [
        p for p in lib.marked(mark) if lib.read_proc(p, "comm") == b"sleep\n"
        and (lib.stat_of(p) or "?")[0] == "S"])
    lib.check(len(left) == 1, "what a finished process left is gone")
    answer = client.call("process/terminate", processId="p")
    lib.check(answer["running"] is False, "a finished process runs")
    time.sleep(0.1)             # long enough for many passes of a killer
    lib.check(lib.marked(mark) == left,
              "terminate of a finished process killed something")
    client.drop()
    # DetachedTtl and the grace, then it must be gone.
    lib.check(lib.wait_until(lambda: not lib.marked(mark)),
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
    sleeper = start_sleeper(server, other, "innocent")
    r = Round(server, uid, ways)
    worker = server.worker_of(server.pid_of(r.client, ways[0]))
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


def run(uid, *options, groups=None, **how):
    """groups: whether there must be control groups; None: as it is."""
    ways = [w for w in WAYS if w != "namespace" or namespaces_allowed(uid)]
    if "namespace" not in ways:
        print("left out: no user namespaces")
    options = ("-o", "DetachedTtl=1") + options
    with lib.Server(*options, **how) as server:
        has_groups = lib.has_groups(server, uid)
        lib.check(groups in (None, has_groups), "control groups: %s" %
                  has_groups)
        late = LATE_WAYS if has_groups else LATE_WAYS + GROUP_WAYS
        for some in (ways + (GROUP_WAYS if has_groups else []), FAST_WAYS):
            lib.best_of(test_terminate, server, uid, some)
        lib.best_of(test_grace, server, uid)
        test_finished(server, uid)
        for some in (ways + late, FAST_WAYS):
            lib.best_of(test_expiry, server, uid, some)
            lib.best_of(test_worker_death, server, uid, some)
    for some in (ways + late, FAST_WAYS):
        lib.best_of(test_stop, uid, some, **how)
        lib.best_of(test_death_at_stop, uid, some, **how)


def test_unkillable(uid, **how):
    """Who has become root is looked for so long, and no longer."""
    directory = lib.temp_dir(0o1777)
    if os.statvfs(directory).f_flag & os.ST_NOSUID:
        print("left out: no set-user-ID programs")
        return
    program = os.path.join(directory, "python")
    shutil.copy(os.path.realpath("/usr/bin/python3"), program)
    os.chmod(program, 0o4755)
    server = lib.Server("-o", "DetachedTtl=60", **how)
    client = lib.Client(server.url, uid=uid)
    client.start("p", program, "-I", "-c", "import os, time\n"
                 "os.setresuid(0, 0, 0)\n"
                 "open('%s/ready', 'w').close()\n"
                 "time.sleep(100000)" % directory)
    lib.check(lib.wait_until(
        lambda: os.path.exists(directory + "/ready")), "it is not root")
    pid = client.pid_of("p")
    os.kill(server.worker_of(pid), signal.SIGKILL)
    said = "processes that a worker left behind cannot be killed"
    lib.check(lib.wait_until(lambda: said in server.text()),
              "the master looks for ever")
    lib.check(lib.wait_until(lambda: rests(server.pid)), "the master is busy")
    lib.check(server.text().count(said) == 1, "said more than once")
    lib.check(lib.lives(pid), "it is gone all the same")
    os.kill(pid, signal.SIGKILL)
    client.drop()
    server.stop()


def stranger_of(server):
    """Somebody else's orphan, which a master that is PID 1 has inherited."""
    for pid in lib.children(server.pid):
        if b"sleep" in lib.read_proc(pid, "comm"):
            return pid, lib.stat_of(pid)[2]
    return None


def run_container():
    """The master is PID 1: every orphan there is comes to it."""
    with lib.Server("-o", "DetachedTtl=60", prefix=(
            "unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
            "sh", "-c", 'sh -c "sleep 100000 & exit"; exec "$0" "$@"'),
            preexec=lambda: resource.setrlimit(
                resource.RLIMIT_NPROC, (2000, 2000))) as server:
        lib.check(lib.ns_pid(server.pid) == 1, "the master is not PID 1")
        lib.check(lib.wait_until(lambda: stranger_of(server)),
                  "no orphan of somebody else")
        stranger = stranger_of(server)
        for some in (WAYS + GROUP_WAYS + LATE_WAYS, FAST_WAYS, FAST_WAYS):
            lib.best_of(test_worker_death, server, None, some)
        lib.check(stranger, "no stranger") and \
            check_sleepers("PID 1", [stranger])
        # Nobody is looked for any more: the master is at rest.
        lib.check(lib.wait_until(lambda: rests(server.pid)),
                  "the master is busy")


def rests(pid):
    before = time_of(pid)
    time.sleep(0.5)
    return time_of(pid) - before < 0.1


def time_of(pid):
    """Seconds of processor that it has used."""
    rest = lib.read_proc(pid, "stat").rsplit(b")", 1)[1].split()
    return (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")


AS_NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534",
             "--clear-groups")


def run_delegated():
    group = lib.own_group()
    if group is None or not os.access(group, os.W_OK):
        print("left out: no control groups of version 2")
        return
    group = os.path.join(group, "test-" + uuid.uuid4().hex)
    os.mkdir(group)
    for name in ("", "cgroup.procs", "cgroup.subtree_control",
                 "cgroup.threads"):
        os.chown(os.path.join(group, name), lib.NOBODY, lib.NOBODY)
    try:
        run(lib.NOBODY, groups=True, owner=lib.NOBODY, prefix=(
            "sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', group,
            *AS_NOBODY))
    finally:
        lib.check(lib.wait_until(lambda: removed(group)),
                  "left: %s" % os.listdir(group)
                  if os.path.exists(group) else "")


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        pass
    return not os.path.exists(group)


def main():
    if not shutil.which("unshare"):
        lib.skip("no unshare(1)")
    if len(sys.argv) > 1 and sys.argv[1] == "container":
        print("a server that is PID 1")
        run_container()
    elif len(sys.argv) > 1 and sys.argv[1] == "nobody":
        print("a root server, a client without rights")
        run(lib.NOBODY)
    elif len(sys.argv) > 1 and sys.argv[1] == "unprivileged":
        print("a server without rights")
        how = {"owner": lib.NOBODY, "prefix": AS_NOBODY}
        run(lib.NOBODY, groups=False, **how)
        test_unkillable(lib.NOBODY, **how)
    elif len(sys.argv) > 1 and sys.argv[1] == "delegated":
        print("a server without rights that may make control groups")
        run_delegated()
    elif len(sys.argv) > 1 and sys.argv[1] == "groupless":
        print("a server that makes no control groups")
        run(None, "-o", "ProcessCgroup=no", groups=False)
    else:
        run(None)
    lib.finish()


main()
