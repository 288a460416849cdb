"""983: workers that say what they may not.

The daemon runs with 98puppet.py in the place of execsrv-worker, so that each
row of proto/ipc.def is said in each state of a worker.
"""
import importlib
import json
import os
import re
import shutil
import socket
import sys

import tokens
from client import (BUILD, LIMIT, TMP, Server, check, dial, is_alive, main,
                    say, upgrade_request, wait_for)

ask = importlib.import_module("7common").ask
nextlib = importlib.import_module("5next")

SRCDIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
with open(SRCDIR + "/proto/ipc.def", encoding="ascii") as source:
    ROWS = re.findall(r"^IPC\((\w+),\s*\w+,\s*(\w+),\s*(\w+),\s*(\w+)\)",
                      source.read(), re.M)
KIND = {row[0]: n for n, row in enumerate(ROWS)}
HAS_FD = {row[0]: row[3] == "ONE" for row in ROWS}
OURS = [row[0] for row in ROWS if row[1:3] == ("WORKER", "MASTER")]

# What a worker may say, and the state that it is in then. What is not here, or
# with None, is refused: the latter for what it is about, not for its name.
LEGAL = {
    "idle": {},
    "greeting": {"handover": "greeting", "opened": "serving",
                 "turned_away": "greeting", "unlimited": "greeting",
                 "credential": None, "greeted": None},
    "handing": {},
    "serving": {"resumed": "serving", "attached": "serving",
                "detached": "serving", "report": "serving",
                "acted": "serving", "load": "serving", "command": "serving",
                "command_ended": "serving", "net_refused": "serving",
                "memory_ask": "serving", "operate": "serving",
                "released": "leaving", "ended": "leaving",
                "transcript_ask": None},
    "awaited": {"orphan": "serving"},
}
# As the log names what a row is about.
ABOUT = {"transcript_ask": "transcript"}


