"""931: the audit log."""
import contextlib
import importlib
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import tokens
from client import (BUILD, LIMIT, TMP, Client, RpcError, Server, a_word, check,
                    connect, in_time, main, resume_in, say, skip,
                    upgrade_request, dial, wait_for, with_word)

lib = importlib.import_module("7common")
logging = importlib.import_module("960-logging")
ctl, ask = lib.ctl, lib.ask

SRCDIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
ME = os.geteuid()
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def rows(kind):
    """The names in a row file, as they stand in the log."""
    with open(os.path.join(SRCDIR, "proto/audit.def"), encoding="ascii") as f:
        text = f.read()
    text = text[text.index("*/"):]
    if kind == "AUDIT":
        return re.findall(r'AUDIT\(\w+,\s*"([^"]*)"', text)
    return re.findall(r"AUDIT_KEY\((\w+),", text)


EVENTS, KEYS = rows("AUDIT"), ["time", "run", "seq", "event",
                               *rows("AUDIT_KEY")]


def path_of(name):
    path = "%s/%s" % (TMP, name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return path


def judge(text):
    """The events in a log: all of it is lines, in order, without a gap."""
    out, run, seq = [], None, 0
    check(text == "" or text.endswith("\n"), "half a line: %r" % text[-200:])
    for line in text.splitlines():
        d = json.loads(line, object_pairs_hook=lambda pairs: pairs)
        keys = [k for k, _ in d]
        check(keys == [k for k in KEYS if k in keys], "keys: %s" % line)
        d = dict(d)
        for user, uid in ("user", "uid"), ("by_user", "by_uid"):
            check(user not in d or d[user] == name_of(d[uid]), line)
        check(d["event"] in EVENTS and TIME.fullmatch(d["time"]) and
              re.fullmatch("[0-9a-f]{16}", d["run"]), line)
        if d["run"] != run:
            run, seq = d["run"], 0
        lost = d["count"] if d["event"] == "events-lost" else 0
        check(d["seq"] == seq + 1 + lost, "after %d: %s" % (seq, line))
        seq = d["seq"]
        out.append(d)
    return out


def whole(path):
    """All of it; a line that is just being written is waited for."""
    def found():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        return [text] if text == "" or text.endswith("\n") else None
    return wait_for(found, LIMIT, "no half a line")[0]


def events(path, name=None):
    return [d for d in judge(whole(path)) if name in (None, d["event"])]


def until(path, name, **what):
    """The first event of that name, and with all of that."""
    def found():
        for d in events(path, name):
            if all(d.get(k) == v for k, v in what.items()):
                return d
        return None
    return wait_for(found, LIMIT, "%s %s" % (name, what))


def without(d, *keys):
    return {k: v for k, v in d.items()
            if k not in ("time", "run", "seq", "event", "user", "by_user",
                         *keys)}


def name_of(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def sessions():
    path = path_of("sessions")
    server = Server("AuditLog=" + path, "ClosedProcessTtl=50ms")
    check(os.stat(path).st_mode & 0o7777 == 0o600, "its mode")
    check(ask(server, "status")["audit"] == path, "status")
    c = connect(server.url)
    number = int(lib.session_of(server, c))
    who = {"session": number, "identity": "uid:%d" % ME, "uid": ME}
    opened = until(path, "session-opened", session=number)
    check(without(opened, "peer") == {
        **who, "listener": server.url, "client": "t/sys"} and
          opened["peer"].startswith("127.0.0.1:"), "opened: %s" % opened)
    c.start("p", "sh", "-c", "echo hello; exec sleep 1000", "secret-word")
    c.note("process/output", "p")
    started = until(path, "process-started")
    check(without(started, "pid", "program") == {
        **who, "cwd": "/tmp", "terminal": False, "sandboxed": False},
        "%s" % started)
    check(started["pid"] == lib.pid_of(server, str(number), "p"), "its pid")
    check(re.fullmatch(r"/.*bin/sh", started["program"]), "its program")
    # How others ended, and what they used.
    c.start("three", "sh", "-c", "exit 3")
    three = until(path, "process-ended")
    check(without(three, "pid", "seconds", "cpu_ms", "peak_kib") ==
          {**who, "exit": 3} and three["peak_kib"] > 0, "%s" % three)
    c.start("killed", sys.executable, "-c", "import os, time\n"
            "while time.process_time() < 0.3: pass\n"
            "b = b'x' * (64 << 20)\nos.kill(os.getpid(), 9)")
    killed = wait_for(lambda: events(path, "process-ended")[1:], LIMIT,
                      "the second end")[0]
    check(killed["signal"] == 9 and "exit" not in killed and
          killed["cpu_ms"] >= 250 and killed["peak_kib"] >= 64 << 10,
          "%s" % killed)
    c.close()
    check(without(until(path, "session-detached")) == who, "detached")
    c = resume_in(server.url, c.session, LIMIT)
    resumed = until(path, "session-resumed")
    check(without(resumed, "peer") == {**who, "listener": server.url} and
          resumed["peer"] != opened["peer"], "resumed: %s" % resumed)
    c.call("session/close")
    ended = until(path, "session-ended")
    check(ended.get("user") == name_of(ME), "whose: %s" % ended)
    check(without(ended, "seconds", "cpu_ms", "bytes_in") == {
        **who, "why": "closed by its client", "processes": 3,
        "bytes_out": 6}, "ended: %s" % ended)
    # One that is kept by the master, twice; what it used is not forgotten.
    c = connect(server.url)
    number = int(lib.session_of(server, c))
    for name in "pq":
        c.run(name, "true")
        c.close()
        wait_for(lambda: ask(server, "show", str(number))["state"] == "kept",
                 LIMIT, "it is kept")
        c = resume_in(server.url, c.session, LIMIT)
    c.close()
    wait_for(lambda: ask(server, "show", str(number))["state"] == "kept",
             LIMIT, "it is kept")
    server.stop()
    ended = events(path, "session-ended")[-1]
    check(ended["session"] == number and ended["processes"] == 2 and
          ended["bytes_out"] == 0 and ended["why"] == "the server is stopping",
          "ended: %s" % ended)
    check([d["event"] for d in events(path)][0] == "server-started",
          "how it begins")
    stop = events(path)[-1]
    check(without(stop) == {} and stop["event"] == "server-stopped",
          "how it ends: %s" % stop)
    mine = [d["event"] for d in events(path) if d.get("session") == number]
    check(mine.count("session-detached") == 3 and
          mine.count("session-resumed") == 2 and
          mine.count("session-opened") == mine.count("session-ended") == 1,
          "events: %s" % mine)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check(c.session not in text and "secret-word" not in text and
          "hello" not in text, "it says too much: " + text)


def arguments():
    """Only where they are asked for; what is too long is cut."""
    path = path_of("arguments")
    server = Server("AuditLog=" + path, "LogArguments=yes")
    with connect(server.url) as c:
        argv = ["sh", "-c", ":", "a\n\"\x1b", "ä"]
        c.run("p", *argv)
        d = until(path, "process-started")
        check(d["arguments"] == argv and "cut" not in d, "%s" % d)
        c.run("q", "sh", "-c", ":", "x" * 20000, "y")
        d = wait_for(lambda: events(path, "process-started")[1:], LIMIT,
                     "the second")[0]
        check(d["arguments"] == argv[:3] and d["cut"] is True, "%s" % d)
        try:
            c.start("s", "no-such-program-at-all")
            check(False, "it was started")
        except RpcError:
            pass
        c.start("t", "cat", tty=True)
        d = wait_for(lambda: events(path, "process-started")[2:], LIMIT,
                     "the third")[0]
        check(d["terminal"] is True and d["arguments"] == ["cat"], "%s" % d)
    server.stop()


def refused():
    """Who is not let in."""
    path = path_of("refused")
    server = Server("AuditLog=" + path, "MaxSessions=1")
    with connect(server.url) as c:
        lib.session_of(server, c)       # the master counts it now
        late = Client(server.url)
        for _ in range(2):
            try:
                late.initialize()
                check(False, "one too many")
            except RpcError as e:
                check("too many" in str(e), "%s" % e)
        d = until(path, "session-refused")
        check(without(d, "peer") == {
            "identity": "uid:%d" % ME, "uid": ME, "listener": server.url,
            "why": "too many sessions"}, "%s" % d)
        ask(server, "drain")
        with Client(server.url) as another:
            try:
                another.initialize()
                check(False, "it drains")
            except RpcError:
                pass
        until(path, "session-refused", why="the server is draining")
        check(len(events(path, "session-refused")) == 2, "each once")
        late.close()
    server.process.wait(LIMIT)
    if ME != 0:
        return
    path = path_of("not_root")
    server = Server("AuditLog=" + path, "PermitRootSession=no")
    with dial(server.url) as sock:
        sock.sendall(upgrade_request())
        check(b" 403 " in sock.recv(4096), "it is let in")
    d = until(path, "session-refused", why="sessions as root are not permitted (PermitRootSession)")
    check(d["uid"] == 0, "%s" % d)
    server.stop()


def shown():
    """Tokens: by name if they are good, else by their source."""
    path, token = path_of("tokens"), tokens.new()
    server = Server("AuditLog=" + path, "RequireToken=always",
                    tokens.option("ci", token))
    connect(server.url, token=token).close()
    d = until(path, "token-accepted")
    check(without(d, "peer") == {
        "identity": "token:ci", "uid": tokens.UID, "listener": server.url},
        "%s" % d)
    until(path, "session-opened", identity="token:ci", uid=tokens.UID)
    wrong = tokens.new()
    for n in range(3):
        with dial(server.url) as sock:
            sock.sendall(upgrade_request(
                more="Authorization: Bearer %s\r\n" % wrong))
            check(b" 401 " in sock.recv(4096), "it is good")
    d = until(path, "token-refused")
    check(d["why"] == "wrong token" and d["count"] == 1 and
          d["peer"].startswith("127.0.0.1:"), "%s" % d)
    check(len(events(path, "token-refused")) == 1, "more than once a minute")
    server.stop()
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check(token not in text and wrong not in text, "a token is in there")


def operators():
    """Each use of power: who, what, to whom, and what came of it."""
    path = path_of("operators")
    server = Server("AuditLog=" + path)
    c = connect(server.url)
    number = lib.session_of(server, c)
    word = a_word("operators")
    c.start("p", "sh", "-c", "sleep %s & exec sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "two processes")
    by = {"by_uid": ME}
    to = {"session": int(number), "identity": "uid:%d" % ME, "uid": ME}

    def act(*args, status=0):
        """The one event of a command."""
        before = len(events(path, "control"))
        wrong = None
        try:
            ctl(server, *args, status=status)
        except AssertionError as e:
            wrong = e
        d = wait_for(lambda: events(path, "control")[before:], LIMIT,
                     "an event of %s" % args[0])[0]
        # It has a second for that, and a second try is another event.
        in_time("not answer" not in d.get("why", ""), "%s" % d)
        if wrong:
            raise wrong
        check(d["command"] == args[0] and d["by_pid"] > 0, "%s" % d)
        return without(d, "by_pid", "command")

    check(act("signal", number, "p", "CONT") == {
        **by, **to, "process": "p", "signal": 18, "result": "done"},
        "signal")
    check(act("signal", number, "no\nsuch", "9", status=1) == {
        **by, **to, "process": "no?such", "signal": 9, "result": "failed",
        "why": "no such process"}, "no such process")
    check(act("kill", "77", status=1) == {
        **by, "asked": "77", "result": "failed", "why": "no such session"},
        "no session")
    check(act("tail", c.session[:-1] + "!", "x\ny", status=1) == {
        **by, "asked": c.session[:15], "process": "x?y", "result": "failed",
        "why": "no such session"}, "no session by id")
    check(act("tail", number, "p") == {
        **by, **to, "process": "p", "result": "done"}, "tail")
    check(act("kill", number, "p") == {
        **by, **to, "process": "p", "result": "done", "gone": 2, "left": 0},
        "kill of a process")
    check(act("reload", status=0) == {**by, "result": "done"}, "reload")
    until(path, "configuration-read", result="done")
    check(act("reopen-logs") == {**by, "result": "done"}, "reopen-logs")
    until(path, "log-reopened")
    check(act("kill", number) == {
        **by, **to, "result": "done", "gone": 0, "left": 0}, "kill")
    until(path, "session-ended", why="killed by an operator")
    # To look is none, unless the session is somebody else's.
    before = len(events(path, "control"))
    with connect(server.url) as d:
        number = lib.session_of(server, d)
        for args in ("status",), ("sessions",), ("ps",), ("show", number):
            ask(server, *args)
        check(len(events(path, "control")) == before, "to look is an act")
        check(act("drain")["result"] == "done", "drain")
    server.process.wait(LIMIT)
    c.close()


def others():
    """Of somebody else's session, and by who may not."""
    if ME != 0:
        say("  left out: it takes root")
        return
    path = path_of("others")
    server = Server("AuditLog=" + path, "SessionUser=nobody")
    os.chmod(server.run + "/control.sock", 0o666)

    def as_nobody(*args):
        return subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
             BUILD + "/execsrvctl", "-R", server.run, *args],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=3 * LIMIT,
            check=False).returncode

    if as_nobody("status") != 0:
        skip("other users cannot run what was built")
    check(as_nobody("drain") == 4, "drain")
    d = until(path, "control", command="drain")
    check(without(d, "by_pid") == {
        "by_uid": 65534, "command": "drain", "result": "denied",
        "why": "only for root and the daemon's user"}, "%s" % d)
    check(as_nobody("reload") == 4, "reload")
    until(path, "control", command="reload", result="denied", by_uid=65534)
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        for command in ("kill", number), ("kill", number, "p"), \
                ("tail", number, "p"), ("signal", number, "p", "9"):
            before = len(events(path, "control"))
            check(as_nobody(*command) == 1, "%s" % (command,))
            d = wait_for(lambda: events(path, "control")[before:], LIMIT,
                         "an event of %s" % command[0])[0]
            more = {"process": "p"} if len(command) > 2 else {}
            more.update({"signal": 9} if len(command) > 3 else {})
            check(without(d, "by_pid") == {
                "by_uid": 65534, "command": command[0], "asked": number,
                "session": int(number), "identity": "uid:0", "uid": 65534,
                "result": "denied", "why": "it belongs to another user", **more},
                "%s" % d)
        check(server.has_logged("kill: is refused session %s: it belongs to uid 0" %
                                number), "nothing in the log")
        ask(server, "show", number)
    check(not [d for d in events(path, "control") if d["command"] == "show"],
          "root's own is another's")
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        c = connect(server.url)
        signal.pause()
    number = wait_for(lambda: [r["session"] for r in ask(server, "sessions")
                               if r["state"] == "attached"], LIMIT,
                      "a session of another")[0]
    ask(server, "show", str(number))
    d = until(path, "control", command="show")
    check(d["session"] == number and d["result"] == "done" and
          d["identity"] == "uid:65534", "%s" % d)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    server.stop()


def rotated():
    """No event is lost, and none is in both files."""
    path = path_of("rotated")
    server = Server("AuditLog=" + path)
    for n in range(5):
        os.rename(path, "%s.%d" % (path, n))
        os.kill(server.pid, signal.SIGUSR1)
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0,
                 LIMIT, "a new file")
        connect(server.url).close()
    # Where there can be none the old one is kept.
    os.rename(path, path + ".kept")
    os.mkdir(path)
    os.kill(server.pid, signal.SIGUSR1)
    wait_for(lambda: server.has_logged("the old file is used"), LIMIT,
             "a warning")
    connect(server.url).close()
    files = ["%s.%d" % (path, n) for n in range(5)] + [path + ".kept"]
    wait_for(lambda: text_of(files).count("session-detached") == 6, LIMIT,
             "the end of the last session")
    server.stop()
    os.rmdir(path)
    names = [d["event"] for d in judge(text_of(files))]
    check(names.count("log-reopened") == 5 and
          names.count("session-opened") == 6 and
          names[-1] == "server-stopped", "%s" % names)


