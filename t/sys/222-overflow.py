"""222: output while nobody is attached: beyond memory, beyond one message,
and beyond DetachedSpool."""
import base64
import contextlib
import hashlib
import importlib
import os
import re
import select
import subprocess
import sys

from client import (LIMIT, SANITIZED, RpcError, Server, check, connect, main,
                    resume_in, rss, say, stat_of, wait_for, worker_of)

read_only = importlib.import_module("6common").read_only

# Numbered lines, so that a piece tells what it is.
LINES = "import sys\nfor i in range(%d):\n    sys.stdout.write('%%011d\\n' %% i)"
LINE = 12
TOLD = re.compile(rb"\n\[execsrv: (\d+) bytes of output were dropped here "
                  rb"while nobody was attached\]\n")


def lines(first, last):
    return b"".join(b"%011d\n" % i for i in range(first, last))


def begin(server, *commands, **more):
    """A session that runs them while nobody is attached, to their end or
    until they are held back."""
    c = connect(server.url)
    worker = worker_of(server, c)
    for i, command in enumerate(commands):
        c.start("p%d" % i, sys.executable, "-c", command, **more)
    pids = [p["pid"] for p in c.call("process/list")["processes"]
            if p["processId"] != "who"]
    c.reset()
    return c.session, worker, pids


def box_of(server):
    """Parameters of process/start for a sandbox, if there can be one."""
    with contextlib.closing(connect(server.url)) as c:
        more = {"sandbox": read_only("/tmp")}
        try:
            c.start("box", "true", **more)
        except RpcError as e:
            print("left out: a denial in output: %s" % e, flush=True)
            return {}
    return more


class Reader:
    """As the stock client: what is missed is asked for once, with no bound; a
    gap in the numbers would be the end."""

    def __init__(self, c, process):
        self.c, self.process = c, process
        self.chunks, self.ends, self.next = {}, {}, 1
        self.parts = 0
        answer = c.call("process/read", {
            "processId": process, "afterSeq": 0, "maxBytes": None,
            "waitMs": 0}, 4 * LIMIT)
        self.first = answer
        for k in answer["chunks"]:
            self.chunks[k["seq"]] = k["chunk"]
        self.follow(answer)

    def note(self, m):
        p = m["params"]
        if p.get("processId") != self.process:
            return
        if "chunk" in p:
            self.parts += p["seq"] not in self.chunks
            self.chunks[p["seq"]] = p["chunk"]
        else:
            self.ends[p["seq"]] = m["method"]

    def follow(self, answer):
        """Until it is closed, which has the highest number."""
        end = None
        if answer["closed"]:
            end = answer["nextSeq"]
        while True:
            while self.c.notes:
                m = self.c.notes.popleft()
                self.note(m)
                if m["method"] == "process/closed" and \
                        m["params"]["processId"] == self.process:
                    end = m["params"]["seq"] + 1
            if end is not None:
                break
            self.c.until(lambda: self.c.notes, LIMIT, "the rest")
        have = set(self.chunks) | set(self.ends)
        missing = [i for i in range(1, end) if i not in have]
        # An answer tells exit and end without their numbers.
        check(len(missing) <= (2 if answer["closed"] else 0),
              "missing: %s of %d" % (missing[:9], end))
        self.out = b"".join(base64.b64decode(self.chunks[i])
                            for i in sorted(self.chunks))


