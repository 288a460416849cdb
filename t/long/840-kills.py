"""840: the master is killed again and again, at every moment, also in adoption,
under sessions of all kinds: attached, detached, on a terminal, sandboxed and
remote.  None ends, and no byte and no event is lost; then a thousand sessions
are adopted at once, and ten thousand processes try to be one of them.

KILLS=N is how often, SESSIONS=N under how many, ADOPTED=N and FORGED=N are
those numbers; SEED=N repeats a run."""
import asyncio
import collections
import ctypes
import importlib
import os
import random
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
from client import (BUILD, LIMIT, Server, a_word, check, connect, descendants,
                    is_alive, resume_in, say, tried, wait_for, with_word,
                    zombies)

box = importlib.import_module("6common")
base = importlib.import_module("2common")
lib = importlib.import_module("7common")
remote = importlib.import_module("8common")
nextlib = importlib.import_module("5next")
uplinks = importlib.import_module("512-next-uplinks")
Next, kill = nextlib.Next, nextlib.kill
collect, missed = nextlib.collect, nextlib.missed

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
KILLS = int(os.environ.get("KILLS", 1000))
SESSIONS = int(os.environ.get("SESSIONS", 50))
ADOPTED = int(os.environ.get("ADOPTED", 1000))
FORGED = int(os.environ.get("FORGED", 10000))
RNG = random.Random(SEED)
NOBODY = 65534
PR_SET_CHILD_SUBREAPER = 36
# A detached session is resumed after so many kills, however long they take.
OPTIONS = ("SpareWorkers=8", "MaxSessions=4096", "MaxSessionsPerUser=4096",
           "MaxSpareWorkers=64", "DetachedTtl=1h")
# Without a fork: fifty of these shall not be what the machine does.
COUNT = (sys.executable, "-I", "-S", "-c", """
import itertools, time
for i in itertools.count():
    print(i, flush=True)
    time.sleep(0.1)""")


def share(times, part):
    """The time that so great a part did not exceed."""
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def told(times):
    return "p50 %.3f s, p99 %.3f s, most %.3f s" % (
        share(times, .5), share(times, .99), max(times))


def after(server, times):
    """The next master, and when it listened."""
    began = time.monotonic()
    server = Next(server, *OPTIONS)
    times.append(time.monotonic() - began)
    return server


def whole(text):
    """Lines of COUNT, perhaps without the end of the last one."""
    numbers = text.replace(b"\r\n", b"\n").split(b"\n")[:-1]
    check(numbers == [b"%d" % i for i in range(len(numbers))],
          "not all lines: %r" % text[-100:])
    return len(numbers)