def text_of(paths):
    text = ""
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text += f.read()
    return text


def unfit():
    """A daemon that is to keep one and cannot does not start."""
    linked, writable = path_of("linked"), path_of("writable")
    twice = path_of("twice")
    os.symlink(TMP + "/elsewhere", linked)
    for path in writable, twice:
        with open(path, "w", encoding="ascii"):
            os.chmod(path, 0o666 if path == writable else 0o600)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(twice + ".link")
    os.link(twice, twice + ".link")
    cases = [("somewhere", "expected none, syslog"), (TMP, "Is a directory"),
             (TMP + "/no/such/log", "No such file"),
             ("/dev/null", "Invalid argument"), (linked, "symbolic links"),
             (writable, "not permitted"), (twice, "not permitted")]
    for to, why in cases:
        r = subprocess.run(
            [BUILD + "/execsrvd", "-D", "--listen", "ws://127.0.0.1:0", "-o",
             "RuntimeDirectory=%s/unfit" % TMP, "-o", "AuditLog=" + to],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT * 3,
            check=False)
        status = 78 if to == "somewhere" or "/no/such" in to else 1
        check(r.returncode == status and why in r.stderr.decode() and
              r.stdout == b"", "%s: %r" % (to, r))
    check(not os.path.exists(TMP + "/elsewhere"), "through a link")
    r = subprocess.run([BUILD + "/execsrvd", "-t", "-o", "AuditLog=x"],
                       capture_output=True, check=False)
    check(r.returncode == 78 and b"AuditLog x" in r.stderr, "-t: %r" % r)


