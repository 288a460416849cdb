"""What the 2xx tests share: a server, a client, processes found by a mark."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

SRCDIR = os.environ.get("SRCDIR", os.getcwd())
sys.path.insert(0, os.path.join(SRCDIR, "t", "wire"))
from conn import Conn  # noqa: E402

BUILD = os.environ["BUILD"]
SCALE = float(os.environ.get("T_SCALE", "1"))
TMP = os.environ.get("TMPDIR", "/tmp")
SKIP = 77
LIMIT = 60              # seconds, to be scaled: for what has to come
NOBODY = 65534
NOT_FOUND = -32600

failures = []


def fail(text):
    failures.append(text)
    print("FAIL:", text, flush=True)


def check(ok, text):
    if not ok:
        fail(text)
    return ok


class Late(Exception):
    """As it should be, but not in time: perhaps the machine stood still."""


def best_of(test, *args, **how):
    """Do it once more when it was late. That it fails otherwise counts."""
    for left in reversed(range(5)):
        try:
            return test(*args, **how)
        except Late as e:
            if left == 0:
                fail(str(e))
            else:
                print("once more: %s" % e, flush=True)
    return None


def skip(why):
    print(why)
    sys.exit(SKIP)


def finish():
    sys.exit(1 if failures else 0)


def wait_until(ready, limit=LIMIT, step=0.01):
    """What ready() gave at last; the limit is scaled."""
    deadline = time.monotonic() + limit * SCALE
    while True:
        got = ready()
        if got or time.monotonic() > deadline:
            return got
        time.sleep(step)


def temp_dir(mode=0o755):
    path = tempfile.mkdtemp(dir=TMP)
    os.chmod(path, mode)
    return path


@contextlib.contextmanager
def as_uid(uid):
    """What this thread opens in here belongs to that user (root only)."""
    if uid is None or uid == os.geteuid():
        yield
        return
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def python_for(uid):
    """A Python that a user may execute: ours may lie in root's home."""
    for path in (sys.executable, "/usr/bin/python3"):
        argv = [path, "-I", "-c", ""]
        if uid is not None:
            # By a shell: setpriv(1) looks with root's capabilities.
            argv = ["setpriv", "--reuid", str(uid), "--regid", str(uid),
                    "--clear-groups", "sh", "-c", 'exec "$0" "$@"'] + argv
        try:
            if subprocess.run(argv, stderr=subprocess.DEVNULL).returncode == 0:
                return path
        except OSError:
            pass
    skip("no Python for uid %s" % uid)


# --- processes through /proc -------------------------------------------------

def read_file(path):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        got = [b"", os.read(fd, 65536)]
        while got[-1]:
            got.append(os.read(fd, 65536))
        return b"".join(got)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_proc(pid, name):
    return read_file("/proc/%d/%s" % (pid, name))


def stat_of(pid):
    """(state, parent, start time) or None."""
    text = read_proc(pid, "stat").decode("latin-1")
    if ")" not in text:
        return None
    rest = text.rsplit(")", 1)[1].split()
    return rest[0], int(rest[1]), rest[19]


def tasks(pid):
    """The files of its threads; the leader may be gone before them."""
    path = "/proc/%d/task" % pid
    try:
        return [path + "/" + t for t in os.listdir(path)]
    except OSError:
        return []


def owner_of(pid):
    """Its user, None if it is gone."""
    try:
        return os.stat("/proc/%d" % pid).st_uid
    except OSError:
        return None


def ns_pid(pid):
    """Its number where it lives, in the innermost PID namespace."""
    match = re.search(rb"^NSpid:.*\s(\d+)$", read_proc(pid, "status"), re.M)
    return int(match[1]) if match else None


def lives(pid):
    """Whether any thread of a process still runs."""
    for task in tasks(pid):
        text = read_file(task + "/stat").decode("latin-1")
        if ")" in text and text.rsplit(")", 1)[1].split()[0] not in "ZX":
            return True
    return False


def all_pids():
    return [int(p) for p in os.listdir("/proc") if p.isdigit()]


def used(pid):
    """Nanoseconds of processor time of its main thread (sched-stats)."""
    return int(read_proc(pid, "schedstat").split()[0])


