"""960: standard error, journal, syslog and file; text and JSON; reopening."""
import contextlib
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading

from client import (BUILD, LIMIT, TMP, Client, Server, check, connect,
                    in_time, links_of, main, say, wait_for)

ctl = importlib.import_module("7common").ctl

TTL = "DetachedTtl=100ms"
AS_ROOT = [] if os.geteuid() != 0 else ["PermitRootSession=yes",
                                        "RemoteUser=root"]
UPLINK = re.compile(r"<\d+>execsrvd\[\d+\]: uplink 1: ")
EVIL = "t\n\x1b[31mworker[1]: \\x \x9b\"end"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "


def path_of(name):
    path = "%s/%s" % (TMP, name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read().decode()       # strict: it is UTF-8


def session(url, name=EVIL):
    """A line with a text that the client chose, and one of its end."""
    with Client(url) as c:
        c.call("initialize", {"clientName": name})
        c.send({"method": "initialized", "params": {}})
        c.run("p", "true")


def until_logged(path, text):
    wait_for(lambda: text in read(path), LIMIT, "%s in %s" % (text, path))


def text_file():
    """Lines of all processes, none of the client's making."""
    path = path_of("log")
    server = Server(TTL, "LogTo=" + path, "LogLevel=debug")
    session(server.url)
    until_logged(path, "ended: ")
    server.stop()
    text = read(path)
    for line in text.splitlines():
        check(re.match(TIME + r"[a-z]+\[\d+\]( session \d+)?: \S", line),
              "not a line of ours: %r" % line)
        check(line.isprintable(), "%r" % line)
    # The worker has let no control character through; the log doubles "\\".
    check(r't??[31mworker[1]: \\x ??"end' in text,
          "the client's name is not there: " + text)
    for role in ("execsrvd[", "worker["):
        check(role in text, "no line of %s: %s" % (role, text))
    check(text.rstrip().endswith("stopped"), text)
    check(os.stat(path).st_mode & 0o7777 == 0o640, "its mode")
    # The next one goes on behind it.
    server = Server(TTL, "LogTo=" + path)
    server.stop()
    check(read(path).startswith(text) and len(read(path)) > len(text),
          "the old lines are gone")


def json_lines():
    for target in ("file", "stderr"):
        path = path_of("json")
        server = Server(TTL, *(["LogTo=" + path] if target == "file" else []),
                        "LogFormat=json", "LogLevel=debug")
        if target == "stderr":
            path = server.log_path
        session(server.url)
        until_logged(path, "ended: ")
        ctl(server, "reopen-logs")
        until_logged(path, "reopens the log files")
        server.stop()
        seen = set()
        for line in read(path).splitlines():
            d = json.loads(line)
            # Some have members of their own, behind the others.
            own = list(d)[list(d).index("message") + 1:]
            check(bool(own) == ("event" in d), line)
            check([k for k in d if k not in own] in (
                              ["time", "level", "role", "pid", "message"],
                              ["time", "level", "role", "pid", "session",
                               "message"]), line)
            check(re.fullmatch(TIME.strip(), d["time"]), line)
            check(d["level"] in ("error", "warning", "info", "debug"), line)
            seen.add((d["role"], d.get("session")))
            if d["message"].startswith("control: "):
                check(d["event"] == "control" and d["command"] ==
                      "reopen-logs" and d["uid"] == os.getuid() and
                      d["client_pid"] > 0, line)
            if "started: " in d["message"] and "session" in d:
                check(r't??[31mworker[1]: \x ??"end' in d["message"], line)
                check(d["event"] == "session-started" and
                      d["client"].startswith("t??[31m") and
                      d["uid"] == os.getuid(), line)
        check(("execsrvd", None) in seen and ("worker", 1) in seen,
              "%s" % seen)


def reopened():
    """As logrotate(8) does it: no line is lost, and none is in both."""
    path = path_of("rotated")
    server = Server(TTL, "LogTo=" + path)
    with connect(server.url) as c:
        until_logged(path, "started: ")
        for n in range(20):
            os.rename(path, "%s.%d" % (path, n))
            os.kill(server.pid, signal.SIGUSR1)
            wait_for(lambda: os.path.exists(path), LIMIT, "a new file")
        c.run("p", "true")
    # The worker's last line goes to the new one.
    until_logged(path, "ended: ")
    old = "".join(read("%s.%d" % (path, n)) for n in range(20))
    check(old.count("SIGUSR1") == 20 and "ended: " not in old, old)
    # Somebody cuts it off: no hole in the next line.
    os.truncate(path, 0)
    session(server.url, "later")
    until_logged(path, "ended: ")
    check("\0" not in read(path), "a hole")
    # Where there can be no file any more the old one is kept.
    os.rename(path, path + ".kept")
    os.mkdir(path)
    os.kill(server.pid, signal.SIGUSR1)
    until_logged(path + ".kept", "Is a directory")
    session(server.url, "after that")
    until_logged(path + ".kept", "after that")
    server.stop()
    os.rmdir(path)


def no_hold():
    """Nobody but the master can write to it, or cut it off."""
    path = path_of("held")
    server = Server(TTL, "LogTo=" + path)
    with connect(server.url) as c:
        out, _ = c.run("p", "sh", "-c", "echo $PPID; ls -l /proc/self/fd")
        for pid in server.workers() if os.geteuid() == 0 else []:
            check(path not in links_of(pid).values(), "%d has it open" % pid)
        check(os.geteuid() != 0 or path in links_of(server.pid).values(),
              "nobody has")
    check(path not in out.decode(), out.decode())
    server.stop()


def refused():
    for to, why in (("nowhere", "expected"), (TMP, "Is a directory"),
                    (TMP + "/no/such/log", "No such file"),
                    ("/dev/null", "Invalid argument"),
                    (path_of("link"), "symbolic links")):
        if to.endswith("/link"):
            os.symlink(TMP + "/elsewhere", to)
        r = subprocess.run(
            [BUILD + "/execsrvd", "-D", "--listen", "ws://127.0.0.1:0", "-o",
             "RuntimeDirectory=%s/refused" % TMP, "-o", "LogTo=" + to],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT * 3)
        # What a look at the folder shows is found by -t, too.
        bad = not to.startswith("/") or "/no/such" in to
        check(r.returncode == (78 if bad else 1) and
              why in r.stderr.decode(), "%s: %r" % (to, r))
        say("  " + r.stderr.decode().strip())
    check(not os.path.exists(TMP + "/elsewhere"), "through a link")


def inside(script):
    """A prefix that runs a script in namespaces of its own before it."""
    argv = ["unshare", "--mount"]
    if os.geteuid() != 0:
        argv += ["--user", "--map-current-user", "--keep-caps"]
    argv += ["sh", "-ec", script + '\nexec "$0" "$@"']
    if subprocess.run([*argv, "true"], capture_output=True,
                      check=False).returncode != 0:
        say("  left out: no mounts in namespaces")
        return None
    return argv


def inside_dev(folder):
    """The same, with a /dev that is a folder of ours: for its /dev/log."""
    return inside("""
cd %s
for n in null zero random urandom; do
    touch $n
    mount --bind /dev/$n $n
done
mount --rbind . /dev
cd /""" % folder)


def full():
    """A full disk costs lines, not the service."""
    folder = tempfile.mkdtemp(dir=TMP)
    prefix = inside("mount -t tmpfs -o size=8k none " + folder)
    if prefix is None:
        return
    server = Server(TTL, "LogTo=%s/log" % folder, "LogLevel=debug", prefix=prefix)
    for n in range(30):
        session(server.url, "%d" % n + "x" * 500)
    server.stop()


def until_came(lines, *conditions):
    """The queue of such a socket is short, and what does not fit while nobody
    has a turn to read is lost: then it is another try."""
    with contextlib.suppress(AssertionError):
        wait_for(lambda: all(any(c(n) for n in list(lines))
                             for c in conditions), LIMIT / 4, "lines")
        return
    in_time(False, "lines are lost: %s" % lines)


def read_all(sock, lines):
    while True:
        line = sock.recv(4096).decode()
        if not line:
            return
        lines.append(line)


def syslog():
    """Its datagrams, with the facility that was asked for."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o755)             # the uplink has another user
    prefix = inside_dev(folder)
    if prefix is None:
        return
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(folder + "/log")
    os.chmod(folder + "/log", 0o666)
    lines = []
    reader = threading.Thread(target=read_all, args=(sock, lines),
                              daemon=True)
    reader.start()
    server = Server(TTL, "LogTo=syslog", "SyslogFacility=local3",
                    *AS_ROOT, "Uplink=box",
                    "RegistryUrl=http://127.0.0.1:1", "EnvironmentId=e",
                    env={"CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN": "t"},
                    prefix=prefix)
    session(server.url)
    until_came(lines, lambda n: "worker session 1: started" in n,
               lambda n: "ended: " in n, UPLINK.match)
    server.stop()
    until_came(lines, lambda n: "execsrvd: stopping" in n,
               lambda n: "execsrvd: stopped" in n)
    sock.shutdown(socket.SHUT_RD)
    reader.join()
    for line in lines:
        # local3 is 19
        check(re.match(r"<15[2-9]>execsrvd\[\d+\]: ", line), line)
        check(line.isprintable(), line)
    check("session" not in server.log(), "as well on standard error")
    sock.close()


def journal():
    """Priorities, if it is really the journal that reads."""
    path = path_of("journal")
    with open(path, "wb") as f:
        st = os.fstat(f.fileno())
        for stream, mark in (("%d:%d" % (st.st_dev, st.st_ino), True),
                             ("%d:%d" % (st.st_dev, st.st_ino + 1), False)):
            p = subprocess.Popen(
                [BUILD + "/execsrvd", "-o", "RuntimeDirectory=%s/j" % TMP,
                 "-o", TTL, "--listen", "ws://127.0.0.1:0"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=f,
                env={**os.environ, "JOURNAL_STREAM": stream})
            try:
                session(p.stdout.readline().decode().strip(), "j")
                until_logged(path, "ended: ")
                p.terminate()
                check(p.wait(LIMIT) == 0, "ended with %s" % p.returncode)
            finally:
                if p.poll() is None:
                    p.kill()
                    p.wait()
                p.stdout.close()
            for line in read(path).splitlines():
                check(bool(re.match(r"<[3-7]>[a-z]+\[", line)) == mark, line)
            f.truncate(0)
            f.seek(0)


if __name__ == "__main__":
    main(text_file, json_lines, reopened, no_hold, refused, full, syslog,
         journal)
