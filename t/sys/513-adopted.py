"""513: what holds for a session holds when it is adopted: its sandbox, limits,
settings of its Match block, counts; audit log, transcripts, metrics; and what
operators do."""
import glob
import importlib
import json
import os
import signal
import subprocess
import threading
import time

from client import (BUILD, Client, RpcError, Server, TMP, a_word, check,
                    connect, main, resume_in, say, wait_for, with_word,
                    LIMIT)

lib = importlib.import_module("7common")
box = importlib.import_module("6common")
nextlib = importlib.import_module("5next")
Next, kill, adopted = nextlib.Next, nextlib.kill, nextlib.adopted

# Whether a listener lets a command in.
KNOCK = r"""
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
              b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
              b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    print(s.recv(12).decode())
except OSError as e:
    print(e.strerror)
"""


def configured(name, *lines):
    """A file of settings."""
    path = "%s/%s.conf" % (TMP, name)
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join([*lines, ""]))
    return "-f", path


def outcome(c, process, *argv, **more):
    """Output and status of a command; of a sandboxed one as well."""
    c.start(process, *argv, **more)
    read, out, last = {}, b"", 0
    while not read.get("closed"):
        read = c.call("process/read", {"processId": process, "afterSeq": last,
                                       "waitMs": 1000})
        out += b"".join(nextlib.base64.b64decode(x["chunk"])
                        for x in read["chunks"])
        last = read["nextSeq"] - 1
    return out, read["exitCode"]


def sandboxed():
    """A sandboxed command goes on; one that is started before, without and
    after a master is in the same sandbox, and no listener lets it in."""
    door = TMP + "/door.sock"
    server = Server(listen=("ws://127.0.0.1:0", "unix:" + door))
    c, policy = connect(server.url), box.read_only("/tmp")
    c.start("p", "sh", "-c", nextlib.COUNT % 200, sandbox=policy)

    def judge(when):
        out, status = outcome(c, "write-" + when, "sh", "-c",
                              "echo x >/tmp/denied", sandbox=policy)
        check(status != 0 and not os.path.exists("/tmp/denied"),
              "%s: it wrote: %r" % (when, out))
        out, status = outcome(c, "knock-" + when, "python3", "-c", KNOCK, door,
                              sandbox=policy)
        check(b"101" not in out, "%s: let in: %r" % (when, out))
        out, status = outcome(c, "read-" + when, "cat", "/etc/passwd",
                              sandbox=policy)
        check(status == 0 and out, "%s: cannot read" % when)
    judge("before")
    kill(server)
    judge("meanwhile")
    server = Next(server)
    judge("unadopted")
    adopted(server, 1)
    judge("after")
    check(b"101" in outcome(c, "open", "python3", "-c", KNOCK, door)[0],
          "not even without a sandbox")
    # A new session is marked by the same sign.
    d = connect(server.url)
    out, _ = outcome(d, "knock", "python3", "-c", KNOCK, door, sandbox=policy)
    check(b"101" not in out, "let in: %r" % out)
    read, out, last = {}, b"", 0
    while not read.get("closed"):
        read = c.call("process/read", {"processId": "p", "afterSeq": last,
                                       "waitMs": 1000})
        out += b"".join(nextlib.base64.b64decode(x["chunk"])
                        for x in read["chunks"])
        last = read["nextSeq"] - 1
    check(out.split() == [b"%d" % i for i in range(200)], "%r" % out[-100:])
    server.stop()


def matched():
    """Settings of a Match block are those of the session; the next master counts
    it to the identity that it has."""
    door = TMP + "/matched.sock"
    how = ("PermitRootSession yes", "MaxSessionsPerUser 8", "Match Listener "
           "unix:" + door, "MaxProcesses 2", "MaxSessionsPerUser 2")
    args = configured("matched", *how)
    server = Server(listen=("ws://127.0.0.1:0", "unix:" + door), args=args)
    c = connect("unix:" + door)
    c.start("one", "sleep", "1000")
    kill(server)
    c.start("two", "sleep", "1000")
    server = Next(server, args=args)
    adopted(server, 1)

    def refused(call, why):
        try:
            call()
            check(False, "it is not refused: " + why)
        except RpcError as e:
            check(why in e.text, "%s" % e)
    refused(lambda: c.start("three", "sleep", "1000"), "processes")
    row = lib.ask(server, "sessions")[0]
    check(row["running"] == 2, "%s" % row)
    d = connect("unix:" + door)
    # The master hears of it after the client has its answer.
    wait_for(lambda: server.status()["attached"] == "2", LIMIT, "attached")
    refused(lambda: connect("unix:" + door), "too many sessions")
    # A tombstone counts no more; its user's others do.
    d.close()
    wait_for(lambda: server.status()["kept"] == "1", LIMIT, "it has ended")
    connect("unix:" + door).close()
    connect(server.url).close()
    c.close()
    server.stop()