def children(pid):
    return [p for p in all_pids() if (stat_of(p) or (0, 0))[1] == pid]


def threads_of(pid, name):
    """A file of its leader or, if that is gone, of a living thread."""
    data = read_proc(pid, name)
    for task in [] if data else tasks(pid):
        data = data or read_file(task + "/" + name)
    return data


BORN = int(stat_of(os.getpid())[2])     # in the ticks of stat_of()


def marked_by(marks):
    """Living processes by the mark in their environment or arguments, all in
    one look.  Only those that began after us: the machine may have many others.
    Of these none is skipped, as an exec can show a mark at any time."""
    found = {mark: [] for mark in marks}
    for pid in all_pids():
        stat = stat_of(pid)
        if pid == os.getpid() or stat is None or int(stat[2]) < BORN:
            continue
        text = threads_of(pid, "environ") + threads_of(pid, "cmdline")
        for mark, pids in found.items():
            if mark.encode() in text and lives(pid):
                pids.append(pid)
    return found


def marked(mark):
    return marked_by([mark])[mark]


def describe(pids):
    out = []
    for pid in pids:
        command = threads_of(pid, "cmdline").replace(b"\0", b" ")
        out.append("%d(%s) %s" % (pid, (stat_of(pid) or "?")[0],
                                  command.decode("latin-1").strip()[-90:]))
    return "; ".join(out)


def kill_all(mark):
    for _ in range(200):
        left = marked(mark)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


# --- control groups ----------------------------------------------------------

def group_path(line):
    """The directory of a line of /proc/PID/cgroup, or None."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for mount in file:
            fields = mount.split()
            if " - cgroup2 " in mount and fields[3] == "/":
                return fields[4].rstrip("/") + line[3:].rstrip("/")
    return None


def group_of(pid):
    """The directory of its group of version 2, or None."""
    for line in read_proc(pid, "cgroup").decode().splitlines():
        if line.startswith("0::/"):
            return group_path(line)
    return None


def own_group():
    return group_of(os.getpid())


def has_groups(server, uid):
    """Whether a server gives each process a group."""
    with Client(server.url, uid=uid) as client:
        client.start("group", "cat", "/proc/self/cgroup",
                     env={"PATH": os.environ["PATH"]})
        return b"/execsrv-" in client.output("group")[0]


# --- a server ----------------------------------------------------------------

class Server:
    """execsrvd on a port of its own (or a Unix socket); ended by its pid."""

    def __init__(self, *options, unix=False, prefix=(), env=None, owner=None,
                 preexec=None):
        self.dir = temp_dir(0o755)
        self.rundir = os.path.join(self.dir, "run")
        if owner is not None:
            os.chown(self.dir, owner, owner)
        environ = dict(os.environ, EXECSRV_RUNTIME_DIR=self.rundir)
        environ.update(env or {})
        listen = ["--listen", "ws://127.0.0.1:0"]
        self.unix = None
        if unix:
            self.unix = "unix:" + os.path.join(self.dir, "socket")
            listen += ["--listen", self.unix]
        self.log = open(os.path.join(self.dir, "log"), "w+b")
        self.child = subprocess.Popen(
            [*prefix, os.path.join(BUILD, "execsrvd"), *listen, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.log, env=environ, preexec_fn=preexec,
            start_new_session=True)
        line = self.child.stdout.readline().decode()
        self.pid = self.child.pid
        match = re.match(r"(ws://\S+)$", line.strip())
        if not match:
            self.child.kill()
            self.child.wait()
            raise RuntimeError("no server: %r %s" % (line, self.text()))
        self.url = match[1]
        # Its own options may have been a wrapper's: the master by its name.
        if prefix and b"execsrvd" not in read_proc(self.pid, "comm"):
            for pid in children(self.pid):
                if b"execsrvd" in read_proc(pid, "comm"):
                    self.pid = pid

    def text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def workers(self):
        return [p for p in children(self.pid)
                if b"execsrv-worker" in read_proc(p, "comm")]

    def pid_of(self, client, name):
        """A client's process by our own numbers, not those of a container."""
        pid = client.pid_of(name)
        if ns_pid(self.pid) == self.pid:
            return pid
        for other in all_pids():
            if ns_pid(other) == pid and self.worker_of(other):
                return other
        return None

    def worker_of(self, pid):
        """The worker that has a process among its descendants."""
        while pid > 1:
            stat = stat_of(pid)
            if not stat:
                return None
            if stat[1] == self.pid:
                return pid
            pid = stat[1]
        return None

    def stop(self, limit=LIMIT, sig=signal.SIGTERM):
        """End it and say how long that took; None: it had to be killed."""
        began = time.monotonic()
        if self.child.poll() is None:
            with contextlib.suppress(OSError):
                os.kill(self.pid, sig)
        try:
            self.child.wait(limit * SCALE)
            took = time.monotonic() - began
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
            took = None
            fail("the server does not stop")
        self.child.stdout.close()
        self.log.close()
        return took

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind:
            print(self.text()[-3000:], flush=True)
        self.stop()