def full():
    """A full disk costs events, which are counted, and no session."""
    folder = tempfile.mkdtemp(dir=TMP)
    prefix = logging.inside("mount -t tmpfs -o size=16k none " + folder)
    if prefix is None:
        return
    # From outside it is seen by way of a process that is in there.
    path = folder + "/audit"
    server = Server("AuditLog=" + path, prefix=prefix)
    inside = "/proc/%d/root%s" % (server.pid, path)
    with connect(server.url) as c:
        for n in range(200):
            check(c.run("p%d" % n, "echo", "x") == (b"x\n", 0), "a command")
            if server.has_logged("events are lost"):
                break
        else:
            check(False, "16 KiB hold everything")
        status = ask(server, "status")
        check("events are lost: No space left" in status["audit"] and
              status["unaudited"] > 0, "status: %s" % status["audit"])
        judge(read_from(server, inside))
        before = status["unaudited"]
        c.run("more", "true")
        wait_for(lambda: ask(server, "status")["unaudited"] > before, LIMIT,
                 "another one")
        empty(server, inside)
        c.run("room", "true")
    wait_for(lambda: "session-detached" in read_from(server, inside), LIMIT,
             "events again")
    text = read_from(server, inside)
    first = json.loads(text.splitlines()[0])
    # A short line may have found room before, and told of those until then.
    check(first["event"] == "events-lost" and "No space" in first["why"] and
          0 < first["count"] <= ask(server, "status")["unaudited"],
          "%s" % first)
    wait_for(lambda: server.has_logged("events were lost"), LIMIT, "the log")
    check(ask(server, "status")["audit"] == path, "it is not well again")
    server.stop()


