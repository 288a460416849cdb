"""932: transcripts of sessions."""
import base64
import importlib
import json
import os
import pwd
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time

from client import (BUILD, LIMIT, TMP, Server, check, connect, is_alive, main,
                    resume_in, say, wait_for, worker_of)

lib = importlib.import_module("7common")
logging = importlib.import_module("960-logging")
ctl, ask = lib.ctl, lib.ask

ME = os.geteuid()
NOBODY = 65534


# --- reading them ------------------------------------------------------------

class Cast:
    """An asciicast of version 2, read as strictly as its rules are."""

    def __init__(self, text):
        check(text.endswith("\n"), "half a line: %r" % text[-100:])
        lines = text.split("\n")[:-1]
        self.head = json.loads(lines[0])
        check(type(self.head) is dict and self.head["version"] == 2, "head")
        check(set(self.head) <= {"version", "width", "height", "timestamp",
                                 "title", "command"}, "%s" % self.head)
        for key in "width", "height", "timestamp":
            check(type(self.head[key]) is int and self.head[key] > 0, key)
        check(abs(self.head["timestamp"] - time.time()) < 600, "when")
        self.output, self.sizes, self.marks, last = "", [], [], 0.0
        for line in lines[1:]:
            event = json.loads(line)
            check(type(event) is list and len(event) == 3, line)
            when, code, data = event
            check(type(when) is float and when >= last, "time: " + line)
            check(code in ("o", "r", "m") and type(data) is str, line)
            last = when
            if code == "o":
                self.output += data
            elif code == "r":
                check(re.fullmatch(r"[1-9]\d*x[1-9]\d*", data), line)
                self.sizes.append(data)
            else:
                self.marks.append(data)


class Lines:
    """What pipes said, by process."""

    def __init__(self, text):
        check(text.endswith("\n"), "half a line: %r" % text[-100:])
        lines = [json.loads(n) for n in text.split("\n")[:-1]]
        self.head = lines[0]
        check(list(self.head) == ["timestamp", "session"], "%s" % self.head)
        self.out, self.err, self.code, self.starts = {}, {}, {}, {}
        self.cut, last = None, 0.0
        for d in lines[1:]:
            check(type(d["t"]) is float and d["t"] >= last, "%s" % d)
            last = d["t"]
            if d.get("event") == "cut":
                self.cut = d["why"]
                continue
            name = d["process"]
            if "event" not in d:
                check(len(d) == 4 and d["stream"] in ("stdout", "stderr"),
                      "%s" % d)
                data = d["data"].encode() if "data" in d else \
                    base64.b64decode(d["base64"], validate=True)
                to = self.out if d["stream"] == "stdout" else self.err
                to[name] = to.get(name, b"") + data
            elif d["event"] == "start":
                self.starts[name] = d
            else:
                check(d["event"] == "exit", "%s" % d)
                self.code[name] = d["code"]


def read(path):
    with open(path, "rb") as f:
        return f.read().decode()        # strict: it is UTF-8


def folder_of(server, session):
    return ask(server, "show", session)["transcript"] or None


def files(folder):
    return sorted(os.listdir(folder), key=lambda n: int(n.split(".")[0]))


def until(path, *texts):
    """What is in there as soon as all of that is: a file may come late."""
    wait_for(lambda: os.path.exists(path) and
             all(text in read(path) for text in texts), LIMIT,
             "%s in %s" % (texts, path))
    return read(path)


def new_dir(name):
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o755)
    return "%s/%s" % (folder, name)


# --- tests -------------------------------------------------------------------

