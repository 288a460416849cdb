"""The master is killed: its sessions go on, and the next one adopts them."""
import base64
import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import time

from client import (Client, RpcError, Server, a_word, check, connect, main,
                    probe, resume_in, wait_for, with_word, LIMIT)

lib = importlib.import_module("7common")
nextlib = importlib.import_module("5next")
Next, kill, adopted = nextlib.Next, nextlib.kill, nextlib.adopted
attend = nextlib.attend
collect, missed = nextlib.collect, nextlib.missed
worker_now, lines, COUNT = nextlib.worker_now, nextlib.lines, nextlib.COUNT

KILLS = int(os.environ.get("KILLS", "30"))


def attached():
    """A client that is connected notices nothing."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sh", "-c", COUNT % 200)
    t = connect(server.url)
    t.start("t", "sh", "-c", "stty -echo; " + COUNT % 200, tty=True)
    kill(server)
    # Without a master as well.
    check(t.run("q", "echo", "x") == (b"x\n", 0), "a command")
    server = Next(server)
    adopted(server, 2)
    number = lib.session_of(server, c)
    check(lib.ask(server, "ps", str(number))[0]["state"] == "running", "ps")
    c.start("late", "sleep", "1000")
    lines(c, "p", 200)
    rows = lib.ask(server, "sessions")
    check(sorted(r["state"] for r in rows) == ["attached"] * 2, "states")
    new = connect(server.url)
    check(lib.session_of(server, new) > number, "a number was used twice")
    # An operator ends it, and nothing is left.
    word = a_word("killed")
    t.start("w", "sleep", word)
    lib.ctl(server, "kill", str(lib.session_of(server, t)))
    check(t.wait_closed(LIMIT), "it is not closed")
    wait_for(lambda: not with_word(word), LIMIT, "its commands are gone")
    for client in (c, t, new):
        client.close()
    server.stop()


def detached():
    """Lost while there was no master, and before; resumed, with all output."""
    server = Server()
    before, meanwhile = connect(server.url), connect(server.url)
    for c in before, meanwhile:
        c.start("p", "sh", "-c", COUNT % 100)
    before.reset()
    wait_for(lambda: [r["state"] for r in lib.ask(server, "sessions")].count(
        "detached") == 1, LIMIT, "detached")
    kill(server)
    meanwhile.reset()
    server = Next(server)
    for c in before, meanwhile:
        again = resume_in(server.url, c.session, LIMIT)
        read, out, last = {}, b"", 0
        while not read.get("closed"):
            read = again.call("process/read", {
                "processId": "p", "afterSeq": last, "waitMs": 1000})
            for chunk in read["chunks"]:
                out += base64.b64decode(chunk["chunk"])
            last = read["nextSeq"] - 1
        check(out.split() == [b"%d" % i for i in range(100)], "%r" % out)
        again.close()
    adopted(server, 2)
    server.stop()


def owns_nothing():
    """A tombstone has no process that could come: the record is enough."""
    server = Server()
    c = connect(server.url)
    c.close()
    wait_for(lambda: server.status()["kept"] == "1", LIMIT, "kept")
    server2 = connect(server.url)
    kill(server)
    server2.close()             # becomes one without a master
    server = Next(server)
    for session in c.session, server2.session:
        resume_in(server.url, session, LIMIT).close()
    server.stop()


def its_worker_died():
    """What is left of it is killed, and its client is told."""
    a_worker_died()


def its_worker_died_too():
    """Where no control group tells what is left."""
    a_worker_died("ProcessCgroup=no")


def a_worker_died(*options):
    server = Server(*options)
    c, word = connect(server.url), a_word("lost")
    other = connect(server.url)
    worker = worker_now(c, "who")
    c.start("p", "sh", "-c", "setsid sleep %s & sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "they run")
    kill(server)
    os.kill(worker, signal.SIGKILL)
    server = Next(server, *options)
    wait_for(lambda: not with_word(word), LIMIT, "its commands are gone")
    with Client(server.url) as again:
        try:
            again.initialize(c.session)
            check(False, "resumed")
        except RpcError as e:
            check(e.code == -32600 and "was lost" in e.text, "%s" % e)
    check(server.status()["lost"] == "1", "counted")
    # So is one of an adopted worker that dies later.
    adopted(server, 1)
    worker = worker_now(other, "who")
    other.start("p", "sh", "-c", "setsid sleep %s & sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "they run")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: not with_word(word), LIMIT, "its commands are gone")
    wait_for(lambda: server.status()["lost"] == "2", LIMIT, "counted")
    server.stop()


def others_may_not():
    """Who is no worker of the table, its own commands among them."""
    server = Server()
    c = connect(server.url)
    lib.session_of(server, c)
    kill(server)
    # It cannot come before the others have tried.
    worker = worker_now(c, "who")
    os.kill(worker, signal.SIGSTOP)
    with contextlib.ExitStack() as stack:
        stack.callback(os.kill, worker, signal.SIGCONT)
        server = Next(server)
        for _ in range(50):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(server.run + "/adopt")
            check(s.recv(10) == b"", "it was let in")
            s.close()
        check(int(server.status()["not_adopted"]) == 50, "counted")
        row = lib.ask(server, "sessions")[0]
        check(row["state"] == "awaited", "state: %s" % row["state"])
        # Who resumes it now is to try again.
        with Client(server.url) as again:
            try:
                again.initialize(c.session)
                check(False, "resumed")
            except RpcError as e:
                check(e.code == -32010, "%s" % e)
    # A command of the session has another pid.
    wait_for(lambda: server.status()["adopted"] == "1", LIMIT, "adopted")
    out, _ = c.run("knock", sys.executable, "-c", """
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("%s/adopt")
print(s.recv(10))
""" % server.run)
    check(out == b"b''\n", "%r" % out)
    c.close()
    server.stop()


def nobody_comes():
    """After OrphanTtl a session ends, whoever is attached."""
    server = Server("OrphanTtl=1")
    c, word = connect(server.url), a_word("orphan")
    c.start("p", "sleep", word)
    wait_for(lambda: with_word(word), LIMIT, "it runs")
    kill(server)
    check(c.wait_closed(LIMIT), "it goes on")
    wait_for(lambda: not with_word(word), LIMIT, "it is gone")
    Next(server).stop()


def alone():
    """OrphanTtl 0: they go on as long as their clients are there, and no later
    master knows them."""
    server = Server("OrphanTtl=0", "DetachedTtl=10m")
    c, word = connect(server.url), a_word("attached")
    c.start("p", "sleep", word)
    d, detached_word = connect(server.url), a_word("detached")
    d.start("p", "sleep", detached_word)
    d.reset()
    wait_for(lambda: server.status()["detached"] == "1", LIMIT, "detached")
    lib.ctl(server, "upgrade", status=1)
    check("OrphanTtl" in lib.ctl.err, "upgrade: %r" % lib.ctl.err)
    kill(server)
    wait_for(lambda: not with_word(detached_word), LIMIT, "it is gone")
    check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    server = Next(server)
    check(lib.ask(server, "sessions") == [], "it is listed")
    for session in c.session, d.session:
        try:
            connect(server.url, resume=session)
            check(False, "it is resumed")
        except RpcError as e:
            check("lost" in e.text, "%s" % e)
    check(c.run("r", "echo", "x") == (b"x\n", 0), "a command")
    check(with_word(word), "its command")
    c.close()
    wait_for(lambda: not with_word(word), LIMIT, "it is gone")
    server.stop()


def ends_in_order():
    """One that stops before they have come ends them, too."""
    server = Server()
    some, word = [connect(server.url) for _ in range(5)], a_word("stop")
    for c in some:
        c.start("p", "sh", "-c", "setsid sleep %s & sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 10, LIMIT, "they run")
    kill(server)
    server = Next(server)
    server.stop()
    wait_for(lambda: not with_word(word), LIMIT, "they are gone")
    for c in some:
        check(c.wait_closed(LIMIT), "a connection stays")
        c.close()
    check(not os.path.exists(server.run), "something is left")


def is_over(c):
    return any(m["method"] == "process/closed" for m in c.notes)


def again_and_again():
    """The next ones die as well: soon, in the middle, at the start."""
    server = Server()
    some = [connect(server.url) for _ in range(8)]
    for i, c in enumerate(some):
        c.start("p", "sh", "-c", COUNT % 250)
    for round_ in range(6):
        kill(server)
        # One that cannot start leaves them to the next.
        bad = subprocess.run(
            [os.environ["BUILD"] + "/execsrvd", "-D", "-f", "none", "-o",
             "RuntimeDirectory=" + server.run, "--listen",
             "unix:/nonexistent/x"], capture_output=True, check=False)
        check(bad.returncode != 0, "it starts")
        server = Next(server)
        attend(some)
        if round_ % 2:
            adopted(server, len(some))
            attend(some)
    adopted(server, len(some))
    wait_for(lambda: attend(some) or all(map(is_over, some)), 2 * LIMIT,
             "all have ended")
    for c in some:
        lines(c, "p", 250)
        c.close()
    server.stop()


def whenever():
    """Thirty times, whatever is going on: nothing is lost, none is left."""
    server = Server()
    some = [connect(server.url) for _ in range(6)]
    for i, c in enumerate(some):
        c.start("p", "sh", "-c", "i=0; while :; do echo $i; i=$((i+1)); "
                "sleep 0.02; done", tty=i == 0)
    seen = {c: b"" for c in some}
    word = a_word("whenever")
    for c in some:
        c.start("s", "sleep", word)
    for i in range(KILLS):
        if i % 5 == 4:              # not seen by the one that dies
            some[i % 6].reset()
        kill(server)
        server = Next(server)
        if i % 5 == 4:
            old = some[i % 6]
            new = some[i % 6] = resume_in(server.url, old.session, LIMIT)
            collect(old, seen)
            missed(new, old, seen)
        for c in some:
            collect(c, seen)
        time.sleep(0.002 * (i * 7 % 23))
    wait_for(lambda: server.status()["adopted"] == "6", LIMIT, "adopted")
    check(len(with_word(word)) == 6, "commands ended")
    rows = lib.ask(server, "sessions")
    check(len(rows) == 6, "sessions: %s" % rows)
    for c in some:
        check(c.run("end", "echo", "x")[1] == 0, "a command")
        c.close()
    server.stop()
    wait_for(lambda: not with_word(word), LIMIT, "they are gone")


def settings():
    """Limits of its Match block, counts of its user, memory, transcripts."""
    server = Server("MaxSessions=2")
    some = [connect(server.url) for _ in range(2)]
    kill(server)
    server = Next(server, "MaxSessions=2")
    adopted(server, 2)
    try:
        connect(server.url)
        check(False, "a third one")
    except RpcError as e:
        check("too many" in e.text, "%s" % e)
    some[0].close()
    wait_for(lambda: server.status()["kept"] == "1", LIMIT, "it has ended")
    probe(server.url)
    some[1].close()
    server.stop()


def many():
    """Two hundred at once."""
    server = Server("SpareWorkers=32", "MaxSpareWorkers=64")
    some = [connect(server.url) for _ in range(200)]
    for c in some[::4]:
        c.start("p", "sleep", "1000")
    kill(server)
    server = Next(server)
    adopted(server, 200)
    for c in some:
        c.call("environment/status")
        c.close()
    server.stop()


main(attached, detached, owns_nothing, its_worker_died, its_worker_died_too,
     others_may_not, nobody_comes, alone, ends_in_order, again_and_again,
     whenever, settings, many)