def read_from(server, inside):
    if ME == 0:
        with open(inside, encoding="utf-8") as f:
            return f.read()
    return run_in(server, 'cat "$0"', inside.split("/root", 1)[1])


def empty(server, inside):
    if ME == 0:
        os.truncate(inside, 0)
    else:
        run_in(server, ': >"$0"', inside.split("/root", 1)[1])


def run_in(server, script, path):
    r = subprocess.run(
        ["nsenter", "--user", "--mount", "--preserve-credentials", "-t",
         str(server.pid), "sh", "-c", script, path], capture_output=True,
        check=True)
    return r.stdout.decode()


def cut_off():
    """RLIMIT_FSIZE is no end of the daemon. It leaves room for the copy of
    the environment that sessions get."""
    path = path_of("short")
    room = 8192 + sum(len(os.fsencode(k + v)) + 2
                      for k, v in os.environ.items())
    server = Server("AuditLog=" + path,
                    prefix=("prlimit", "--fsize=%d" % room))
    with connect(server.url) as c:
        for n in range(room // 100):
            check(c.run("p%d" % n, "echo", "x") == (b"x\n", 0), "a command")
    wait_for(lambda: server.has_logged("events are lost"), LIMIT, "a warning")
    judge(whole(path))
    server.stop()


def syslog():
    """Datagrams of authpriv, and no daemon without somebody to send to."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o755)
    prefix = logging.inside_dev(folder)
    if prefix is None:
        return
    r = subprocess.run(
        [*prefix, BUILD + "/execsrvd", "-D", "--listen", "ws://127.0.0.1:0",
         "-o", "RuntimeDirectory=%s/nobody" % TMP, "-o", "AuditLog=syslog"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT * 3,
        check=False)
    check(r.returncode == 1 and b"AuditLog syslog" in r.stderr, "%s" % r)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(folder + "/log")
    os.chmod(folder + "/log", 0o666)
    lines = []
    reader = threading.Thread(target=logging.read_all, args=(sock, lines),
                              daemon=True)
    reader.start()
    server = Server("AuditLog=syslog", prefix=prefix)
    check(ask(server, "status")["audit"] == "syslog", "status")
    connect(server.url).close()
    wait_for(lambda: any("session-detached" in n for n in lines), LIMIT,
             "an event")
    server.stop()
    wait_for(lambda: any("server-stopped" in n for n in lines), LIMIT,
             "the last one")
    sock.shutdown(socket.SHUT_RD)
    reader.join()
    mark = re.compile(r"<85>execsrvd\[%d\]: (\{.*\})$" % server.pid)
    found = [mark.fullmatch(n) for n in lines]
    check(all(found), "%s" % lines)
    check([d["event"] for d in judge("".join(m.group(1) + "\n" for m in
                                             found))] ==
          ["server-started", "session-opened", "session-detached",
           "session-ended", "server-stopped"], "%s" % lines)
    sock.close()


def off():
    """Without one nothing is told, and workers are not asked."""
    server = Server()
    with connect(server.url) as c:
        c.run("p", "true")
    status = ask(server, "status")
    check(status["audit"] == "none" and status["unaudited"] == 0, "status")
    server.stop()


if __name__ == "__main__":
    main(sessions, arguments, refused, shown, operators, others, rotated,
         unfit, full, cut_off, syslog, off)
