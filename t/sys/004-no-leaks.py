"""After many short processes and sessions everything is as before."""
from client import (Server, check, children, connect, fds, main, rss, say,
                    settled, wait_for, worker_of, zombies, LIMIT, SANITIZED,
                    SLOW)

PROCESSES = 2000 if SLOW else 500
AT_ONCE = 40
SESSIONS = 500 if SLOW else 150


def run_many(c, first, n):
    """Short processes, several at a time."""
    at, closed = first, 0
    while closed < n:
        while at - first < n and at - first - closed < AT_ONCE:
            c.start("p%d" % at, "true", wait=False, tty=at % 50 == 0,
                    pipeStdin=at % 3 == 0)
            at += 1
        c.until(lambda: c.notes)
        while c.notes:
            m = c.notes.popleft()
            if m["method"] == "process/exited":
                check(m["params"]["exitCode"] == 0, "exit code")
            closed += m["method"] == "process/closed"
    wrong = [m for m in c.answers.values() if "error" in m]
    check(not wrong, "not started: %s" % wrong[:3])
    c.answers.clear()


def processes():
    server = Server()
    with connect(server.url) as c:
        worker = worker_of(server, c)
        run_many(c, 0, 100)
        base, memory = fds(worker), rss(worker)
        run_many(c, 100, PROCESSES)
        wait_for(lambda: fds(worker) <= base, LIMIT, "descriptors: %d, not %d"
                 % (fds(worker), base))
        wait_for(lambda: not children(worker), LIMIT,
                 "children of the worker")
        more = rss(worker) - memory
        say("  worker: %d descriptors, %d KiB more" % (base, more >> 10))
        # A closed process stays known for a while.
        check(SANITIZED or more < PROCESSES * 2048, "memory of the worker")
    server.stop()


def sessions():
    server = Server("DetachedTtl=1")
    for i in range(10):
        with connect(server.url) as c:
            c.run("p", "true")
    settled(server)
    base, memory = fds(server.pid), None
    for i in range(SESSIONS):
        with connect(server.url) as c:
            if i % 5 == 0:
                c.run("p", "true")
        if i == SESSIONS // 2:
            memory = rss(server.pid)
    settled(server)
    wait_for(lambda: fds(server.pid) <= base, LIMIT,
             "descriptors of the master: %d, not %d" %
             (fds(server.pid), base))
    wait_for(lambda: not zombies(server.pid), LIMIT, "zombies")
    more = rss(server.pid) - memory
    say("  master: %d descriptors, %d KiB more" % (base, more >> 10))
    check(SANITIZED or more < 1 << 20, "memory of the master")
    server.stop()


main(processes, sessions)