def limited():
    """Limits by control groups, where there are any, hold; the groups go with
    the session."""
    server = Server("TasksMax=30")
    if "cgroup" not in server.status()["limits"]:
        say("left out: no control group is ours")
        server.stop()
        return
    c, word = connect(server.url), a_word("task")
    script = ("for i in $(seq 60); do sleep %s & done 2>/dev/null; wait" %
              word)
    c.start("many", "sh", "-c", "trap : TERM; " + script)
    wait_for(lambda: len(with_word(word)) > 15, LIMIT, "some run")
    groups = groups_of(with_word(word)[-1])
    check(groups, "no group")
    kill(server)
    server = Next(server, "TasksMax=30")
    adopted(server, 1)
    try:
        # Those that find room do not keep its output open.
        outcome(c, "more", "sh", "-c", "for i in 1 2 3 4 5 6; do sleep %s "
                ">/dev/null 2>&1 & done; echo all" % word)
    except RpcError as e:
        check("temporarily unavailable" in str(e), e)   # it is full by now
    check(len(with_word(word)) <= 31, "%d tasks" % len(with_word(word)))
    lib.ctl(server, "kill", lib.session_of(server, c))
    check(c.wait_closed(LIMIT), "it goes on")
    wait_for(lambda: not with_word(word), LIMIT, "they are gone")
    wait_for(lambda: not any(map(os.path.exists, groups)), LIMIT,
             "its groups are gone: %s" % groups)
    server.stop()


def groups_of(pid):
    """Folders of the groups of ours that a process is in."""
    out = []
    with open("/proc/%d/cgroup" % pid, encoding="ascii") as f:
        for line in f:
            _, kinds, path = line.strip().split(":", 2)
            for kind in kinds.split(",") or [""]:
                folder = "/sys/fs/cgroup/%s%s" % (kind, path)
                if "execsrv-" in path and os.path.isdir(folder):
                    out.append(folder)
    return out


