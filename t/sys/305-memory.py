"""Long answers and many operations at once are bounded."""
import contextlib
import os
import time

from client import (Server, check, main, rss, say, wait_for, worker_of, LIMIT,
                    SANITIZED, SCALE)
from fscommon import (fill, folder, light, paths, uri, workers_children, MIB)

JOBS = 64                   # LIMIT_FILE_JOBS
MANY = 20                   # far more than LIMIT_FILE_HELD lets be held


def highest(pid):
    """The most it ever held."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(fields["VmHWM"].split()[0]) * 1024


def bounded(what, size, limit):
    say("  %s: %.0f MiB" % (what, size / MIB))
    check(SANITIZED or size < limit, "%s: %d bytes" % (what, size))


def one_after_another():
    top = folder("one")
    with open(top + "/f", "wb") as f:
        f.truncate(40 * MIB)
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    for _ in range(20):
        check(c.call("fs/readFile", paths(top + "/f"))["size"] > 53 * MIB,
              "too short")
    # What came, and the part of its text that is on its way.
    bounded("20 files of 40 MiB", highest(worker), 60 * MIB)
    wait_for(lambda: rss(worker) < 16 * MIB or SANITIZED, LIMIT,
             "it is given back")
    c.close()
    server.stop()


def at_once():
    top = folder("many")
    with open(top + "/f", "wb") as f:
        f.truncate(40 * MIB)
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    numbers = {c.request("fs/readFile", paths(top + "/f")) for _ in range(12)}
    # Nobody reads: answers wait where they are, and the session goes on.
    wait_for(lambda: len(workers_children(worker)) >= 11 - 2, LIMIT, "begun")
    time.sleep(0.5)
    c.until(lambda: set(c.answers) == numbers, 3 * LIMIT)
    check(all("result" in m for m in c.answers.values()), "an error")
    bounded("12 of 40 MiB at once", highest(worker), 60 * MIB)
    c.close()
    server.stop()


def what_children_hold(worker):
    """At the moment between two looks: they grow, and then they end, so each
    has then at least what it has both times."""
    looks = {}, {}
    for held in looks:
        for pid in workers_children(worker):
            with contextlib.suppress(OSError, KeyError):
                held[pid] = rss(pid)
    return sum(min(n, looks[1].get(p, 0)) for p, n in looks[0].items())


def longest_at_once():
    """However many are asked for, few are held at a time, and all come.  A
    client that goes takes its own with it."""
    top = folder("longest")
    with open(top + "/f", "wb") as f:
        f.truncate(47 * MIB)
    server = Server()
    c, other = light(server.url), light(server.url)
    worker, others = worker_of(server, c), worker_of(server, other)
    for _ in range(MANY):
        other.request("fs/readFile", paths(top + "/f"))
    numbers = {c.request("fs/readFile", paths(top + "/f"))
               for _ in range(MANY)}
    wait_for(lambda: len(workers_children(others)) > MANY - 4, LIMIT, "asked")
    other.reset()
    wait_for(lambda: not workers_children(others), LIMIT, "they end")
    most = 0
    deadline = time.monotonic() + 6 * LIMIT
    while set(c.answers) != numbers:
        check(time.monotonic() < deadline, "%d of %d answered" %
              (len(c.answers), len(numbers)))
        most = max(most, what_children_hold(worker))
        until = time.monotonic() + 0.05
        while time.monotonic() < until and c.ready(0.05):
            c.take()
    check(all("result" in m for m in c.answers.values()), "an error")
    # What LIMIT_FILE_HELD has, or LIMIT_FILE_HELD_STUCK where reading one takes
    # over a second, as beside a load; one that has answered and is about to
    # end, and a little for each process.
    bounded("%d of 47 MiB, in their agents" % MANY, most,
            (512 + 47 + MANY) * MIB)
    bounded("%d of 47 MiB, in the worker" % MANY, highest(worker), 70 * MIB)
    c.close()
    server.stop()


def many_operations():
    """More than may be under way: all are answered, in the end."""
    top = folder("ops")
    fill(top + "/f", bytes(3 * MIB))
    os.symlink(top + "/made", top + "/link")
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    numbers = set()
    for i in range(500):
        numbers.add(c.request("fs/copy", {
            "sourcePath": uri(top + "/f"), "recursive": False,
            "destinationPath": uri("%s/copy%d" % (top, i % 100))}))
    for i in range(200):
        os.symlink("%s/made%d" % (top, i), "%s/link%d" % (top, i))
        numbers.add(c.request("fs/writeFile", paths(
            "%s/link%d" % (top, i), dataBase64="eA==")))
    most = 0
    deadline = time.monotonic() + 3 * LIMIT
    while set(c.answers) != numbers:
        check(time.monotonic() < deadline, "%d of %d answered" %
              (len(c.answers), len(numbers)))
        most = max(most, len(workers_children(worker)))
        while c.ready(0):
            c.take()
    bad = [m for m in c.answers.values() if m.get("result") != {}]
    check(not bad, "%d errors: %s" % (len(bad), bad[:1]))
    say("  %d operations, at most %d at once" % (len(numbers), most))
    # Those that have answered may not be gone yet: they are not preferred.
    check(most <= 3 * JOBS, "%d at once" % most)
    check(all(os.path.getsize("%s/made%d" % (top, i)) == 1
              for i in range(200)), "not written")
    bounded("that many", highest(worker), 64 * MIB)
    c.close()
    server.stop()


main(one_after_another, at_once, longest_at_once, many_operations)
