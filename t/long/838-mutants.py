"""838: changed messages, frames and upgrade requests at a sanitized server: no
report, no death of the master nor of a worker, and the next client is served.

MUTANTS=N is how many; SEED=N repeats a run.  All of it runs as nobody's user in
namespaces of its own (mounts, processes, network) where a scratch folder is all
that can be written to.  As root; sanitized programs are those of make san."""
import codecs
import collections
import contextlib
import ctypes
import fcntl
import json
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
MUTANTS = int(os.environ.get("MUTANTS", 40000))
SKIP, NOBODY = 77, 65534
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
AT_ONCE = 50                    # messages that nobody waits for
EACH = 400                      # of one connection at most
LIBC = ctypes.CDLL(None, use_errno=True)


# --- a place where nothing can be hurt ---------------------------------------

def skip(why):
    print(why)
    sys.exit(SKIP)


def apart():
    """Again, in namespaces; does not return."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        skip("wants root and unshare")
    build = os.environ.get("BUILD", "build")
    if not os.environ.get("SANITIZERS"):
        if os.access(build + "/san/execsrvd", os.X_OK):
            build += "/san"
        else:
            print("left out: no sanitized programs (make san)", flush=True)
    scratch = tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp"))
    print("SEED=%d" % SEED, flush=True)
    status = subprocess.run(
        ["unshare", "-m", "-n", "-p", "-f", "--kill-child", "--mount-proc",
         sys.executable, os.path.abspath(__file__)],
        env={**os.environ, "APART": scratch, "SEED": str(SEED),
             "BUILD": os.path.abspath(build)}).returncode
    os.rmdir(scratch)
    sys.exit(status)


def mount(source, target, kind, flags, data):
    if LIBC.mount(source and source.encode(), target.encode(),
                  kind and kind.encode(), flags, data and data.encode()) != 0:
        sys.exit("mount %s: %s" % (target, os.strerror(ctypes.get_errno())))


def mounted():
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return [line.split()[4].encode().decode("unicode_escape")
                for line in f]


def shut_in(scratch):
    """Only the scratch folder can be written to, by nobody in particular."""
    if os.getpid() != 1:
        sys.exit("not in a process namespace")
    for path in mounted():
        if path == "/proc" or not os.path.exists(path):
            continue
        mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)
        if not os.statvfs(path).f_flag & os.ST_RDONLY:
            sys.exit("%s can be written to" % path)
    mount("scratch", scratch, "tmpfs", 0, "size=512m,nr_inodes=50k,mode=1777")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh14x", b"lo", 1)       # IFF_UP
        fcntl.ioctl(s, 0x8914, request)                  # SIOCSIFFLAGS
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for path in ("/tmp", "/dev/shm", "/var/tmp", HERE):
        with contextlib.suppress(OSError):
            tempfile.mkdtemp(dir=path)
            sys.exit("%s can be written to" % path)
    for name in ("log", "top"):
        os.mkdir(scratch + "/" + name)


if "APART" not in os.environ:
    apart()
SCRATCH = os.environ["APART"]
MORE = "log_path=%s/log/report:print_stacktrace=1" % SCRATCH
os.environ.update({"TMPDIR": SCRATCH + "/log", "HOME": SCRATCH + "/top",
                   "ASAN_OPTIONS": MORE, "UBSAN_OPTIONS": MORE})
sys.path[:0] = [os.path.join(HERE, "..", "sys"), HERE]
from client import (LIMIT, Closed, Client, Server, check, connect,  # noqa: E402
                    dial, probe, say, upgrade_request)
from lines import well  # noqa: E402
from mutate import Mutator  # noqa: E402

# The last that is read of Python: nobody may not, where it is root's.
for codec in ("ascii", "utf-8", "idna"):
    codecs.lookup(codec)
shut_in(SCRATCH)
RNG = random.Random(SEED)
OVER = (Closed, OSError)


class Wild(Client):
    """Keeps nothing but what it waits for, and survives any answer."""

    def __init__(self, url, done):
        self.done = done
        super().__init__(url)

    def on_message(self, m):
        self.done["answers"] += "id" in m
        if "error" in m:
            self.done["errors"] += 1
        if isinstance(m.get("id"), str) and m["id"].startswith("wait"):
            self.answers[m["id"]] = m

    def push(self, data):
        """Send, and take what comes meanwhile: none may wait for the other."""
        view = memoryview(data)
        self.sock.setblocking(False)
        deadline = time.monotonic() + 3 * LIMIT
        try:
            while view:
                check(time.monotonic() < deadline, "nothing is taken")
                r, w, _ = select.select([self.sock], [self.sock], [], 1)
                if r:
                    self.take()
                if self.ended:
                    raise self.ended
                if w:
                    with contextlib.suppress(BlockingIOError):
                        view = view[self.sock.send(view):]
        finally:
            self.sock.settimeout(LIMIT)


def sync(c, mutator, number):
    """All that was sent before has been read."""
    name = "wait%d" % number
    c.push(mutator.frames(json.dumps(
        {"id": name, "method": "environment/status", "params": {}}).encode()))
    c.until(lambda: c.answers.pop(name, None), 3 * LIMIT)


def tidy(again=False):
    """What is written to is there and can be, whatever was made of it."""
    top = SCRATCH + "/top"
    os.chmod(top, 0o755)
    if again:
        for entry in os.scandir(top):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)
    for name in ("gone", "gone/d", "d"):
        with contextlib.suppress(OSError):
            os.mkdir("%s/%s" % (top, name))
    with contextlib.suppress(OSError), open(top + "/f", "wb") as f:
        f.write(b"x" * 1000)


def talk(server, mutator, done):
    """A session full of mutants."""
    tidy(RNG.random() < 0.1)
    with contextlib.closing(Wild(server.url, done)) as c:
        early = RNG.random() < 0.2
        if not early:
            c.push(mutator.frames(b'{"id":"wait","method":"initialize",'
                                  b'"params":{"clientName":"t"}}'))
            c.until(lambda: c.answers.pop("wait", None), 3 * LIMIT)
            c.push(mutator.frames(b'{"method":"initialized"}'))
        for i in range(RNG.choice([1, EACH // AT_ONCE])):
            some = [mutator.frames(mutator.lasting())
                    for _ in range(5 if early else AT_ONCE)]
            if RNG.random() < 0.1:
                some.append(mutator.frames(mutator.mutant()))
            done["messages"] += len(some)
            c.push(b"".join(some))
            sync(c, mutator, i)
        if RNG.random() < 0.8:
            c.push(mutator.frames(b'{"id":"wait","method":"session/close"}'))
            c.until(lambda: c.answers.pop("wait", None), 3 * LIMIT)


def rage(server, mutator, done):
    """Frames that no client sends, until the server has enough."""
    with contextlib.closing(Wild(server.url, done)) as c:
        if RNG.random() < 0.7:
            c.push(mutator.frames(b'{"id":"wait","method":"initialize",'
                                  b'"params":{"clientName":"t"}}'))
            c.until(lambda: c.answers.pop("wait", None), 3 * LIMIT)
        for _ in range(RNG.choice([1, 3, 10])):
            data = b"".join(mutator.frames(mutator.mutant())
                            for _ in range(RNG.choice([0, 1, 5])))
            done["frames"] += 1
            c.push(data + mutator.wild(mutator.mutant()))
            c.pump(0)


def knock(server, mutator, done):
    """Upgrade requests that are none."""
    with contextlib.closing(dial(server.url)) as s:
        done["heads"] += 1
        s.sendall(mutator.head(upgrade_request()) + mutator.frames(
            mutator.mutant()))
        s.shutdown(socket.SHUT_WR)
        s.settimeout(3 * LIMIT)
        while s.recv(65536):
            pass


def total(done):
    return done["messages"] + done["frames"] + done["heads"]


def reports():
    """What sanitizers wrote."""
    out = []
    for name in sorted(os.listdir(SCRATCH + "/log")):
        if name.startswith("report"):
            with open(SCRATCH + "/log/" + name, encoding="utf-8",
                      errors="replace") as f:
                out.append(f.read())
    return [r for r in out if r.strip() and "Unable to get registers" not in r]


def judge(server, done):
    found = reports()
    check(not found, "%d reports\n%s" % (len(found), "\n".join(found)[:20000]))
    well(server)
    probe(server.url)
    done["probes"] += 1


def mutants():
    server = Server("Foreground=yes", "DetachedTtl=2", "ClosedProcessTtl=2",
                    "TerminateGrace=100ms", "MaxProcesses=64",
                    "DetachedSpool=1M", "LogLevel=warning", "SpareWorkers=4")
    mutator = Mutator(RNG, "file://%s/top" % SCRATCH, os.path.join(
        HERE, "..", "wire"))
    done, began, looked = collections.Counter(), time.monotonic(), 0
    with connect(server.url) as beside:
        beside.start("p", "sleep", "100000")
        while total(done) < MUTANTS:
            what = RNG.choices([talk, rage, knock], [10, 20, 4])[0]
            seed = RNG.randrange(1 << 62)
            RNG.seed(seed)
            done[what.__name__] += 1
            try:
                what(server, mutator, done)
            except OVER:
                done["ended by the server"] += 1
            except AssertionError:
                say("  in %s, seed %d" % (what.__name__, seed))
                raise
            beside.pump()
            if total(done) >= looked + 5000:
                looked = total(done)
                judge(server, done)
                if looked // 5000 % 10 == 0:
                    say("  %d" % looked)
        judge(server, done)
        check(not beside.call("process/read", {"processId": "p"})["exited"],
              "the session beside them")
    say("  %d mutants in %.0f s: %s; 0 reports, 0 deaths" % (
        total(done), time.monotonic() - began, ", ".join(
            "%d %s" % (v, k) for k, v in sorted(done.items()))))
    server.stop()
    found = reports()
    check(not found, "at the end:\n" + "\n".join(found)[:20000])


try:
    mutants()
except BaseException:
    for one in Server.all:
        print(one.log()[-3000:], flush=True)
    raise