def terminals():
    top = new_dir("t")
    server = Server("Transcript=pty", "TranscriptDir=" + top)
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        check(folder_of(server, number) is None, "before there is one")
        c.run("pipe", "echo", "nobody writes that")
        check(folder_of(server, number) is None, "of a pipe")
        c.start("p", "sh", "-c", "stty -echo; printf 'caf\\303\\251\\n'; "
                "read secret; stty size; printf '\\342\\202'; sleep 0.1; "
                "printf '\\254 \\377.'; exit 3", "a-word", tty=True,
                ptySize={"rows": 40, "cols": 132})
        until_output(c, "p", "é")
        folder = folder_of(server, number)
        check(re.fullmatch(re.escape(top) + r"/%d/\d{8}T\d{6}\.\d{3}Z-%d-%s" %
                           (ME, server.pid, number), folder), folder)
        check(files(folder) == ["1.cast"], "%s" % files(folder))
        c.call("process/resize", {"processId": "p", "rows": 24, "cols": 80})
        c.call("process/write", {
            "processId": "p", "writeId": "w",
            "chunk": base64.b64encode(b"my password\n").decode()})
        c.note("process/closed", "p")
        text = until(folder + "/1.cast", "exit 3", "\ufffd")
        cast = Cast(text)
        check((cast.head["width"], cast.head["height"]) == (132, 40),
              "%s" % cast.head)
        check(cast.output == "café\r\n24 80\r\n€ \ufffd.", "%r" % cast.output)
        check(cast.sizes == ["80x24"] and cast.marks == ["exit 3"],
              "%s %s" % (cast.sizes, cast.marks))
        check("password" not in text and "a-word" not in text, text)
        # Another one, another file.
        c.start("q", "echo", "again", tty=True)
        c.note("process/closed", "q")
        check(Cast(until(folder + "/2.cast", "exit 0")).output ==
              "again\r\n", "2.cast")
        check(server.workers() and not held(worker_of(server, c), folder),
              "files are left open")
    server.stop()


def until_output(c, process, text):
    said = b""
    while text.encode() not in said:
        said += base64.b64decode(c.note("process/output", process)["chunk"])


def held(pid, folder):
    """The files below a folder that a process has open."""
    out = []
    for n in os.listdir("/proc/%d/fd" % pid) if ME == 0 else ():
        try:
            path = os.readlink("/proc/%d/fd/%s" % (pid, n))
        except OSError:
            continue
        if path.startswith(folder):
            out.append(path)
    return out


def pipes():
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    "LogArguments=yes")
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        c.run("a", "sh", "-c", "printf 'x\\303'; sleep 0.1; "
              "printf '\\244\\n'; echo oops >&2; exit 5")
        folder = folder_of(server, number)
        blob = bytes(range(256)) * 300
        out, status = c.run("b", sys.executable, "-c",
                            "import sys; sys.stdout.buffer.write("
                            "bytes(range(256)) * 300)")
        check((out, status) == (blob, 0), "the client's own")
        c.start("tty", "true", tty=True)
        c.note("process/closed", "tty")
        c.run("x" * 1000, "echo", "long")
        wait_for(lambda: files(folder) == ["1.jsonl", "2.cast"], LIMIT,
                 "two files")
        text = Lines(read(folder + "/1.jsonl"))
        check(text.out["a"] == "xä\n".encode() and
              text.err["a"] == b"oops\n" and text.code["a"] == 5,
              "%s %s" % (text.out["a"], text.err))
        check(text.out["b"] == blob and text.code["b"] == 0, "bytes")
        check(text.head["session"] == int(number), "%s" % text.head)
        check(text.starts["a"]["arguments"][:2] == ["sh", "-c"], "arguments")
        long = [n for n in text.starts if n.startswith("pid ")]
        check(len(long) == 1 and text.out[long[0]] == b"long\n", "%s" % long)
        check(Cast(until(folder + "/2.cast", "exit 0")).head["command"] ==
              "true", "tty")
        # As it is written: who looks finds all that was said so far.
        c.start("c", "sh", "-c", "echo now; exec sleep 1000")
        c.note("process/output", "c")
        check(Lines(until(folder + "/1.jsonl", "now")).out["c"] == b"now\n",
              "while it runs")
    server.stop()