def local():
    """Each is of one kind; of the last one some are always detached."""
    server, times, moments = Server(*OPTIONS), [], collections.Counter()
    word = a_word("kills")
    some = [connect(server.url) for _ in range(SESSIONS)]
    for i, c in enumerate(some):
        c.start("p", *COUNT, tty=i % 4 == 1, **(
            {"sandbox": box.read_only("/tmp")} if i % 4 == 2 else {}))
        c.start("s", "sleep", word)
    seen, away = {c: b"" for c in some}, {}
    for n in range(KILLS):
        for i in RNG.sample(range(3, SESSIONS, 4), min(3, SESSIONS // 8)):
            if i in away:
                old = away.pop(i)
                new = some[i] = resume_in(server.url, old.session, LIMIT)
                collect(old, seen)
                missed(new, old, seen)
            else:
                some[i].reset()
                away[i] = some[i]
        moment = RNG.choice(("at once", "soon", "adopted", "later"))
        moments[moment] += 1
        if moment == "soon":
            time.sleep(RNG.random() * 0.05)
        elif moment != "at once":
            wait_for(lambda s=server, m=n: int(s.status()["adopted"]) ==
                     (SESSIONS if m else 0), LIMIT, "they are adopted")
            time.sleep(RNG.random() * 0.3 if moment == "later" else 0)
        kill(server)
        server = after(server, times)
        for i, c in enumerate(some):
            if i not in away:
                collect(c, seen)
    for i, old in away.items():
        some[i] = resume_in(server.url, old.session, LIMIT)
        collect(old, seen)
        missed(some[i], old, seen)
    wait_for(lambda: server.status()["adopted"] == str(SESSIONS), LIMIT,
             "they are adopted")
    check(len(with_word(word)) == SESSIONS, "a command has ended")
    check(len(lib.ask(server, "sessions")) == SESSIONS, "a session is lost")
    status = server.status()
    check(status["lost"] == "0" and status["not_adopted"] == "0", "%s" %
          status)
    lines = 0
    for c in some:
        collect(c, seen)
        lines += whole(seen[c])
        c.close()
    below = descendants(server.pid)
    check(not zombies(server.pid), "zombies")
    server.stop()
    wait_for(lambda: not with_word(word) and not any(map(is_alive, below)),
             LIMIT, "all are gone")
    check(not os.path.exists(server.run), "files are left")
    say("  %d kills under %d sessions (%s): %d lines, none lost" % (
        KILLS, SESSIONS, dict(moments), lines))
    say("  until the next master listens: " + told(times))


async def remotely(rig):
    """Streams do not end, and nothing is registered anew."""
    program = await rig.start()
    some = [await rig.session() for _ in range(5)]
    for s in some:
        await s.start("p", *COUNT)
    uplink = await uplinks.uplink_of(program)
    kills = max(1, KILLS // 10)
    for n in range(kills):
        uplinks.kill(rig, program)
        program = uplinks.Next(rig, program)
        if RNG.random() < 0.5:
            await uplinks.adopted(program)
        await asyncio.sleep(RNG.random() * 0.1)
    await uplinks.adopted(program)
    check(is_alive(uplink) and uplinks.registrations(rig) == 1,
          "it began anew")
    lines = 0
    for s in some:
        check(s.ended is None, "a stream ended: %s" % s.ended)
        await rig.probe(s)
        chunks = [m["params"] for m in s.notes
                  if m["method"] == "process/output" and
                  m["params"]["processId"] == "p"]
        check([p["seq"] for p in chunks] == list(range(1, len(chunks) + 1)),
              "events are lost")
        lines += whole(b"".join(nextlib.base64.b64decode(p["chunk"])
                                for p in chunks))
    say("  %d kills under %d remote sessions: %d lines, none lost" % (
        kills, len(some), lines))


def many():
    """All at once: how long it takes from the start of the next master."""
    server = Server(*OPTIONS)
    some = [connect(server.url) for _ in range(ADOPTED)]
    kill(server)
    began = time.monotonic()
    server = Next(server, *OPTIONS)
    wait_for(lambda: "have been adopted" in server.log(), LIMIT,
             "all are adopted")
    took = time.monotonic() - began
    text = [line for line in server.log().splitlines()
            if "have been adopted" in line][0]
    check(server.status()["adopted"] == str(ADOPTED), "not all")
    say("  %d sessions: %.2f s after the start; %s" % (
        ADOPTED, took, text.rsplit(", ", 1)[1]))
    for c in some:
        c.close()
    server.stop()


# --- who is none of them ------------------------------------------------------

# What a forger does: it comes, says who it would be, and listens.
FORGER = r"""
import os, socket, sys
path, number, kind, uid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), \
    int(sys.argv[4])
if uid:
    os.setresuid(uid, uid, uid)
got = 0
for _ in range(number):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        s.send(bytes([kind]) + b"\x08\x01")
        got += s.recv(100) != b""
    except OSError:
        pass
    s.close()
print(got)
"""


def kind_of(name):
    with open(os.path.join(os.path.dirname(__file__),
                           "../../proto/ipc.def"), encoding="ascii") as f:
        rows = [line[4:].split(",")[0] for line in f
                if line.startswith("IPC(")]
    return str(rows.index(name))


def forge(path, number, uid=0, kind="orphan"):
    """How many of so many attempts were heard."""
    done = subprocess.run(
        [sys.executable, "-c", FORGER, path, str(number), kind_of(kind),
         str(uid)], capture_output=True, check=True, timeout=10 * LIMIT)
    return int(done.stdout)


class CloneArgs(ctypes.Structure):
    """struct clone_args of clone3(2)."""
    _fields_ = [(n, ctypes.c_uint64) for n in (
        "flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack",
        "stack_size", "tls", "set_tid", "set_tid_size", "cgroup")]


def with_pid(pid, *argv):
    """Run a program that has this process id; None: we may not choose."""
    ids = (ctypes.c_int32 * 1)(pid)
    args = CloneArgs(exit_signal=signal.SIGCHLD,
                     set_tid=ctypes.addressof(ids), set_tid_size=1)
    read, write = os.pipe()
    libc = ctypes.CDLL(None, use_errno=True)
    child = libc.syscall(435, ctypes.byref(args), ctypes.sizeof(args))
    if child == 0:
        os.dup2(write, 1)
        os.execv(argv[0], argv)
    os.close(write)
    if child == -1:
        os.close(read)
        return None
    with open(read, "rb") as f:
        out = f.read()
    os.waitpid(child, 0)
    return out


def forged():
    """Other users, others of the same user, a session's own command, and one
    with the pid of a worker: none is heard."""
    server = Server(*OPTIONS)
    c, other = connect(server.url), connect(server.url)
    worker = nextlib.worker_now(c, "who")
    former = nextlib.worker_now(other, "who")
    # Its orphans are ours then: who else would take what is left of one?
    check(base.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "prctl")
    kill(server)
    os.kill(worker, signal.SIGSTOP)
    try:
        # One has died, and its pid is another's.
        os.kill(former, signal.SIGKILL)
        os.waitpid(former, 0)
        server = Next(server, *OPTIONS)
        path = server.run + "/adopt"
        tries = FORGED // 4
        check(forge(path, tries) == 0, "one of the same user")
        check(forge(path, tries, kind="uplink_orphan") == 0, "an uplink")
        if os.geteuid() == 0:
            check(forge(path, tries, NOBODY) == 0, "another user")
        out = with_pid(former, sys.executable, "-c", FORGER, path, str(tries),
                       kind_of("orphan"), "0")
        check(out in (None, b"0\n"), "one with its pid: %r" % out)
        if out is None:
            say("left out: a pid cannot be chosen here")
        row = [r for r in lib.ask(server, "sessions") if r["id"] == c.session]
        check(row[0]["state"] == "awaited", "%s" % row)
        refused = int(server.status()["not_adopted"])
        check(refused >= 2 * tries, "counted: %d" % refused)
    finally:
        base.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        os.kill(worker, signal.SIGCONT)
    wait_for(lambda: server.status()["adopted"] == "1", LIMIT, "adopted")
    out, _ = c.run("forge", sys.executable, "-c", FORGER, path, "200",
                   kind_of("orphan"), "0")
    check(out == b"0\n", "its command: %r" % out)
    check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    say("  %d attempts, none let in" % (
        int(server.status()["not_adopted"])))
    c.close()
    other.close()
    server.stop()


def main():
    """Those named on the command line only."""
    say("SEED=%d" % SEED)
    chosen = sys.argv[1:]
    for test in local, many, forged:
        if not chosen or test.__name__ in chosen:
            say(test.__name__)
            tried(test)
    if not chosen or "remotely" in chosen:
        sys.argv[1:] = ["remotely"]
        remote.main(remotely)


main()
