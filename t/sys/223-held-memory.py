"""223: a bound on memory that sessions hold, for one identity and for all:
what is over it is in a file, or waits, and nothing is lost."""
import base64
import contextlib
import json
import os
import sys
import tempfile
import threading

from client import (LIMIT, SANITIZED, Server, check, connect, frame, main,
                    resume_in, rss, say, told, wait_for, worker_of)

FLOODS = 12
LINES = "import sys\nfor i in range(%d): sys.stdout.write('%%011d\\n' %% i)"
COUNT = (6 << 20) // 12
MIB = 1 << 20


def held(server):
    """What status tells, and what the sessions do."""
    def rows(command):
        return json.loads(told("-R", server.run, "--json", command))
    return rows("status")["memory"], \
        [r["memory"] for r in rows("sessions")]


def children(worker):
    with open("/proc/%d/task/%d/children" % (worker, worker),
              encoding="ascii") as f:
        return f.read().split()


def output():
    bound = 8 * MIB
    server = Server("MaxHeldMemoryPerUser=8M", "DetachedSpool=64M")
    sessions, workers = [], []
    for i in range(FLOODS):
        c = connect(server.url)
        workers.append(worker_of(server, c))
        c.start("p", sys.executable, "-c", LINES % COUNT)
        sessions.append(c.session)
        c.reset()
    wait_for(lambda: not any(children(w) for w in workers), 4 * LIMIT,
             "they all go to their end")
    total, each = held(server)
    say("  %d KiB granted, %d KiB held by %d sessions; private memory %d KiB"
        % (total >> 10, sum(each) >> 10, len(each),
           sum(map(rss, workers)) >> 10))
    check(0 < total <= bound, "status: %d" % total)
    check(len(each) == FLOODS and 0 < sum(each) <= bound +
          FLOODS * (256 << 10), "sessions: %s" % each)
    # A worker has some 700 KiB whatever it holds.
    check(SANITIZED or sum(map(rss, workers)) < bound + FLOODS * 2 * MIB,
          "%s" % [rss(w) for w in workers])
    check(int(server.status()["memory_refused"]) > 0, "counted")
    want = b"".join(b"%011d\n" % i for i in range(COUNT))
    for session in sessions:
        with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
            a = c.call("process/read", {"processId": "p"}, 2 * LIMIT)
            check(b"".join(base64.b64decode(k["chunk"])
                           for k in a["chunks"]) == want, "every byte")
            c.call("session/close")
    wait_for(lambda: held(server)[0] == 0, LIMIT, "given back")
    server.stop()


class Sender(threading.Thread):
    """Sends a request of 24 MiB, but for the last bytes of it."""

    def __init__(self, server, folder, number):
        super().__init__(daemon=True)
        self.c = connect(server.url)
        self.worker = worker_of(server, self.c)
        self.data = bytes([number]) * (18 * MIB)
        self.path = os.path.join(folder, str(number))
        text = json.dumps({"id": 77, "method": "fs/writeFile", "params": {
            "path": "file://" + self.path,
            "dataBase64": base64.b64encode(self.data).decode()}}).encode()
        whole = frame(1, text)
        self.body, self.tail = whole[:-1000], whole[-1000:]
        self.sent = False
        self.start()

    def run(self):
        self.c.sock.sendall(self.body)
        self.sent = True

    def finish(self):
        self.join(4 * LIMIT)
        check(self.sent, "the rest is read")
        self.c.sock.sendall(self.tail)
        self.c.answer(77, 2 * LIMIT)
        with open(self.path, "rb") as f:
            check(f.read() == self.data, "its bytes")
        os.unlink(self.path)


def messages():
    """Of four long messages one is read, while the others wait."""
    server = Server("MaxHeldMemoryPerUser=4M")
    with tempfile.TemporaryDirectory() as folder:
        senders = [Sender(server, folder, i) for i in range(4)]
        wait_for(lambda: any(s.sent for s in senders), LIMIT, "the first")
        total, each = held(server)
        say("  %d MiB granted, %s MiB held" %
            (total >> 20, [e >> 20 for e in each]))
        check(sum(s.sent for s in senders) == 1, "one at a time")
        check(sum(e > MIB for e in each) == 1, "held: %s" % each)
        # Those that wait are not dead, and others are served.
        with connect(server.url) as c:
            check(c.run("q", "echo", "x")[0] == b"x\n", "another one")
        # Its client goes in the middle of it: another's turn.
        first = [s for s in senders if s.sent][0]
        first.c.reset()
        senders.remove(first)
        while senders:
            wait_for(lambda: any(s.sent for s in senders), LIMIT, "another")
            s = [s for s in senders if s.sent][0]
            s.finish()
            s.c.close()
            senders.remove(s)
    server.stop()


def whole_server():
    """The bound of the server, and one that has none."""
    for options, most in ((("MaxHeldMemory=1M", "MaxHeldMemoryPerUser=0"),
                           1), (("MaxHeldMemory=0",
                                 "MaxHeldMemoryPerUser=0"), 99)):
        server = Server(*options)
        with connect(server.url) as c:
            worker = worker_of(server, c)
            c.start("p", sys.executable, "-c", LINES % COUNT)
            session = c.session
            c.reset()
        wait_for(lambda w=worker: not children(w), 2 * LIMIT, "its end")
        total, _ = held(server)
        check(0 < total <= most * MIB, "%s: %d" % (options, total))
        check(most == 1 or total > 4 * MIB, "%s: %d" % (options, total))
        with contextlib.closing(resume_in(server.url, session, LIMIT)) as c:
            a = c.call("process/read", {"processId": "p"}, 2 * LIMIT)
            check(sum(len(base64.b64decode(k["chunk"]))
                      for k in a["chunks"]) == 12 * COUNT, "every byte")
        server.stop()


main(output, messages, whole_server)