def flood():
    """A lot of it, also before the file is there."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    "TranscriptMax=1G")
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        size = 2 << 20
        for name, tty in ("p", False), ("t", True):
            c.start(name, "head", "-c", str(size), "/dev/zero", tty=tty)
            seen = 0
            while seen < size:
                seen += len(base64.b64decode(
                    c.note("process/output", name)["chunk"]))
            c.note("process/closed", name)
        folder = folder_of(server, number)
        check(Lines(read(folder + "/1.jsonl")).out["p"] == bytes(size),
              "pipe")
        check(Cast(until(folder + "/2.cast", "exit 0")).output ==
              "\0" * size, "tty")
    server.stop()


def enough():
    """The end of one that is cut says so; the session goes on."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    "TranscriptMax=20K", "ClosedProcessTtl=50ms")
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        c.start("tty", "cat", tty=True)
        c.run("p", "head", "-c", "5000", "/dev/zero")       # six times as much
        folder = folder_of(server, number)
        check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
        check(Lines(read(folder + "/1.jsonl" if "1.jsonl" in files(folder)
                         else folder + "/2.jsonl")).cut == "TranscriptMax",
              "the end of the pipes'")
        check(Cast(read(folder + "/1.cast")).marks == ["cut: TranscriptMax"],
              "the end of the terminal's")
        c.start("more", "echo", "y", tty=True)
        c.note("process/closed", "more")
        check(len(files(folder)) == 2, "%s" % files(folder))
        size = sum(os.path.getsize(folder + "/" + n) for n in files(folder))
        check(size <= 20480, "size: %d" % size)
        check(server.log().count("transcripts end: TranscriptMax") == 1,
              "the log: " + server.log())
    server.stop()


