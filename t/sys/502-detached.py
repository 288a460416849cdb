"""Sessions that nobody is attached to."""
import base64
import contextlib
import hashlib
import random
import sys
import threading
import time

from client import (Client, RpcError, Server, a_word, check, connect,
                    in_time, is_alive, main, resume_in, rss, say, settled,
                    stat_of, tried, wait_for, with_word, worker_of, LIMIT,
                    SANITIZED, SCALE)

SIZE = 24 << 20
SEED = 502
WRITER = """
import os, random
r = random.Random(%d)
for i in range(%d):
    data = memoryview(r.randbytes(1 << 16))
    while data:
        data = data[os.write(1, data):]
"""


def unknown(url, session):
    """Whether a resume is refused as for a session that never was."""
    deadline = time.monotonic() + LIMIT
    while True:
        with Client(url) as c:
            try:
                c.initialize(session)
                return False
            except RpcError as e:
                if e.code == -32600:
                    return True
                # Its loss, or its end, is not noticed yet.
                check(e.code == -32010 and time.monotonic() < deadline,
                      "resume: %s" % e)
        time.sleep(0.02)


def whole(c):
    """All output of a process from its beginning, and the last answer. What
    comes after a resume comes as notifications too, and what of it was
    acknowledged need not be there for a read any more."""
    out, chunks, ended, last = [], {}, set(), 0
    while True:
        a = c.call("process/read", {"processId": "p", "afterSeq": last,
                                    "waitMs": 10000, "maxBytes": 1 << 20})
        for k in a["chunks"]:
            chunks[k["seq"]] = k["chunk"]
        while c.notes:
            p = c.notes.popleft()["params"]
            if "chunk" in p:
                chunks[p["seq"]] = p["chunk"]
            else:
                ended.add(p["seq"])
        if a["exited"] and last + 2 in chunks and last + 1 not in chunks:
            ended.add(last + 1)     # told while nobody was there
        while last + 1 in chunks or last + 1 in ended:
            last += 1
            if last in chunks:
                out.append(base64.b64decode(chunks.pop(last)))
        # Two numbers are those of the exit and of the end.
        if a["closed"] and len(out) == a["nextSeq"] - 3:
            return b"".join(out), a
        check(a["chunks"] or a["exited"], "nothing more after %d" % last)


def is_blocked(pid):
    """Asleep, without using the processor."""
    before = stat_of(pid)[11:13]
    time.sleep(0.2)
    after = stat_of(pid)
    return after[0] == "S" and after[11:13] == before


def spool():
    server = Server("DetachedSpool=2M", "OutputWindow=256K")
    c = connect(server.url)
    worker = worker_of(server, c)
    base = rss(worker)
    c.start("p", sys.executable, "-c", WRITER % (SEED, SIZE >> 16))
    child = wait_for(lambda: with_word(WRITER % (SEED, SIZE >> 16)), LIMIT,
                     "the child")[0]
    c.reset()
    # That a worker stands still may look so as well.
    wait_for(lambda: is_blocked(child) and (SANITIZED or
             rss(worker) - base > 1 << 20), LIMIT, "the child is held back")
    more = rss(worker) - base
    say("  the worker keeps %d KiB" % (more >> 10))
    check(SANITIZED or 1 << 20 < more < 6 << 20, "kept %d bytes" % more)
    c = resume_in(server.url, c.session, LIMIT)
    want, r = hashlib.sha256(), random.Random(SEED)
    for i in range(SIZE >> 16):
        want.update(r.randbytes(1 << 16))
    out, a = whole(c)
    check(hashlib.sha256(out).digest() == want.digest() and
          a["exitCode"] == 0, "not the same bytes")
    c.close()
    server.stop()