def audited():
    """The log goes on: what was started meanwhile is in it, once, and so is the
    end, with what the session used before, meanwhile and after."""
    path = TMP + "/adopted.audit"
    server = Server("AuditLog=" + path)
    c = connect(server.url)
    c.run("a", "true")
    number = int(lib.session_of(server, c))
    kill(server)
    for i in range(3):
        c.run("b%d" % i, "/bin/echo", "meanwhile")
    server = Next(server, "AuditLog=" + path)
    adopted(server, 1)
    c.run("c", "true")
    c.call("environment/status")
    c.close()
    server.stop()
    with open(path, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    mine = [e for e in events if e.get("session") == number]
    count = {}
    for e in mine:
        count[e["event"]] = count.get(e["event"], 0) + 1
    check(count["session-opened"] == 1 and count["session-ended"] == 1,
          "%s" % count)
    check(count["process-started"] == count["process-ended"] == 5,
          "%s" % count)
    end = [e for e in mine if e["event"] == "session-ended"][0]
    check(end["processes"] == 5, "%s" % end)
    starts = [e for e in events if e["event"] == "server-started"]
    check(len(starts) == 2, "%s" % starts)


def recorded():
    """A transcript goes on in its file; new ones are written by the next
    master."""
    folder = TMP + "/adopted.transcripts"
    how = ("TranscriptDir=" + folder, "Transcript=all")
    server = Server(*how)
    c = connect(server.url)
    c.start("p", "sh", "-c", nextlib.COUNT % 150, tty=True)
    wait_for(lambda: lib.ask(server, "show", "1")["transcript"], LIMIT,
             "it is written")
    kill(server)
    server = Next(server, *how)
    adopted(server, 1)
    c.start("q", "echo", "afterwards", tty=True)
    nextlib.lines(c, "p", 150)
    c.close()
    server.stop()
    texts = []
    for path in glob.glob(folder + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
    texts = ["".join(json.loads(line)[2] for line in t.splitlines()[1:]
                     if json.loads(line)[1] == "o") for t in texts]
    check(any(t.split() == ["%d" % i for i in range(150)] for t in texts),
          "not all lines")
    check(any(t.strip() == "afterwards" for t in texts), "%d" % len(texts))


def operated():
    """show, tail, ps, kill of a command and drain, as before."""
    server = Server()
    c, d = connect(server.url), connect(server.url)
    c.start("p", "sh", "-c", nextlib.COUNT % 100000)
    word = a_word("operated")
    d.start("q", "sleep", word)
    kill(server)
    server = Next(server)
    adopted(server, 2)
    number = lib.session_of(server, c)
    shown = lib.ctl(server, "show", number).decode()
    check("attached" in shown and c.session in shown, shown)
    tail = subprocess.Popen(
        [BUILD + "/execsrvctl", "-R", server.run, "tail", "-f", number, "p"],
        stdout=subprocess.PIPE)
    seen = [tail.stdout.readline() for _ in range(20)]
    tail.send_signal(signal.SIGINT)
    tail.stdout.close()
    tail.wait(LIMIT)
    check(all(seen), "tail: %s" % seen)
    status = server.status()
    check(status["attached"] == "2", "%s" % status)
    lib.ctl(server, "drain")
    lib.ctl(server, "kill", lib.session_of(server, d))
    wait_for(lambda: not with_word(word), LIMIT, "it is killed")
    try:
        Client(server.url).initialize()
        check(False, "a new session while draining")
    except (RpcError, OSError, AssertionError):
        pass
    check(server.process.poll() is None, "the master ended too early")
    lib.ctl(server, "kill", number)
    wait_for(lambda: server.process.poll() is not None, LIMIT,
             "the master ends")


def figure(server, name):
    """One of /metrics."""
    text = lib.http(server.status()["metrics"], "/metrics")[2].decode()
    found = [line.rsplit(" ", 1)[1] for line in text.splitlines()
             if line.startswith(name + " ")]
    check(found, "no %s" % name)
    return float(found[0])


def measured():
    """Gauges count the sessions of a former master, in each state."""
    options = ("MetricsListen=unix:%s/metrics" % TMP,)
    server = Server(*options)
    some = [connect(server.url) for _ in range(4)]
    for c in some[:3]:
        c.start("p", "sleep", "1000")
    some[0].reset()
    kill(server)
    server = Next(server, *options)
    adopted(server, 4)
    wait_for(lambda: server.status()["attached"] == "3", LIMIT, "attached")
    status = server.status()
    check(status["detached"] == "1" and status["crashes"] == "1", "%s" %
          status)
    # As is told without asking workers.
    wait_for(lambda: figure(server, "execsrv_processes") == 3, LIMIT,
             "processes: %s" % figure(server, "execsrv_processes"))
    for state, n in (("attached", 3), ("detached", 1), ("kept", 0)):
        check(figure(server, 'execsrv_sessions{state="%s"}' % state) == n,
              "%s sessions" % state)
    for c in some:
        c.close()
    server.stop()


def in_the_middle():
    """Deaths while clients open sessions, resume and take over: who was told a
    session can have it again, and all others are told to try again."""
    server = Server("SpareWorkers=4")
    kept, over, failed = [], threading.Event(), []
    at = [server.url]

    def caller(number):
        while not over.is_set():
            try:
                c = connect(at[0])
                c.start("p", "cat", pipeStdin=True)
            except (OSError, RpcError, AssertionError, EOFError):
                continue
            except Exception as e:      # Closed
                if type(e).__name__ == "Closed":
                    continue
                failed.append(e)
                return
            kept.append(c.session)
            c.reset()
            try:
                # Taken over at once, while it may still be attached.
                again = resume_in(at[0], c.session, 2 * LIMIT)
                again.call("environment/status")
                again.reset()
            except (OSError, EOFError):
                continue
            except Exception as e:
                if type(e).__name__ != "Closed":
                    failed.append("%d: %s" % (number, e))
                    return
    threads = [threading.Thread(target=caller, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for i in range(12):
        time.sleep(0.05 + 0.013 * (i * 7 % 11))
        kill(server)
        server = Next(server, "SpareWorkers=4")
    over.set()
    for t in threads:
        t.join()
    check(not failed, "%s" % failed[:3])
    for session in kept:
        c = resume_in(server.url, session, 2 * LIMIT)
        check(c.call("process/read", {"processId": "p"})["exited"] is False,
              "its command ended")
        c.call("process/terminate", {"processId": "p"})
        c.close()
    say("  %d sessions" % len(kept))
    check(kept, "no session")
    server.stop()


main(sandboxed, matched, limited, audited, recorded, operated, measured,
     in_the_middle)