def over_workers():
    """A session has that much in all, also when its worker is another one."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    "TranscriptMax=10K", "ClosedProcessTtl=50ms")
    c = connect(server.url)
    number = lib.session_of(server, c)
    for n in range(30):
        # Without output, which nobody acknowledges: it would stay for it.
        c.run("p%d" % n, "true")
        folder = folder_of(server, number)
        c.close()
        wait_for(lambda: ask(server, "show", number)["state"] == "kept",
                 LIMIT, "it is kept")
        c = resume_in(server.url, c.session, LIMIT)
    check(2 < len(files(folder)) < 30, "%s" % files(folder))
    size = sum(os.path.getsize(folder + "/" + n) for n in files(folder))
    check(size <= 10240, "size: %d" % size)
    c.close()
    server.stop()


def as_user(uid, script, *words):
    return subprocess.run(
        ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups",
         "sh", "-c", script, "sh", *words], capture_output=True, check=False)


# What who is $1 may not do to a folder and a file in it that tell of him.
FORGERIES = ("echo more >>$1/1.cast", "chmod u+w $1/1.cast", ": >$1/1.cast",
             "chown $(id -u) $1/1.cast", "touch $1/9.cast", "rm $1/1.cast",
             "mkdir $1/../more", "mv $1 $1.old", "chmod u+w $1",
             "chmod u+w $1/..", "setfacl -m u:$(id -u):rw $1/1.cast",
             "ln $1/1.cast $2/link && echo more >>$2/link",
             "touch -d 2001-01-01 $1/1.cast", "touch $1/1.cast")


def owners():
    """Whom it is about reads it, and nobody else; nobody changes it."""
    if ME != 0:
        say("  left out: it takes root")
        return
    top = new_dir("t")
    # As a server before this one made it.
    os.makedirs("%s/%d" % (top, NOBODY))
    os.chmod(top, 0o711)
    os.chmod("%s/%d" % (top, NOBODY), 0o755)
    server = Server("Transcript=pty", "TranscriptDir=" + top,
                    "SessionUser=nobody")
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        c.start("p", "sh", "-c", "echo mine; exec sleep 1000", tty=True)
        until_output(c, "p", "mine")
        folder = folder_of(server, number)
        path = folder + "/1.cast"
        before = until(path, "mine")
        for at, rights in ((path, 0o440), (folder, 0o750),
                           (os.path.dirname(folder), 0o750), (top, 0o711)):
            st = os.stat(at)
            check((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) ==
                  (0, 0, rights), "%s: %s" % (at, st))
        for uid, works in ((pwd.getpwnam("nobody").pw_uid, True), (1, False)):
            for script in ("cat $1/1.cast", "ls $1", "ls $1/..", "test -e $1"):
                r = as_user(uid, script, folder)
                check((r.returncode == 0) == works, "uid %d: %s: %s" %
                      (uid, script, r))
            check(as_user(uid, "ls $1", top).returncode != 0, "all names")
            for script in FORGERIES:
                r = as_user(uid, script, folder, TMP)
                check(r.returncode != 0, "uid %d: %s" % (uid, script))
        check(read(path) == before, "it was changed")
        # A command of the session has no way to it either.
        out, _ = c.run("q", "sh", "-c", "ls -l /proc/self/fd /proc/$PPID/fd")
        check(folder.encode() not in out, "%s" % out)
    server.stop()


def no_acls():
    """Where the file system has none the daemon's user reads it, nobody else,
    and the log says so once."""
    if ME != 0:
        say("  left out: it takes root")
        return
    top = new_dir("t")
    os.mkdir(top)
    r = subprocess.run(["mount", "-t", "ramfs", "none", top],
                       capture_output=True, check=False)
    if r.returncode != 0:
        say("  left out: no file system without ACLs")
        return
    try:
        server = Server("Transcript=pty", "TranscriptDir=" + top,
                        "SessionUser=nobody")
        with connect(server.url) as c:
            for n in range(2):
                c.start("p%d" % n, "echo", "mine", tty=True)
                c.note("process/closed", "p%d" % n)
            folder = folder_of(server, lib.session_of(server, c))
            until(folder + "/2.cast", "mine")
            check(as_user(NOBODY, "cat $1/1.cast", folder).returncode != 0,
                  "somebody reads it")
            check(server.log().count("does not support ACLs") == 1, server.log())
        server.stop()
    finally:
        subprocess.run(["umount", "-l", top], check=True)


def matched():
    """For some clients only."""
    top = new_dir("t")
    conf = TMP + "/matched.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write("Listen ws://127.0.0.1:0\nTranscriptDir %s\n"
                "Listen unix:%s/door\nMatch Listener unix:*\n"
                "\tTranscript all\n\tTranscriptMax 1M\n" % (top, TMP))
    server = Server(listen=("ws://127.0.0.1:0", "unix:%s/door" % TMP),
                    args=("-D", "-f", conf))
    for url, has in zip(server.urls, (False, True)):
        with connect(url) as c:
            number = lib.session_of(server, c)
            c.run("p", "echo", "x")
            check((folder_of(server, number) is not None) == has, url)
    server.stop()
    os.unlink(conf)


def wrong():
    """What cannot be is told before anybody relies on it."""
    writable = new_dir("w")
    os.mkdir(writable)
    os.chmod(writable, 0o777)
    link = new_dir("l")
    os.symlink("/tmp", link)
    file = new_dir("f")
    with open(file, "w", encoding="ascii"):
        pass
    cases = [((), "the absolute path", 78),
             ((writable,), "not permitted", 0), ((link,), "directory", 0),
             ((file,), "directory", 0), ((TMP + "/no/such",), "No such", 78)]
    if os.geteuid() == 0:
        others = new_dir("o")
        os.mkdir(others)
        os.chmod(others, 0o755)
        os.chown(others, 65534, 65534)
        cases.append(((others,), "not permitted", 0))
    for at, why, test in cases:
        options = ["-o", "Transcript=pty"]
        for path in at:
            options += ["-o", "TranscriptDir=" + path]
        r = subprocess.run(
            [BUILD + "/execsrvd", "-D", "--listen", "ws://127.0.0.1:0", "-o",
             "RuntimeDirectory=%s/wrong" % TMP, *options],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT * 3,
            check=False)
        check(r.returncode == (test or 1) and why in r.stderr.decode(),
              "%s: %r" % (at, r))
        r = subprocess.run([BUILD + "/execsrvd", "-t", *options],
                           capture_output=True, check=False)
        check(r.returncode == test, "%s: -t: %r" % (at, r))
    # In the middle of it nothing changes, and the session goes on.
    top = new_dir("t")
    conf = TMP + "/wrong.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write("Transcript all\nTranscriptDir %s\n" % top)
    server = Server(args=("-D", "-f", conf))
    with open(conf, "a", encoding="ascii") as f:
        f.write("Match all\n\tTranscript somewhat\n")
    ctl(server, "reload", status=1)
    with open(conf, "w", encoding="ascii") as f:
        f.write("Transcript all\nTranscriptDir %s\n" % writable)
    ctl(server, "reload", status=1)
    check("TranscriptDir" in ctl.err, ctl.err)
    os.chmod(top, 0o777)
    with connect(server.url) as c:
        check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
        wait_for(lambda: server.has_logged("transcripts end: Operation not"),
                 LIMIT, "a line about it")
        check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    server.stop()
    os.unlink(conf)


def full():
    """A full disk ends transcripts, not sessions."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o755)
    prefix = logging.inside("mount -t tmpfs -o size=64k,mode=755 none " +
                            folder)
    if prefix is None:
        return
    server = Server("Transcript=all", "TranscriptDir=%s/t" % folder,
                    prefix=prefix)
    with connect(server.url) as c:
        out, _ = c.run("p", "sh", "-c", "head -c 200000 /dev/zero | "
                       "tr '\\0' x; echo done")
        check(out.endswith(b"xdone\n") and len(out) == 200005, "output")
        check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
        check(server.log().count("transcripts end: No space left") == 1,
              "the log: " + server.log())
    server.stop()