def spooled():
    """More than memory may hold, and than an answer can."""
    server, n = Server("DetachedSpool=200M"), (60 << 20) // LINE
    box, denied = box_of(server), b"permission denied\n"
    session, worker, pids = begin(
        server, LINES % n + "\nsys.stdout.write(%r)\nsys.exit(3)" %
        denied.decode(), **box)
    wait_for(lambda: have_ended(pids), 4 * LIMIT,
             "the command goes to its end")
    say("  60 MiB kept, %d KiB in memory" % (rss(worker) >> 10))
    check(SANITIZED or rss(worker) < 24 << 20, "%d bytes" % rss(worker))
    with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
        check("execsrvOverflow" not in c.greeting, "nothing overflowed")
        r = Reader(c, "p0")
        # Before what takes long: who answers no ping meanwhile is gone.
        last = c.call("process/read", {"processId": "p0", "maxBytes": 1})
        say("  %d chunks in the answer, %d behind it" %
            (len(r.first["chunks"]), r.parts))
        check(not r.first["exited"] and not r.first["closed"] and r.parts,
              "the answer is a part: %s %s" % (r.first["exited"], r.parts))
        # How it ended is told when it is.
        check(not r.first["sandboxDenied"], "denied before its end")
        check(hashlib.sha256(r.out).digest() ==
              hashlib.sha256(lines(0, n) + denied).digest(),
              "%d bytes instead of %d" % (len(r.out), n * LINE))
        check(list(r.ends.values()) == ["process/exited", "process/closed"],
              "ends: %s" % r.ends)
        check(last["exitCode"] == 3 and last["closed"], "its status")
        check(last["sandboxDenied"] == bool(box), "a denial")
    server.stop()


def have_ended(pids):
    """Whether the worker has reaped them all."""
    return not any(map(stat_of, pids))


def held():
    server, n = Server("DetachedSpool=1M"), (4 << 20) // LINE
    session, _, _ = begin(server, LINES % n)
    wait_for(lambda: server.has_logged("DetachedSpool is full while no client "
                                       "is attached: processes are held back"),
             LIMIT, "a line in the log")
    with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
        told = c.greeting.get("execsrvOverflow")
        check(told is not None and told["heldBackMs"] > 0 and
              told["droppedBytes"] == 0, "the client is told: %s" % told)
        check(Reader(c, "p0").out == lines(0, n), "every byte")
    with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
        check("execsrvOverflow" not in c.greeting, "told once")
    server.stop()


def dropped():
    server = Server("DetachedSpool=1M", "DetachedOverflow=drop-oldest")
    n = (24 << 20) // LINE
    session, _, pids = begin(server, LINES % n + "\nsys.exit(5)",
                             "print('quiet')")
    wait_for(lambda: have_ended(pids), LIMIT,
             "the command goes to its end")
    check(server.has_logged("the oldest output is dropped"), "the log")
    with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
        told = c.greeting.get("execsrvOverflow")
        check(told is not None and told["heldBackMs"] == 0, "told: %s" % told)
        out = Reader(c, "p0").out
        check(Reader(c, "p1").out == b"quiet\n", "others have not to pay")
        where = TOLD.search(out)
        check(where is not None, "what stands for it")
        count = int(where.group(1))
        say("  %d of %d bytes dropped" % (count, n * LINE))
        check(told["droppedBytes"] == count, "both say the same")
        check(n * LINE - (1 << 20) <= count + where.start() + (1 << 18),
              "what is kept is what the setting says")
        whole = lines(0, n)
        check(out[:where.start()] + out[where.end():] ==
              whole[:where.start()] + whole[where.start() + count:],
              "a hole of so many bytes, and nothing else")
    check(server.has_logged("%d bytes of output of process" % count), "log")
    server.stop()


def in_parts():
    """A client that reads what it missed a part at a time keeps whatever comes
    early, so nothing new is sent meanwhile."""
    server, n = Server("DetachedSpool=16M"), (64 << 20) // LINE
    session, _, _ = begin(server, LINES % n, "import time; time.sleep(900)",
                          "import time\nwhile True:\n    time.sleep(1)\n"
                          "    print('new', flush=True)")
    wait_for(lambda: server.has_logged("processes are held back"), LIMIT, "full")
    with contextlib.closing(resume_in(server.url, session, LIMIT,
                                      execsrvHold=True)) as c:
        chunks, first = {}, 0
        while True:
            # Time enough for the command to fill what has room.
            c.call("process/read", {"processId": "p1", "waitMs": 100})
            first = next((m["params"]["seq"] for m in c.notes
                          if m["params"]["processId"] == "p0"), 0)
            if first != 0:
                break
            missed = c.call("process/read", {
                "processId": "p0", "afterSeq": max(chunks, default=0),
                "maxBytes": 1 << 20, "waitMs": 0,
                "execsrvHold": True})["chunks"]
            chunks.update((k["seq"], k["chunk"]) for k in missed)
        check(first == max(chunks) + 1, "number %d came early" % first)
        say("  %d chunks read" % len(chunks))
        check(sum(map(len, chunks.values())) > 16 << 20, "what was missed")
        total = sum(len(base64.b64decode(k)) for k in chunks.values())
        while total < n * LINE:
            c.until(lambda: c.notes, LIMIT, "the rest")
            m = c.notes.popleft()["params"]
            if m["processId"] == "p0" and "chunk" in m and \
                    m["seq"] not in chunks:
                chunks[m["seq"]] = m["chunk"]
                total += len(base64.b64decode(m["chunk"]))
        # Nobody read this one: it was held, but not for ever.
        c.note("process/output", "p2")
        out = b"".join(base64.b64decode(chunks[i]) for i in sorted(chunks))
        check(out == lines(0, n), "every byte, once")
    server.stop()


