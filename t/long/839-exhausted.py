"""839: disks, descriptors, memory, processes, terminals and watches that run
out: what was there before stays as it was, nobody computes in vain, and
sessions go on when there is some again.

ROUNDS=N is how many of each kind; SEED=N repeats a run.  As root: it has mounts
and control groups of its own, so that nobody else runs out of anything."""
import base64
import contextlib
import errno
import importlib
import os
import random
import resource
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "sys"))
from client import (LIMIT, SANITIZED, Client, Closed, RpcError,  # noqa: E402
                    Server, TooSlow, check, connect, cpu, dial, fds, is_alive,
                    links, main, probe, resume_in, say, skip, wait_for,
                    worker_of)
from fscommon import LIBC, fill, folder, mount, paths, uri  # noqa: E402
from lines import Output, well  # noqa: E402

limited = importlib.import_module("902-descriptors").limited
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
ROUNDS = int(os.environ.get("ROUNDS", 20))
RNG = random.Random(SEED)
MIB = 1 << 20
A_USER = 61239                  # with inotify descriptors of its own
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 0x40000
GROUPS = "/sys/fs/cgroup/"
QUIET = 1.5                     # seconds of which a tenth may be computed
FAILED = (RpcError, Closed, OSError, TooSlow, AssertionError)


class Idle:
    """How much of a processor some used at most while they could do nothing."""

    def __init__(self):
        self.worst = 0.0

    def look(self, *pids):
        before = {p: cpu(p) for p in pids if is_alive(p)}
        time.sleep(QUIET)
        for p, used in before.items():
            if is_alive(p):
                share = (cpu(p) - used) / QUIET
                self.worst = max(self.worst, share)
                check(share < 0.1, "process %d used %.0f %% of a processor" %
                      (p, 100 * share))

    def __str__(self):
        return "%.1f %% of a processor at most" % (100 * self.worst)


def small_disk(point, options):
    os.makedirs(point, exist_ok=True)
    check(mount("small", point, "tmpfs", options), "no tmpfs at " + point)


def unmount(point):
    check(LIBC.umount2(point.encode(), 2) == 0, "umount " + point)


def fill_up(path):
    """All that is left of a disk, in a file."""
    with open(path, "ab", buffering=0) as f:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while f.write(b"x" * size):
                    pass


class Beside:
    """A session that goes on whatever is scarce. It answers pings whatever the
    test waits for."""

    def __init__(self, server):
        self.c, self.n, self.text = connect(server.url), 0, b""
        self.pid = worker_of(server, self.c)
        self.c.start("echo", "cat", pipeStdin=True)
        self.lock, self.over = threading.Lock(), threading.Event()
        threading.Thread(target=self.attend, daemon=True).start()

    def attend(self):
        with contextlib.suppress(Closed):       # echo() tells of it
            while not self.over.wait(1):
                with self.lock:
                    self.c.pump()

    def echo(self):
        with self.lock:
            self.line()

    def line(self):
        self.n += 1
        self.c.call("process/write", {
            "processId": "echo",
            "chunk": base64.b64encode(b"%d\n" % self.n).decode()})
        while self.text != b"%d\n" % self.n:
            self.text += base64.b64decode(self.c.note(
                "process/output", "echo")["chunk"])
            check((b"%d\n" % self.n).startswith(self.text), "%r" % self.text)
        self.text = b""

    def end(self):
        self.over.set()
        with self.lock:
            self.c.call("session/close")
            self.c.close()