# --- a client ----------------------------------------------------------------

class RpcError(Exception):
    def __init__(self, error):
        Exception.__init__(self, json.dumps(error))
        self.code = error["code"]


class Client:
    def __init__(self, url, uid=None, resume=None, limit=LIMIT):
        self.limit, self.next_id = limit * SCALE, 0
        self.notes, self.answers, self.closed = [], {}, False
        self.conn = Conn("c")
        with as_uid(uid):
            self.conn.open_socket(url)
        try:
            self.conn.upgrade(self.limit)
            params = {"clientName": "t"}
            if resume:
                params["resumeSessionId"] = resume
            self.hello = self.call("initialize", **params)
        except BaseException:
            self.conn.close()
            raise
        self.session = self.hello["sessionId"]
        self.conn.send_text('{"method":"initialized"}')

    # The reader thread fills conn.events; here they are sorted.
    def pump(self):
        events = self.conn.events
        while events:
            event = events.popleft()
            if event.kind == "msg" and "id" in event.data:
                self.answers[event.data["id"]] = event.data
            elif event.kind == "msg":
                self.notes.append(event.data)
            elif event.kind in ("eof", "close"):
                self.closed = True

    def send(self, method, **params):
        self.next_id += 1
        self.conn.send_text(json.dumps({"id": self.next_id, "method": method,
                                        "params": params}))
        return self.next_id

    def answer(self, number, limit=None):
        limit = self.limit if limit is None else limit * SCALE

        def ready():
            self.pump()
            if number in self.answers:
                return self.answers.pop(number)
            return {"lost": 1} if self.closed else None

        got = self.conn.wait(ready, time.monotonic() + limit)
        if got is None or "lost" in got:
            raise ConnectionError("no answer" if got is None else
                                  "the connection ended")
        if "error" in got:
            raise RpcError(got["error"])
        return got["result"]

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def start(self, name, *argv, env=None, cwd="/tmp", **more):
        params = {"processId": name, "argv": list(argv),
                  "cwd": "file://" + cwd, "env": env or {}, "tty": False,
                  "pipeStdin": False, "arg0": None}
        params.update(more)
        return self.call("process/start", **params)

    def pid_of(self, name):
        for p in self.call("process/list")["processes"]:
            if p["processId"] == name:
                return p["pid"]
        return None

    def note(self, name, method, limit=None):
        """The first notification of a kind about a process, or None."""
        limit = self.limit if limit is None else limit * SCALE

        def ready():
            self.pump()
            for n in self.notes:
                if n["method"] == method and \
                        n["params"]["processId"] == name:
                    return n["params"]
            return {"lost": 1} if self.closed else None

        got = self.conn.wait(ready, time.monotonic() + limit)
        return None if got is None or "lost" in got else got

    def output(self, name, until_closed=True, limit=None):
        """All output of a process, and its exit code."""
        import base64
        if until_closed and not self.note(name, "process/closed", limit):
            raise TimeoutError("%s is not closed" % name)
        data, code = b"", None
        for n in self.notes:
            if n["params"].get("processId") != name:
                continue
            if n["method"] == "process/output":
                data += base64.b64decode(n["params"]["chunk"])
            elif n["method"] == "process/exited":
                code = n["params"]["exitCode"]
        return data, code

    def drop(self):
        self.conn.close()

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.conn.close()


def prctl(*args):
    return ctypes.CDLL(None, use_errno=True).prctl(*args)