def short():
    """RLIMIT_FSIZE of the daemon is no end of a session."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    prefix=("prlimit", "--fsize=3000"))
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        for n in range(5):
            out, _ = c.run("p%d" % n, "sh", "-c", "head -c 1000 /dev/zero | "
                           "tr '\\0' x")
            check(out == b"x" * 1000, "output")
        wait_for(lambda: server.has_logged("transcripts end: File too large"),
                 LIMIT, "a line about it")
        text = Lines(read(folder_of(server, number) + "/1.jsonl"))
        check(text.out["p0"] == b"x" * 1000, "what was before")
        # And commands die of it as ever.
        check(c.run("q", "grep", "SigIgn", "/proc/self/status")[0].split()[1]
              .strip(b"0") == b"", "commands ignore signals")
    server.stop()


def master_dies():
    """Nobody makes files any more, not even a next master; those that are
    there go on."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top,
                    "OrphanTtl=0")
    c = connect(server.url)
    number = lib.session_of(server, c)
    c.start("p", "sh", "-c", "echo one; read x; echo two", pipeStdin=True)
    until_output(c, "p", "one")
    path = folder_of(server, number) + "/1.jsonl"
    until(path, "one")
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()
    c.call("process/write", {"processId": "p", "writeId": "w",
                             "chunk": base64.b64encode(b"\n").decode()})
    c.note("process/closed", "p")
    check(Lines(until(path, "exit")).out["p"] == b"one\ntwo\n", "the rest")
    c.start("t", "echo", "three", tty=True)
    c.note("process/closed", "t")
    check(server.log().count("transcripts end: the server has died") == 1,
          "the log: " + server.log())
    check(Lines(read(path)).cut == "the server has died", "its end")
    c.call("session/close")
    check(c.wait_closed(LIMIT), "it does not end")
    c.close()


def master_stops():
    """Output waits for a file, but not for ever."""
    top = new_dir("t")
    server = Server("Transcript=all", "TranscriptDir=" + top)
    with connect(server.url) as c:
        check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
        folder = folder_of(server, lib.session_of(server, c))
        until(folder + "/1.jsonl", "exit")
        os.kill(server.pid, signal.SIGSTOP)
        c.start("t", "sh", "-c", "head -c 1000000 /dev/zero; echo end",
                tty=True)
        until_output(c, "t", "end")
        os.kill(server.pid, signal.SIGCONT)
        check(server.log().count(
            "transcripts end: the server does not answer") == 1,
            "the log: " + server.log())
        # What comes late has what there was until then.
        cast = Cast(until(folder + "/2.cast", "does not answer"))
        check(cast.output.startswith("\0" * 1000) and
              "end" not in cast.output, "%r" % cast.output[-100:])
        check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
        check(Lines(read(folder + "/1.jsonl")).cut ==
              "the server does not answer", "its end")
    server.stop()


def off():
    top = new_dir("t")
    server = Server("TranscriptDir=" + top)
    with connect(server.url) as c:
        number = lib.session_of(server, c)
        c.start("p", "echo", "x", tty=True)
        c.note("process/closed", "p")
        check(folder_of(server, number) is None, "there is one")
    check(not os.path.exists(top), "its folder was made")
    server.stop()


if __name__ == "__main__":
    main(terminals, pipes, flood, enough, over_workers, owners,
         no_acls, matched, wrong, full, short, master_dies, master_stops, off)