def serves(server):
    """As soon as there is some again."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return probe(server.url)
        except FAILED as e:
            check(time.monotonic() < deadline, "nobody is served: %s" % e)
        time.sleep(0.05)


# --- disks -------------------------------------------------------------------

def content(size):
    return RNG.randbytes(size)


class Files:
    """What has to be on a disk, after calls that went well and others."""

    def __init__(self, c, top):
        self.c, self.top = c, top
        self.want, self.failed, self.done = {}, 0, 0

    def call(self, method, **params):
        self.done += 1
        try:
            self.c.call(method, params)
            return True
        except RpcError as e:
            check(e.code == -32603 and "space" in e.text, "%s" % e)
            self.failed += 1
            return False

    def step(self):
        name, other = ("%s/%s" % (self.top, RNG.choice("abcd"))
                       for _ in range(2))
        how = RNG.randrange(8)
        if how < 4:
            data = content(RNG.choice([0, 1, 1000, 200000, MIB, 3 * MIB // 2]))
            if self.call("fs/writeFile", **paths(
                    name, dataBase64=base64.b64encode(data).decode())):
                self.want[name] = data
        elif how == 4 and name in self.want and name != other:
            if self.call("fs/copy", sourcePath=uri(name),
                         destinationPath=uri(other), recursive=False):
                self.want[other] = self.want[name]
        elif how == 5 and name in self.want and name != other:
            if self.call("fs/rename", sourcePath=uri(name),
                         destinationPath=uri(other)):
                self.want[other] = self.want.pop(name)
        elif how == 6 and name in self.want and RNG.random() < 0.5:
            if self.call("fs/remove", path=uri(name)):
                del self.want[name]
        elif self.call("fs/createDirectory", **paths(self.top + "/e/f")):
            check(os.path.isdir(self.top + "/e/f"), "no folder")
            os.rmdir(self.top + "/e/f")
        self.look()

    def look(self):
        """All that should be there, as it should be, and nothing else."""
        for name, data in self.want.items():
            with open(name, "rb") as f:
                check(f.read() == data, "other content in %s" % name)
        more = {"%s/%s" % (self.top, n) for n in os.listdir(self.top)} - \
            set(self.want) - {self.top + "/e", self.top + "/filler"}
        check(not more, "left behind: %s" % more)


def disk_files():
    """Files on a disk that is full now and then."""
    server, top, idle = Server(), folder("disk") + "/disk", Idle()
    beside = Beside(server)
    with connect(server.url) as c:
        pid = worker_of(server, c)
        some = Files(c, top)
        for n in range(ROUNDS):
            small_disk(top, "size=4m,nr_inodes=%d" % RNG.choice([9, 1000]))
            some.want.clear()
            for _ in range(30):
                some.step()
                if RNG.random() < 0.1:
                    fill_up(top + "/filler")
                elif RNG.random() < 0.2 and os.path.exists(top + "/filler"):
                    os.unlink(top + "/filler")
            beside.echo()
            if n % 10 == 0:
                fill_up(top + "/filler")
                idle.look(server.pid, pid)
            unmount(top)
        check(some.failed > 0, "none failed")
        c.call("session/close")
    say("  %d calls, %d without room, old content intact; %s" % (
        some.done, some.failed, idle))
    beside.end()
    well(server)
    server.stop()


def used(point):
    st = os.statvfs(point)
    return (st.f_blocks - st.f_bavail) * st.f_bsize


def disk_spool():
    """No room for output of a session that nobody is attached to."""
    idle, again, server = Idle(), 0, Server()
    beside, filler = Beside(server), "/var/tmp/filler"
    small_disk("/var/tmp", "mode=1777,size=64m")
    rounds = max(2, ROUNDS // 4)
    for n in range(rounds):
        fill_up(filler)
        os.truncate(filler, 64 * MIB - RNG.choice([1 << 16, MIB, 4 * MIB]))
        out, c = Output(), connect(server.url)
        pid = worker_of(server, c)
        out.begin(c)
        c.reset()
        wait_for(lambda k=n: server.log().count("the disk is full") > k, LIMIT,
                 "it is held back")
        if n % 3 == 0:
            idle.look(server.pid, pid)
        beside.echo()
        if n % 2 == 0:          # there is room again, and nobody comes
            os.unlink(filler)
            wait_for(lambda: used("/var/tmp") > 20 * MIB, LIMIT, "it goes on")
            again += 1
        with resume_in(server.url, c.session, LIMIT) as c:
            out.read(c, LIMIT)
            at = out.bytes
            while out.bytes < at + 20 * MIB:
                c.until(lambda c=c: c.notes)
                while c.notes:
                    out.note(c.notes.popleft())
            out.end(c, LIMIT)
            c.call("session/close")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(filler)
        wait_for(lambda: used("/var/tmp") < MIB, LIMIT, "its file is gone")
    unmount("/var/tmp")
    say("  %d sessions held back, %d went on by themselves, each line once; %s"
        % (rounds, again, idle))
    beside.end()
    well(server)
    server.stop()


def disk_logs():
    """No room for the log, the audit log and transcripts."""
    top, idle = folder("logs") + "/disk", Idle()
    small_disk(top, "size=1m,mode=755")
    server = Server("LogTo=%s/log" % top, "AuditLog=%s/audit" % top,
                    "Transcript=all", "TranscriptDir=%s" % top)
    beside = Beside(server)
    for n in range(ROUNDS):
        fill_up(top + "/filler")
        for _ in range(3):
            probe(server.url)
        beside.echo()
        if n == 0:
            idle.look(server.pid, beside.pid)
        os.unlink(top + "/filler")
        with open(top + "/audit", "rb") as f:
            before = f.read().count(b"\n")
        probe(server.url)
        with open(top + "/audit", "rb") as f:
            check(f.read().count(b"\n") > before, "the audit log goes on")
    say("  %d times full, sessions went on; %s" % (ROUNDS, idle))
    beside.end()
    server.stop()
    unmount(top)


# --- descriptors -------------------------------------------------------------

def highest(pid):
    return max(int(n) for n in os.listdir("/proc/%d/fd" % pid)) + 1


def attempt(url):
    """What a client does, with whatever comes of it."""
    with contextlib.suppress(*FAILED), contextlib.closing(
            Client(url, upgrade=False)) as c:
        c.sock.settimeout(1)
        c.upgrade()
        c.initialize(seconds=1)
        c.sock.settimeout(1)
        c.run("p", "true", seconds=1)


def busy_with(c, top):
    """Requests of all kinds; how many failed."""
    failed = 0
    for method, params in [
            ("process/start", {"processId": "p%d" % RNG.randrange(1 << 60),
                               "argv": ["/bin/true"], "cwd": uri(top),
                               "env": {}, "tty": RNG.random() < 0.5,
                               "pipeStdin": True}),
            ("fs/readFile", paths(top + "/old")),
            ("fs/writeFile", paths(top + "/new", dataBase64="eHg=")),
            ("fs/readDirectory", paths(top)),
            ("fs/walk", paths(top, options={
                "maxDepth": 9, "maxDirectories": 9, "maxEntries": 99,
                "followDirectorySymlinks": True})),
            ("fs/copy", {"sourcePath": uri(top), "recursive": True,
                         "destinationPath": uri(top + "-copy")}),
            ("fs/watchMissing", {"watchId": RNG.randrange(1 << 30),
                                 "missing": [uri(top + "/no")]}),
            ("http/request", {"requestId": "r%d" % RNG.randrange(1 << 60),
                              "method": "GET", "url": "http://127.0.0.1:9/",
                              "headers": [], "timeoutMs": 1000})]:
        try:
            c.call(method, params)
        except RpcError as e:
            failed += 1
            check(e.code in (-32603, -32600, -32004), "%s: %s" % (method, e))
    return failed


def old_file():
    """A folder with a file that has to stay."""
    top = folder("old")
    fill(top + "/old", b"old" * 1000)
    return top


def intact(top):
    with open(top + "/old", "rb") as f:
        check(f.read() == b"old" * 1000, "other content")


def descriptors():
    server, idle, failed = Server(), Idle(), 0
    top, beside = old_file(), Beside(server)
    c = connect(server.url)
    c.start("cat", "cat", pipeStdin=True)
    pid = worker_of(server, c)
    for n in range(ROUNDS):
        with limited(pid, highest(pid) + RNG.randrange(-3, 6)):
            failed += busy_with(c, top)
            if n % 10 == 0:
                idle.look(pid)
        with limited(server.pid, fds(server.pid) + RNG.randrange(4)):
            for _ in range(3):
                attempt(server.url)
            beside.echo()
            if n % 10 == 0:
                idle.look(server.pid, pid, beside.pid)
        serves(server)
        check(busy_with(c, top) <= 1, "it does not go on")  # nobody listens
        intact(top)
    check(failed > 0, "none failed")
    say("  %d rounds, %d requests failed; %s" % (ROUNDS, failed, idle))
    c.close()
    beside.end()
    well(server)
    server.stop()


# --- memory ------------------------------------------------------------------

@contextlib.contextmanager
def memory(pid, more):
    """It can map so many bytes more."""
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        size = int(f.read().split()[0]) * resource.getpagesize()
    old = resource.prlimit(pid, resource.RLIMIT_AS)
    resource.prlimit(pid, resource.RLIMIT_AS, (size + more, old[1]))
    try:
        yield
    finally:
        if is_alive(pid):
            resource.prlimit(pid, resource.RLIMIT_AS, old)


def memory_of_worker():
    """A worker that gets none: its session or its client may be lost, others
    not; most go on."""
    server, top, lost, failed = Server(), old_file(), 0, 0
    beside, idle = Beside(server), Idle()
    big = base64.b64encode(bytes(3 * MIB)).decode()
    for n in range(ROUNDS):
        c, ended = connect(server.url), False
        c.start("cat", "cat", pipeStdin=True)
        pid = worker_of(server, c)
        with memory(pid, RNG.choice([0, 4096, 65536, MIB, 4 * MIB])):
            try:
                failed += busy_with(c, top)
                for _ in range(n % 3 * 2):      # larger than its memory
                    try:
                        c.call("fs/writeFile", paths(top + "/big",
                                                     dataBase64=big))
                    except RpcError:
                        failed += 1
                if n % 10 == 0:
                    idle.look(pid, server.pid)
            except (Closed, OSError):
                ended = True
                lost += 1
        beside.echo()
        intact(top)
        with contextlib.closing(resume_in(server.url, c.session, LIMIT)
                                if ended else c) as again:
            busy_with(again, top)
            check(again.run("last", "echo", "x") == (b"x\n", 0), "it goes on")
            again.call("session/close")
        serves(server)
    say("  worker: %d rounds, %d requests failed, %d connections ended; %s" % (
        ROUNDS, failed, lost, idle))
    beside.end()
    well(server)
    server.stop()


def memory_of_master():
    server, idle = Server("SpareWorkers=1", "MaxSpareWorkers=1"), Idle()
    beside = Beside(server)
    for n in range(ROUNDS):
        with memory(server.pid, RNG.choice([0, 4096, 65536])):
            some = []
            for _ in range(30):
                with contextlib.suppress(*FAILED):
                    some.append(dial(server.url))
            attempt(server.url)
            beside.echo()
            if n % 10 == 0:
                idle.look(server.pid)
            for s in some:
                s.close()
        serves(server)
    say("  master: %d rounds; %s" % (ROUNDS, idle))
    beside.end()
    well(server)
    server.stop()


@contextlib.contextmanager
def group(kind, name):
    """A control group of the test's own, or None."""
    path = "%s%s/execsrv-839-%d-%s" % (GROUPS, kind, os.getpid(), name)
    try:
        os.mkdir(path)
    except OSError:
        yield None
        return
    try:
        yield path
    finally:
        wait_for(lambda: not removed(path), LIMIT, "its control group is empty")