def completes():
    """A command that ends while nobody is there: all of it can be read."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sh", "-c", "seq 200000; exit 7")
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    out, a = whole(c)
    check(a["exitCode"] == 7, "exit code")
    check(out == b"".join(b"%d\n" % i for i in range(1, 200001)),
          "%d bytes" % len(out))
    c.close()
    server.stop()


def kept_anew(server):
    """A resume in time starts the clock anew."""
    c = connect(server.url)
    c.start("p", "sleep", a_word("again"))
    for i in range(3):
        began = time.monotonic()
        c.reset()
        time.sleep(0.6)
        try:
            c = resume_in(server.url, c.session, LIMIT)
        except AssertionError as e:
            in_time(time.monotonic() - began < 0.95, "resumed too late")
            raise e
    check(not c.call("process/read", {"processId": "p"})["exited"], "gone")
    c.close()


def name_of(pid):
    with contextlib.suppress(OSError), open("/proc/%d/comm" % pid,
                                            encoding="ascii") as f:
        return f.read().strip()
    return ""


def expiry():
    server, word = Server("DetachedTtl=1", "TerminateGrace=300ms"), \
        a_word("expiry")
    c = connect(server.url)
    worker = worker_of(server, c)
    c.start("p", "sh", "-c", "trap '' TERM; setsid sleep %s & sleep %s; "
            "sleep %s" % (word, word, word))
    wait_for(lambda: [name_of(p) for p in with_word(word)] ==
             ["sleep", "sleep"], LIMIT, "two sleepers, not on their way")
    began = time.monotonic()
    c.reset()
    wait_for(lambda: len(with_word(word)) < 2, LIMIT, "they go")
    first = time.monotonic() - began
    check(first > 0.95, "gone after %.2f s" % first)
    wait_for(lambda: not with_word(word) and not is_alive(worker), LIMIT,
             "all of them go")
    took = time.monotonic() - began
    say("  gone after %.2f s" % took)
    in_time(took < 1 + 0.3 + 2 * SCALE, "gone after %.2f s" % took)
    check(unknown(server.url, c.session), "resumed after its end")
    wait_for(lambda: "expired" in server.log(), LIMIT, "a line of the log")
    tried(lambda: kept_anew(server))
    server.stop()


def retained():
    """A client chooses: longer than DetachedTtl, shorter, not above the max."""
    server = Server("DetachedTtl=1", "DetachedTtlMax=1h")
    longer, plain = connect(server.url), connect(server.url)
    for c in (longer, plain):
        c.start("p", "sleep", a_word("retained"))
    got = longer.call("session/retain", {"ttlMs": 600 * 1000})
    check(got == {"ttlMs": 600 * 1000}, str(got))
    longer.reset()
    wait_for(lambda: "detached" in server.log(), LIMIT, "the longer one's loss")
    plain.reset()
    wait_for(lambda: "expired" in server.log(), LIMIT, "the plain one's end")
    check(unknown(server.url, plain.session), "the plain one goes on")
    longer = resume_in(server.url, longer.session, LIMIT)
    check(not longer.call("process/read", {"processId": "p"})["exited"], "gone")
    # Back to what the settings say, and it ends like others.
    longer.call("session/retain", {"ttlMs": 0})
    longer.reset()
    wait_for(lambda: server.log().count("expired") == 2, LIMIT, "its end")
    server.stop()

    server = Server("DetachedTtl=600", "DetachedTtlMax=1")
    c = connect(server.url)
    c.start("p", "sleep", a_word("short"))
    got = c.call("session/retain", {"ttlMs": 10 ** 12})
    check(got == {"ttlMs": 600 * 1000}, "less than anybody gets: %s" % got)
    c.call("session/retain", {"ttlMs": 50})
    c.reset()
    wait_for(lambda: "expired" in server.log(), LIMIT, "the short one's end")
    server.stop()


def retained_empty():
    """One that owns nothing, too, for which a later worker has to know it."""
    server = Server("DetachedTtl=1", "DetachedTtlMax=1h", "LogLevel=debug")
    longer = connect(server.url)
    longer.call("session/retain", {"ttlMs": 600 * 1000})
    for i in range(2):
        longer.reset()
        connect(server.url).reset()
        wait_for(lambda n=i: server.log().count("forgotten") > n, LIMIT,
                 "a plain one's end")
        longer = resume_in(server.url, longer.session, LIMIT)
    server.stop()


def gives_back():
    server = Server("DetachedTtl=60")
    settled(server)
    c = connect(server.url)
    worker = worker_of(server, c, "a")
    c.reset()                           # owns a closed process: stays
    resume_in(server.url, c.session, LIMIT).close()
    check(is_alive(worker), "a worker that owns output is gone")

    sessions, workers = [], []
    for i in range(20):
        with connect(server.url) as c:
            sessions.append(c.session)
    wait_for(lambda: len(server.workers()) <= 10, LIMIT, "workers come back")
    for session in sessions[:10]:
        c = resume_in(server.url, session, LIMIT)
        c.call("environment/status")
        check(c.run("p", "echo", "again") == (b"again\n", 0), "a command")
        workers.append(c)
    for c in workers:
        c.close()
    server.stop()


def outlived():
    """One that owns nothing is kept no longer than others."""
    server = Server("DetachedTtl=1")
    sessions = []
    for i in range(10):
        with connect(server.url) as c:
            sessions.append(c.session)
    time.sleep(1.2)
    for session in sessions:
        in_time(unknown(server.url, session), "outlived its TTL")
    server.stop()


# Fewer than are greeted at a time, however slow the machine is.
PLACES = threading.Semaphore(10)


def late(url, session, at, owns, out):
    """Resume at a moment near the TTL; what came of it."""
    try:
        # Not sooner: who waits before initialize gives way to others.
        time.sleep(max(0, at - 0.05 - time.monotonic()))
        with PLACES:
            c = Client(url)
            time.sleep(max(0, at - time.monotonic()))
            try:
                c.initialize(session)
            except RpcError as e:
                check(e.code in (-32600, -32010), "resume: %s" % e)
                # The latter: its loss is not noticed yet.
                if e.code == -32600 or unknown(url, session):
                    out.append("unknown")
                    return
                c = resume_in(url, session, LIMIT)
        c.call("environment/status")
        if owns:
            r = c.call("process/read", {"processId": "p"})
            check(not r["exited"], "a process of it is gone")
        check(c.run("q", "echo", "x") == (b"x\n", 0), "no command")
        out.append("resumed")
        c.close()
    except BaseException as e:          # pylint: disable=broad-except
        out.append("%s: %s" % (type(e).__name__, e))


def boundary():
    """At the TTL: all of a session or nothing."""
    server = Server("DetachedTtl=1", "LogLevel=warning")
    rng, out, threads = random.Random(1), [], []
    for owns in (True, False):
        for i in range(40):
            c = connect(server.url)
            if owns:
                c.start("p", "sleep", "300")
            at = time.monotonic() + 1 + rng.uniform(-0.012, 0.015)
            c.reset()
            t = threading.Thread(target=late, args=(
                server.url, c.session, at, owns, out))
            t.start()
            threads.append(t)
    for t in threads:
        t.join()
    counts = {k: out.count(k) for k in set(out)}
    say("  %s" % counts)
    check(set(counts) <= {"resumed", "unknown"} and len(out) == 80,
          "neither: %s" % counts)
    with contextlib.closing(connect(server.url)) as c:
        c.run("p", "true")
    server.stop()


main(spool, completes, expiry, retained, retained_empty, gives_back, outlived,
     boundary)