def number(field, n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return bytes([field << 3]) + out + bytes([n])


def text(field, data):
    data = data.encode() if isinstance(data, str) else data
    n, out = len(data), b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return bytes([field << 3 | 2]) + out + bytes([n]) + data


def fields(body):
    """{field: value} of a message: numbers, and bytes."""
    out, at = {}, 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            n |= (body[at] & 127) << shift
            shift += 7
            at += 1
            if body[at - 1] < 128:
                return n

    while at < len(body):
        key = varint()
        value = varint()
        if key & 7 == 2:
            at += value
            value = body[at - value:at]
        out[key >> 3] = value
    return out


class Stage:
    """A daemon whose workers are puppets."""

    def __init__(self, *options):
        self.folder = "%s/puppets%d" % (TMP, Server.count)
        os.mkdir(self.folder, 0o755)
        shutil.copy(BUILD + "/execsrvd", self.folder)
        shutil.copy(SRCDIR + "/proto/ipc.def", self.folder)
        with open(self.folder + "/execsrv-worker", "w",
                  encoding="utf-8") as out, \
                open(SRCDIR + "/t/sys/98puppet.py",
                     encoding="utf-8") as puppet:
            out.write("#!%s\n" % sys.executable + puppet.read())
        os.chmod(self.folder + "/execsrv-worker", 0o755)
        self.program = os.path.relpath(self.folder, BUILD) + "/execsrvd"
        self.server = Server("LogLevel=debug", *options, program=self.program)
        self.orders = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.used, self.socks = set(), []

    def logged(self, pattern):
        return re.search(pattern, self.server.log())

    def wait_log(self, pattern):
        return wait_for(lambda: self.logged(pattern), LIMIT, pattern)

    def say(self, pid, *messages):
        """Each (row, body), or with a wish of a descriptor as the third."""
        order = [[KIND[m[0]], m[1].hex(),
                  m[2] if len(m) > 2 else HAS_FD[m[0]]] for m in messages]
        self.orders.sendto(json.dumps({"say": order}).encode(),
                           "%s/%d" % (self.folder, pid))

    def heard(self, pid, row):
        """The bodies of what came to it of that row."""
        path = "%s/%d.got" % (self.folder, pid)
        if not os.path.exists(path):
            return []           # it does not run yet
        with open(path, encoding="ascii") as f:
            lines = [line.split(" ") for line in f.read().split("\n")[:-1]]
        return [fields(bytes.fromhex(b)) for k, b in lines
                if int(k) == KIND[row]]

    # Workers in a state of which the log tells

    def idle(self):
        """One that nobody had; it is not taken."""
        def one():
            for m in re.finditer(r"worker (\d+): starting -> idle",
                                 self.server.log()):
                pid = int(m[1])
                if pid not in self.used and is_alive(pid) and \
                        os.path.exists("%s/%d.got" % (self.folder, pid)):
                    return pid
            return None
        return wait_for(one, LIMIT, "an idle worker")

    def greeting(self, path=None):
        """The next client's; of the Unix socket of that path."""
        self.idle()
        seen = len(self.server.log())
        sock = dial("unix:" + path if path else self.server.url)
        sock.sendall(upgrade_request())
        self.socks.append(sock)

        def one():
            return re.search(r"worker (\d+): idle -> greeting",
                             self.server.log()[seen:])
        pid = int(wait_for(one, LIMIT, "a greeting worker")[1])
        self.used.add(pid)
        wait_for(lambda: self.heard(pid, "assign"), LIMIT, "it has a client")
        return pid

    def serving(self):
        pid = self.greeting()
        self.say(pid, ("opened", b""))
        self.wait_log(r"worker %d: greeting -> serving" % pid)
        return pid

    def end(self, pid):
        """A worker that is in a session, and no violation."""
        self.say(pid, ("ended", text(1, "expired")))
        self.wait_log(r"worker %d: serving -> leaving" % pid)
        os.kill(pid, 9)

    def hang_up(self):
        while self.socks:
            self.socks.pop().close()

    def fate(self, pid):
        """What it was killed for, and in which state."""
        m = self.wait_log(r"worker %d: ([\w ]+) in state (\w+): killed" % pid)
        wait_for(lambda: not is_alive(pid), LIMIT, "its end")
        return m[1], m[2]


def expected(state, row):
    """(what for, in which state) it is killed when a row of another's follows,
    which is never legal."""
    legal = LEGAL[state]
    if legal.get(row):
        return "malformed message", legal[row]
    return ABOUT.get(row, row) if row in legal else row, state


def each(stage, state, prepare):
    """All that a worker may ever say, in one state."""
    other = stage.serving()
    for row in OURS:
        pid, before = prepare()
        stage.say(pid, *before, (row, b""), ("fork", b""))
        check(stage.fate(pid) == expected(state, row), "%s while %s: %s" % (
            row, state, stage.fate(pid)))
    check(is_alive(other), "another one was killed")
    stage.end(other)
    stage.hang_up()
    check(stage.server.process.poll() is None, "the master ended")
    stage.server.stop()


def idle():
    stage = Stage()
    each(stage, "idle", lambda: (stage.idle(), ()))


def greeting():
    stage = Stage()
    each(stage, "greeting", lambda: (stage.greeting(), ()))


def serving():
    stage = Stage()
    each(stage, "serving", lambda: (stage.serving(), ()))


def handing():
    """The owner of the session that a client asks for does not answer yet."""
    stage = Stage()
    owner = stage.serving()
    session = stage.heard(owner, "assign")[0][2]
    each(stage, "handing", lambda: (
        stage.greeting(), [("handover", text(1, session))]))


def awaited():
    """The next master lets one say how its session is, and nothing else before;
    which session that is it does not ask."""
    stage = Stage()
    with open(stage.folder + "/orphans", "w", encoding="ascii") as f:
        f.write(stage.server.run + "/adopt")
    pids, other = [stage.serving() for _ in OURS], stage.serving()
    session = stage.heard(other, "assign")[0][2]
    nextlib.kill(stage.server)
    stage.server = nextlib.Next(stage.server, "LogLevel=debug",
                                program=stage.program)
    for pid, row in zip(pids, OURS):
        wait_for(lambda p=pid: os.path.exists("%s/%d.came" % (
            stage.folder, p)), LIMIT, "it comes")
        stage.say(pid, (row, text(1, session) if row == "handover" else b""),
                  ("fork", b""))
        check(stage.fate(pid) == expected("awaited", row), "%s: %s" % (
            row, stage.fate(pid)))
    check(is_alive(other), "another one was killed")
    stage.say(other, ("orphan", number(1, 1)))
    stage.wait_log(r"worker %d: awaited -> serving" % other)
    os.unlink(stage.folder + "/orphans")
    stage.end(other)
    stage.hang_up()
    stage.server.stop()


def others_rows():
    """Rows that are not a worker's, and its own with a descriptor too many or
    too few, at any time."""
    stage = Stage()
    wrong = [(row[0], b"") for row in ROWS if row[0] not in OURS]
    wrong += [(row, b"", not HAS_FD[row]) for row in OURS]
    for i, message in enumerate(wrong):
        state = ("greeting", "serving")[i % 2]
        pid = getattr(stage, state)()
        stage.say(pid, message)
        check(stage.fate(pid) == ("malformed message", state),
              "%s: %s" % (message, stage.fate(pid)))
    stage.hang_up()
    stage.server.stop()


def too_long():
    stage = Stage()
    pid = stage.greeting()
    stage.say(pid, ("handover", text(2, b"x" * (64 * 1024 + 1))))
    check(stage.fate(pid) == ("handover", "greeting"), "its fate")
    stage.hang_up()
    stage.server.stop()


def not_asked():
    """An answer for a session of another counts for nothing; one that is no
    verdict kills who gave it, and the client is told that there is none."""
    stage = Stage()
    owner, liar = stage.serving(), stage.serving()
    session = stage.heard(owner, "assign")[0][2]
    pid = stage.greeting()
    stage.say(pid, ("handover", text(1, session)))
    ticket = wait_for(lambda: stage.heard(owner, "resume"), LIMIT,
                      "the owner is asked")[0][1]
    stage.say(liar, ("resumed", number(1, ticket)), ("fork", b""))
    check(stage.fate(liar) == ("malformed message", "serving"), "the liar")
    check(is_alive(owner) and is_alive(pid), "others were killed")
    stage.say(owner, ("resumed", number(1, ticket) + number(2, 99)))
    check(stage.fate(owner) == ("resumed", "serving"), "the owner's fate")
    decided = wait_for(lambda: stage.heard(pid, "decided"), LIMIT,
                       "a decision")
    check([d.get(1) for d in decided] == [2], "decided: %s" % decided)
    stage.hang_up()
    stage.server.stop()


def after_its_end():
    """What comes from one that leaves is heard by nobody, and harms nobody."""
    stage = Stage()
    for row in OURS:
        pid = stage.serving()
        stage.say(pid, ("released", b""), (row, b""), ("fork", b""))
        check(stage.fate(pid) == ("malformed message", "leaving"),
              "%s: %s" % (row, stage.fate(pid)))
    say("  %d rows" % len(OURS))
    stage.hang_up()
    stage.server.stop()


def stays():
    """One that says that it leaves and does not is made to."""
    stage = Stage()
    for row in ("released", "ended"):
        pid = stage.serving()
        stage.say(pid, (row, b""))
        stage.wait_log(r"worker %d: serving -> leaving" % pid)
        wait_for(lambda p=pid: not is_alive(p), LIMIT, "its end")
    stage.hang_up()
    check(stage.logged("does not exit"), "it was not made to")
    check(not stage.logged("was killed|has died"), "it did nothing wrong")
    stage.server.stop()


def shown_late():
    """A token is shown before a session is asked for, or not at all."""
    token = tokens.new()
    stage = Stage(tokens.option("ci", token))
    owner = stage.serving()
    session = stage.heard(owner, "assign")[0][2]
    pid = stage.greeting()
    stage.say(pid, ("handover", text(1, session)),
              ("credential", text(1, token)), ("fork", b""))
    check(stage.fate(pid) == ("credential", "handing"), "%s" % (
        stage.fate(pid),))
    stage.end(owner)
    stage.hang_up()
    stage.server.stop()


def readers():
    """Who reads what a client says before that is let in cannot let it in."""
    stage = Stage("RequireToken=always", tokens.option("ci", tokens.new()))
    for row, body in (("greeted", b""), ("opened", b""), ("handover", b""),
                      ("credential", text(1, b"x" * 8193))):
        pid = stage.greeting()
        stage.say(pid, (row, body))
        check(stage.fate(pid) == (row, "greeting"),
              "%s: %s" % (row, stage.fate(pid)))
    pid = stage.greeting()
    stage.say(pid, ("credential", text(1, "a guess")),
              ("credential", text(1, "another")))
    check(stage.fate(pid) == ("credential", "greeting"), "two guesses")
    stage.hang_up()
    stage.server.stop()


def too_long_greeted():
    """A first message that is too long, of a client that was let in."""
    token = tokens.new()
    stage = Stage("RequireToken=always", tokens.option("ci", token))
    for size, fate in ((64 * 1024 + 1, ("greeted", "greeting")),
                       (64 * 1024, ("malformed message", "leaving"))):
        pid = stage.greeting()
        stage.say(pid, ("credential", text(1, token)))
        judged = wait_for(lambda p=pid: stage.heard(p, "judged"), LIMIT,
                          "it is judged")
        check(judged[0].get(1, 0) == 0, "it is not let in: %s" % judged)
        stage.say(pid, ("greeted", text(1, b"x" * size)), ("fork", b""))
        check(stage.fate(pid) == fate, "%d bytes: %s" % (size,
                                                        stage.fate(pid)))
    stage.hang_up()
    stage.server.stop()


def once():
    """However often it says that its client was refused, that is one."""
    log = TMP + "/audit"
    stage = Stage("AuditLog=" + log)
    pid = stage.greeting()
    stage.say(pid, *[("unlimited", b""), ("turned_away", b"")] * 9,
              ("fork", b""))
    stage.fate(pid)
    with open(log, encoding="utf-8") as f:
        refused = [line for line in f if "session-refused" in line]
    check(len(refused) == 1, "told %d times" % len(refused))
    counted = ask(stage.server, "status")
    check([v for k, v in counted.items() if "unlimited" in k] == [1],
          "counted: %s" % counted)
    stage.hang_up()
    stage.server.stop()


def gauges(stage, path):
    """What the next client for figures is to be told: {name: number}."""
    pid = stage.greeting(path)
    packed = fields(stage.heard(pid, "assign")[0][13])[2]
    numbers, n, shift = [], 0, 0
    for byte in packed:
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(n)
            n = shift = 0
    with open(SRCDIR + "/proto/gauge.def", encoding="ascii") as f:
        return dict(zip(re.findall(r"^GAUGE\((\w+),", f.read(), re.M),
                        numbers))


def load():
    """It may say that more processes run than it may have: nobody else's
    figures grow by that."""
    path = TMP + "/figures"
    stage = Stage("MetricsListen=unix:" + path, "MaxProcesses=7")
    liar, other = stage.serving(), stage.serving()
    for pid, said, wanted in ((other, 3, 3), (liar, 2 ** 32 - 1, 3 + 7),
                              (liar, 6, 3 + 6)):
        stage.say(pid, ("load", number(1, said)))
        wait_for(lambda n=wanted: gauges(stage, path)["processes"] == n,
                 LIMIT, "%d processes" % wanted)
    stage.hang_up()
    stage.server.stop()


def missed_commands():
    """Commands that a worker did not tell are lost, and the log says so."""
    path = TMP + "/missed.log"
    stage = Stage("AuditLog=" + path)
    pid = stage.serving()
    stage.say(pid, ("command", number(1, pid) + text(2, "told")),
              ("command", number(1, pid) + text(2, "late") + number(7, 3)))

    def told():
        with open(path, encoding="utf-8") as f:
            lines = [line for line in f if line.endswith("\n")]
        events = [json.loads(line) for line in lines]
        return [(e["event"], e.get("program"), e.get("count"))
                for e in events
                if e["event"] in ("process-started", "events-lost")]
    wait_for(lambda: len(told()) >= 3, LIMIT, "three events")
    check(told() == [("process-started", "told", None),
                     ("events-lost", None, 3),
                     ("process-started", "late", None)], "%s" % told())
    stage.end(pid)
    stage.hang_up()
    stage.server.stop()


main(idle, greeting, serving, handing, awaited, others_rows, too_long, not_asked,
     after_its_end, stays, shown_late, readers, too_long_greeted, once, load,
     missed_commands)