def removed(path):
    """An error as long as somebody is in it."""
    try:
        os.rmdir(path)
    except OSError as e:
        return e.errno == errno.EBUSY
    return False


def put(path, name, value):
    with open("%s/%s" % (path, name), "w", encoding="ascii") as f:
        f.write("%s\n" % value)


def within(path):
    """What has a server start in there."""
    return ("sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', path)


def memory_of_all():
    """A command that takes all there is loses its life, and nobody else."""
    with group("memory", "m") as path:
        if path is None or SANITIZED:
            say("  left out: no control group for memory")
            return
        put(path, "memory.limit_in_bytes", 256 * MIB)
        server = Server(prefix=within(path))
        beside, killed = Beside(server), 0
        for n in range(max(1, ROUNDS // 4)):
            with connect(server.url) as c:
                _, status = c.run("eats", sys.executable, "-c",
                                  "a = [bytearray(b'x' * (1 << 20)) "
                                  "for _ in range(1000)]", seconds=2 * LIMIT)
                killed += status == 137
                c.call("session/close")
            beside.echo()
            serves(server)
        check(killed > 0, "none was killed")
        say("  all: %d of %d commands killed, nobody else" % (killed, n + 1))
        beside.end()
        well(server)
        server.stop()


# --- processes, terminals, watches -------------------------------------------

def processes():
    with group("pids", "p") as path:
        if path is None:
            say("  left out: no control group for processes")
            return
        server, top, idle, failed = Server(prefix=within(path)), old_file(), \
            Idle(), 0
        beside = Beside(server)
        c = connect(server.url)
        pid = worker_of(server, c)
        for n in range(ROUNDS):
            with open(path + "/pids.current", encoding="ascii") as f:
                put(path, "pids.max", int(f.read()) + RNG.choice([0, 0, 1, 2]))
            failed += busy_with(c, top)
            attempt(server.url)
            beside.echo()
            if n % 10 == 0:
                idle.look(server.pid, pid, beside.pid)
            intact(top)
            put(path, "pids.max", "max")
            serves(server)
            check(busy_with(c, top) <= 1, "it does not go on")
        check(failed > 0, "none failed")
        say("  %d rounds, %d requests failed; %s" % (ROUNDS, failed, idle))
        c.close()
        beside.end()
        well(server)
        server.stop()


def terminals():
    check(mount("devpts", "/dev/pts", "devpts",
                "newinstance,ptmxmode=0666,max=3"), "no terminals of our own")
    server, failed, beside = Server(), 0, None
    beside = Beside(server)
    for n in range(ROUNDS):
        with connect(server.url) as c:
            for i in range(6):
                try:
                    c.start("p%d" % i, "cat", tty=True, pipeStdin=True)
                except RpcError as e:
                    check(e.code == -32603, "%s" % e)
                    failed += 1
            beside.echo()
            check(c.run("plain", "echo", "x") == (b"x\n", 0), "without one")
            for i in range(6):
                with contextlib.suppress(RpcError):
                    c.call("process/terminate", {"processId": "p%d" % i})

            def again(c=c, n=n):
                with contextlib.suppress(RpcError):
                    again.count += 1
                    c.start("q%d" % again.count, "true", tty=True)
                    return True
                return False
            again.count = 0
            wait_for(again, LIMIT, "terminals again")
            c.call("session/close")
    check(failed == 3 * ROUNDS, "%d failed" % failed)
    say("  %d starts without a terminal failed, then went well" % failed)
    beside.end()
    well(server)
    server.stop()
    unmount("/dev/pts")


TAKES = """
import ctypes, os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
libc, some = ctypes.CDLL(None), 0
while libc.inotify_init1(os.O_CLOEXEC) != -1:
    some += 1
print(some, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def taken(user):
    """Another program of the user has all inotify descriptors."""
    with subprocess.Popen([*user, "/usr/bin/python3", "-I", "-c", TAKES],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as p:
        check(int(p.stdout.readline()) > 0, "none was taken")
        yield
        p.stdin.close()


def watches():
    top, idle, refused = folder("watches"), Idle(), 0
    with open("/proc/sys/fs/inotify/max_user_instances", "rb") as f:
        most = int(f.read())
    if most > 4096 or not os.access("/usr/bin/python3", os.X_OK):
        say("  left out: %d inotify descriptors" % most)
        return
    user = ("setpriv", "--reuid=%d" % A_USER, "--regid=%d" % A_USER,
            "--clear-groups", "--")
    server = Server("RuntimeDirectory=none", run=False, prefix=user)
    os.seteuid(A_USER)
    try:
        c, number = connect(server.url), 0
    finally:
        os.seteuid(0)

    def watch():
        nonlocal number
        number += 1
        return c.call("fs/watchMissing", {
            "watchId": number,
            "missing": [uri("%s/%d" % (top, number))]})["watching"]
    for n in range(ROUNDS):
        with taken(user):
            for _ in range(3):
                refused += not watch()
            check(c.run("p%d" % n, "echo", "x") == (b"x\n", 0), "a command")
            if n % 10 == 0:
                idle.look(server.pid, *server.workers())
        wait_for(watch, LIMIT, "watches again")
        fill("%s/%d" % (top, number), b"")
        while c.note("fs/missingChanged")["watchId"] != number:
            pass
        # The last descriptor stays for a while after the last watch.
        wait_for(lambda: not any(
            "inotify" in link for p in server.workers()
            for link in links(p)), LIMIT, "no watch")
    check(refused == 3 * ROUNDS, "%d refused" % refused)
    say("  %d watches refused, then granted; %s" % (refused, idle))
    c.close()
    well(server)
    server.stop()


def apart():
    """Mounts of our own."""
    if os.geteuid() != 0:
        skip("wants root")
    if LIBC.unshare(CLONE_NEWNS) == -1 or LIBC.mount(
            None, b"/", None, MS_REC | MS_PRIVATE, None) == -1:
        skip("mounts are not permitted")


say("SEED=%d" % SEED)
apart()
main(disk_files, disk_spool, disk_logs, descriptors, memory_of_worker,
     memory_of_master, memory_of_all, processes, terminals, watches)