def reads_no_more():
    """One that reads a part only, and does not ask for that, is not held."""
    server = Server("DetachedSpool=4M")
    session, _, _ = begin(server, "import itertools\n"
                          "for i in itertools.count():\n    print('%011d' % i)")
    wait_for(lambda: server.has_logged("processes are held back"), LIMIT, "full")
    with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
        for holds in (True, False):
            read = c.call("process/read", {
                "processId": "p0", "maxBytes": 1 << 16, "waitMs": 0,
                "execsrvHold": holds})
            c.notes.clear()
        for _ in range(2000):
            check(c.note("process/output")["seq"] >= read["nextSeq"],
                  "new output")
    server.stop()


def written(pid):
    """The bytes that a process has written."""
    with open("/proc/%d/io" % pid, encoding="ascii") as f:
        return int(dict(line.split(": ") for line in f)["wchar"])


def take_all(c):
    """What comes is read, pings are answered, and no receipt is sent."""
    while c.ready(0.3):
        c.take(1 << 20)
        c.notes.clear()


def never_asked():
    """Clients that come back and never ask for what they missed: it does not
    grow by a window each time."""
    server = Server("DetachedSpool=1M", "OutputWindow=16M")
    c = connect(server.url, execsrvReceipts=True)
    c.start("p0", "sh", "-c", "echo $$; exec head -c %d /dev/zero" %
            (400 << 20))
    pid = int(base64.b64decode(c.note("process/output")["chunk"])
              .partition(b"\n")[0])
    session, had = c.session, [0]
    for _ in range(8):
        take_all(c)
        had.append(written(pid))
        c.reset()
        c = resume_in(server.url, session, LIMIT, execsrvReceipts=True)
    c.close()
    say("  %s MiB" % [n >> 20 for n in had])
    check(had[1] < 24 << 20, "more than a window")
    check(had[-1] > 24 << 20, "nothing is sent to who came back")
    # LIMIT_UNREAD, the spool, and what is in the pipe.
    check(had[-1] < 44 << 20, "nobody asks, and it goes on")
    server.stop()


def told():
    """What an operator who attaches sees."""
    server = Server("DetachedSpool=1M", "DetachedOverflow=drop-oldest")
    ctl = [os.path.join(os.environ["BUILD"], "execsrvctl")]
    session = subprocess.run(ctl + [
        "run", "-u", server.url, "-d", "--", "sh", "-c",
        "seq 1000000; exit 4"], stdout=subprocess.PIPE, check=True,
        timeout=LIMIT).stdout.decode().strip()
    wait_for(lambda: server.has_logged("output is dropped"), LIMIT, "drops")
    done = subprocess.run(ctl + ["attach", "-u", server.url, session],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=4 * LIMIT)
    where = TOLD.search(done.stdout)
    check(where is not None and b"execsrvctl: %s bytes of output were "
          b"dropped while nobody was attached\n" % where.group(1)
          in done.stderr, "told: %s" % done.stderr)
    check(done.stdout.endswith(b"\n999999\n1000000\n") and
          done.returncode == 4, "the end of it: %d" % done.returncode)
    server.stop()


main(spooled, held, dropped, in_parts, reads_no_more, never_asked,
     told)
