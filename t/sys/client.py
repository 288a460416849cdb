"""For the whole-program tests: servers, and a small client of one thread.

A Client answers pings only while it pumps, and reads exactly as much as it is
told to: so that a test decides when a peer is silent and where it is cut.
"""
import atexit
import base64
import collections
import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
TMP = os.environ.get("TMPDIR", "/tmp")
SCALE = float(os.environ.get("T_SCALE", "1"))
SLOW = os.environ.get("SLOW") == "1"
SANITIZED = bool(os.environ.get("SANITIZERS"))
LIMIT = 60 * SCALE          # for anything that should be quick
TRIES = 5                   # for what is measured: the best one counts
SKIP = 77


# --- judging -----------------------------------------------------------------

def check(ok, text):
    if not ok:
        raise AssertionError(text)


class TooSlow(AssertionError):
    """What a machine that stood still brings about as well."""


def in_time(ok, text):
    """As check(), of a claim about time: another try may show it."""
    if not ok:
        raise TooSlow(text)


def skip(why):
    print(why)
    sys.exit(SKIP)


def say(text):
    print("%7.2f  %s" % (time.monotonic() - BEGAN, text), flush=True)


BEGAN = time.monotonic()


def wait_for(condition, seconds, what):
    """Poll a condition; its value when true."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < deadline, "not in %g s: %s" % (seconds, what))
        time.sleep(0.005)


# --- what the system says of processes --------------------------------------

def stat_of(pid):
    """Fields of /proc/PID/stat from the state on, or None."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii",
                  errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None


def is_alive(pid):
    s = stat_of(pid)
    return s is not None and s[0] not in "ZX"


def pids():
    return [int(n) for n in os.listdir("/proc") if n.isdigit()]


def listed(pid):
    """The children of each of its threads, as the kernel lists them, or
    nothing if it is gone."""
    out = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in os.listdir("/proc/%d/task" % pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open("/proc/%d/task/%s/children" % (pid, task),
                          encoding="ascii") as f:
                    out += map(int, f.read().split())
    return out


# Without CONFIG_PROC_CHILDREN: a look at all processes there are.
LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")


def children(pid):
    """The direct children of a process, zombies among them. To look at every
    process of a busy machine takes seconds, in which a test's own servers
    answer nobody."""
    if LISTS_CHILDREN:
        # One that is reaped meanwhile can hide the next (proc(5)).
        out, again = None, listed(pid)
        while out != again:
            out, again = again, listed(pid)
        return out
    return [p for p in pids() if int((stat_of(p) or "-0")[1]) == pid]


def descendants(pid):
    todo, out = [pid], []
    while todo:
        more = children(todo.pop())
        out += more
        todo += more
    return out


def zombies(pid):
    return [p for p in children(pid) if (stat_of(p) or "-")[0] == "Z"]


def signal_all(some, sig):
    """Those of them that are still there."""
    for pid in some:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)


def freeze(pid):
    """Stop it, and wait until it is."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: (stat_of(pid) or "-")[0] == "T", LIMIT, "it is stopped")


def links_of(pid):
    """{descriptor: what it is}, but for what is closed meanwhile; nothing of a
    process that is gone, as a spare worker may be at any time."""
    out = {}
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for n in os.listdir("/proc/%d/fd" % pid):
            with contextlib.suppress(FileNotFoundError):
                out[int(n)] = os.readlink("/proc/%d/fd/%s" % (pid, n))
    return out


def with_word(word):
    """Live processes that have a word in their command line."""
    out = []
    for p in pids():
        try:
            with open("/proc/%d/cmdline" % p, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if word.encode() in words and p != os.getpid() and is_alive(p):
            out.append(p)
    return out


def rss(pid):
    """Bytes of private memory: what counts against a machine."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(fields["RssAnon"].split()[0]) * 1024


def cpu(pid):
    """Seconds of processor time used."""
    s = stat_of(pid)
    return (int(s[11]) + int(s[12])) / os.sysconf("SC_CLK_TCK")


def fds(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def links(pid):
    """What its descriptors are."""
    return list(links_of(pid).values())


def is_listening(path):
    """Whether somebody listens at a socket of the file system."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
        return any(line.endswith(" %s\n" % path) and
                   int(line.split()[3], 16) & 0x10000 for line in f)


def a_word(name):
    """A number of seconds to sleep, found nowhere else."""
    a_word.last += 1
    return "%d.%d%d" % (90000 + a_word.last, os.getpid(), abs(hash(name)) % 99)


a_word.last = 0


# --- servers -----------------------------------------------------------------

def told(*words):
    """What execsrvctl says, which must succeed.  A daemon that stood still for
    longer than it waits is asked again."""
    for _ in range(TRIES):
        done = subprocess.run([BUILD + "/execsrvctl", *words], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        if done.returncode == 0 or "not answer" not in done.stderr:
            break
    check(done.returncode == 0, "%s" % done)
    return done.stdout


class Server:
    """execsrvd with a run directory of its own, or as options say."""
    count = 0
    all = []                    # whose log is of interest

    def __init__(self, *options, listen=("ws://127.0.0.1:0",), run=True,
                 env=None, prefix=(), program="execsrvd", args=(),
                 pass_fds=()):
        Server.count += 1
        self.log_path = "%s/server%d.log" % (TMP, Server.count)
        self.run = "%s/run%d" % (TMP, Server.count)
        argv = [*prefix, "%s/%s" % (BUILD, program), *args]
        if run:
            argv += ["-o", "RuntimeDirectory=" + self.run]
        for option in options:
            argv += ["-o", option]
        for url in listen:
            argv += ["--listen", url]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, env={**os.environ, **(env or {})},
                pass_fds=pass_fds)
        self.pid = self.process.pid
        Server.all = [self]
        atexit.register(self.kill)
        self.urls = []
        for url in listen:
            if url.startswith("ws:"):
                self.urls.append(self.line(LIMIT))
            else:
                self.urls.append(url)
                wait_for(lambda path=url[5:]: is_listening(path), LIMIT,
                         "the socket " + url)
        # The control socket comes after the others, and before the first line.
        if run and self.urls and not any(u.startswith("ws:")
                                         for u in self.urls):
            wait_for(lambda: is_listening(self.run + "/control.sock"), LIMIT,
                     "the control socket")
        self.url = self.urls[0] if self.urls else None
        self.rest = b""

    def line(self, seconds):
        """A line of standard output."""
        out, fd = b"", self.process.stdout.fileno()
        deadline = time.monotonic() + seconds
        while not out.endswith(b"\n"):
            left = deadline - time.monotonic()
            check(left > 0 and select.select([fd], [], [], left)[0],
                  "no line from the server")
            byte = os.read(fd, 1)
            check(byte, "the server ended: " + self.log())
            out += byte
        return out.decode().rstrip("\n")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def has_logged(self, text):
        return text in self.log()

    def status(self):
        """What `execsrvctl status` says, but for what is empty."""
        words = (line.split(None, 1) for line in
                 told("-R", self.run, "status").splitlines())
        return {w[0]: w[1] for w in words if len(w) == 2}

    def workers(self):
        """Idle workers and session workers; the template is one of them."""
        return [p for p in children(self.pid) if is_alive(p)]

    def kill(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, sig=signal.SIGTERM, limit=None):
        """Stop in order, in time if there is one; the seconds it took."""
        began = time.monotonic()
        self.process.send_signal(sig)
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s: not stopped in %g s" %
                                 (sig.name, LIMIT)) from None
        took = time.monotonic() - began
        check(status == 0, "stopped with status %s" % status)
        self.rest = self.process.stdout.read()
        in_time(limit is None or took <= limit * SCALE,
                "%s: stopped in %.2f s" % (sig.name, took))
        return took


def asleep(server, number):
    """So many children, none of which has anything to do; nor has it."""
    some = children(server.pid)
    return len(some) == number and all(
        (stat_of(p) or "-")[0] == "S" for p in [server.pid, *some])


def settled(server, spare=8):
    """Wait until only the template and the spare workers are left, and have
    told one another so: twice, as a look takes its time."""
    try:
        wait_for(lambda: asleep(server, spare + 1) and
                 asleep(server, spare + 1), LIMIT, "")
    except AssertionError:
        raise AssertionError("the pool is not back at its size: %d, not %d" %
                             (len(children(server.pid)), spare + 1)) from None


# --- the client --------------------------------------------------------------

class Closed(Exception):
    """The connection is over: a close code, or None."""

    def __init__(self, code, why):
        super().__init__("%s (%s)" % (why, code))
        self.code = code


class RpcError(Exception):
    def __init__(self, error):
        super().__init__("%s" % error)
        self.code = error["code"]
        self.text = error["message"]


def mask(key, data):
    n = len(data)
    pad = (key * (n // 4 + 1))[:n]
    return (int.from_bytes(data, "little") ^
            int.from_bytes(pad, "little")).to_bytes(n, "little")


def frame(op, data=b"", fin=True):
    n, key = len(data), os.urandom(4)
    head = bytes([(0x80 if fin else 0) | op])
    if n < 126:
        head += bytes([0x80 | n])
    elif n < 65536:
        head += bytes([0x80 | 126]) + struct.pack(">H", n)
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", n)
    return head + key + (mask(key, data) if n else b"")


def upgrade_request(host="localhost", more=""):
    return ("GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: %s\r\n%s\r\n" %
            (host, base64.b64encode(os.urandom(16)).decode(),
             more)).encode()


def dial(url, source=None, rcvbuf=None):
    """A connected socket."""
    if url.startswith("unix:"):
        sock, to = socket.socket(socket.AF_UNIX), url[5:]
    else:
        host, port = url[5:].rsplit(":", 1)
        sock = socket.socket(socket.AF_INET6 if "[" in host
                             else socket.AF_INET)
        to = (host.strip("[]"), int(port))
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    if source:
        sock.bind((source, 0))
    sock.settimeout(LIMIT)
    try:
        sock.connect(to)
    except OSError:
        sock.close()
        raise
    return sock


def held_port(host="127.0.0.1"):
    """A port, and a socket that keeps it: as long as that is open no other one
    is given the port, who connects to it is refused, and who asks for this very
    port can listen there."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, 0))
    return sock.getsockname()[1], sock


def reset(sock):
    """Close with a RST: what was not read is lost."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
    sock.close()


class Client:
    def __init__(self, url, source=None, rcvbuf=None, upgrade=True,
                 token=None):
        self.sock = dial(url, source, rcvbuf)
        self.buf = bytearray()
        self.notes = collections.deque()
        self.answers = {}
        self.pongs = 0
        self.last_id = 0
        self.parts = None
        self.ended = None
        self.session = None
        if upgrade:
            self.upgrade("" if token is None else
                         "Authorization: Bearer %s\r\n" % token)

    def upgrade(self, more=""):
        self.sock.sendall(upgrade_request(more=more))
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.sock.recv(4096)
            if not piece:
                raise Closed(None, "closed at the upgrade")
            head += piece
        head, _, rest = head.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Closed(None, head.split(b"\r\n")[0].decode())
        self.buf += rest

    # Sending

    def send(self, message):
        self.sock.sendall(frame(1, json.dumps(message).encode()))

    def request(self, method, params=None):
        """Send a request; its id."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method,
                   "params": params or {}})
        return self.last_id

    # Receiving

    def take(self, size=1 << 18):
        """One read of at most that many bytes; parse what is whole."""
        try:
            data = self.sock.recv(size)
        except ConnectionResetError:
            raise self.over(None, "reset") from None
        if not data:
            raise self.over(None, "end")
        self.buf += data
        self.parse()
        return len(data)

    def over(self, code, why):
        if self.ended is None:
            self.ended = Closed(code, why)
        return self.ended

    def parse(self):
        view, at, n = self.buf, 0, len(self.buf)
        while n - at >= 2:
            op, size, body = view[at] & 15, view[at + 1], at + 2
            if size == 126:
                body += 2
                size = int.from_bytes(view[at + 2:body], "big")
            elif size == 127:
                body += 8
                size = int.from_bytes(view[at + 2:body], "big")
            if n < body or n - body < size:
                break
            fin, at = view[at] & 0x80, body + size
            self.on_frame(op, fin, bytes(memoryview(view)[body:at]))
        del self.buf[:at]

    def on_frame(self, op, fin, data):
        if op == 9:
            with contextlib.suppress(OSError):
                self.sock.sendall(frame(10, data))
        elif op == 10:
            self.pongs += 1
        elif op == 8:
            code = int.from_bytes(data[:2], "big") if data else 1005
            with contextlib.suppress(OSError):
                self.sock.sendall(frame(8, data[:2]))
            self.over(code, "closed by the server")
        else:
            if op:
                self.parts = []
            self.parts.append(data)
            if fin:
                self.on_message(json.loads(b"".join(self.parts)))

    def on_message(self, m):
        if "method" in m:
            self.notes.append(m)
        else:
            check(m["id"] not in self.answers, "answered twice: %s" % m["id"])
            self.answers[m["id"]] = m

    def ready(self, seconds):
        return select.select([self.sock], [], [], max(0, seconds))[0]

    def pump(self, seconds=0.0):
        """Read for that long or until there is something to look at."""
        deadline = time.monotonic() + seconds
        while True:
            if self.ended:
                raise self.ended
            if not self.ready(deadline - time.monotonic()):
                return
            self.take()
            if self.notes or self.answers or seconds == 0:
                return

    def until(self, condition, seconds=LIMIT, what="an answer"):
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if self.ended:
                raise self.ended
            check(time.monotonic() < deadline and
                  self.ready(deadline - time.monotonic()),
                  "not in %g s: %s" % (seconds, what))
            self.take()

    def answer(self, number, seconds=LIMIT):
        m = self.until(lambda: self.answers.pop(number, None), seconds)
        if "error" in m:
            raise RpcError(m["error"])
        return m["result"]

    def call(self, method, params=None, seconds=LIMIT):
        return self.answer(self.request(method, params), seconds)

    def note(self, method, process=None, seconds=LIMIT):
        """The next notification of that kind; those before it go."""
        def found():
            while self.notes:
                m = self.notes.popleft()
                if m["method"] == method and \
                        process in (None, m["params"].get("processId")):
                    return m["params"]
            return None
        return self.until(found, seconds, method)

    def wait_closed(self, seconds):
        """Whether the server ends the connection; nothing is answered."""
        deadline = time.monotonic() + seconds
        try:
            while self.ready(deadline - time.monotonic()):
                self.take()
        except Closed:
            return True
        except OSError:
            return True
        return False

    # The protocol

    def initialize(self, resume=None, seconds=LIMIT, **more):
        params = {"clientName": "t/sys", **more}
        if resume is not None:
            params["resumeSessionId"] = resume
        self.greeting = self.call("initialize", params, seconds)
        self.session = self.greeting["sessionId"]
        check(resume in (None, self.session), "another session id")
        self.send({"method": "initialized", "params": {}})
        return self

    def start(self, process, *argv, wait=True, **more):
        number = self.request("process/start", {
            "processId": process, "argv": list(argv), "cwd": "file:///tmp",
            "env": {"PATH": os.environ["PATH"]}, "tty": False,
            "pipeStdin": False, "arg0": None, **more})
        return self.answer(number) if wait else number

    def run(self, process, *argv, seconds=LIMIT):
        """Start a command and wait until it is closed; (output, status)."""
        self.start(process, *argv)
        out, status = b"", None
        while True:
            self.until(lambda: self.notes, seconds)
            m = self.notes.popleft()
            if m["params"]["processId"] != process:
                continue
            if m["method"] == "process/output":
                out += base64.b64decode(m["params"]["chunk"])
            elif m["method"] == "process/exited":
                status = m["params"]["exitCode"]
            elif m["method"] == "process/closed":
                return out, status

    def close(self):
        self.sock.close()

    def reset(self):
        reset(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def connect(url, resume=None, source=None, rcvbuf=None, token=None, **more):
    """A client with a session, ready to be used."""
    c = Client(url, source, rcvbuf, token=token)
    try:
        return c.initialize(resume, **more)
    except BaseException:
        c.close()
        raise


def resume_in(url, session, seconds, **more):
    """Resume as the stock client does: again after -32010."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return connect(url, session, **more)
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
            check(time.monotonic() < deadline,
                  "still attached after %g s" % seconds)
        time.sleep(0.02)


def probe(url, seconds=None, source=None):
    """Run a session with a command; the seconds it took."""
    began = time.monotonic()
    with connect(url, source=source) as c:
        out, status = c.run("probe", "echo", "hello")
    check((out, status) == (b"hello\n", 0), "probe: %r %s" % (out, status))
    took = time.monotonic() - began
    in_time(seconds is None or took <= seconds * SCALE,
            "the probe took %.2f s" % took)
    return took


def worker_of(server, client, process="who"):
    """The pid of the worker that serves a client."""
    out, _ = client.run(process, "sh", "-c", "echo $PPID")
    pid = int(out)
    check(pid in server.workers(), "who serves?")
    return pid


def in_groups():
    """Be in groups, which servers that are started then have as well: those that
    run as somebody else must not."""
    if os.geteuid() == 0:
        os.setgroups([0, 1, 4711])


def tried(test):
    """Run it, again if it was too slow."""
    for _ in range(TRIES - 1):
        try:
            return test()
        except TooSlow as e:
            say("  again: %s" % e)
    return test()


def main(*tests):
    """Run the functions of a script, those named on the command line only."""
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")]
    for test in tests:
        if chosen and test.__name__ not in chosen:
            continue
        say(test.__name__)
        try:
            tried(test)
        except Exception:
            for server in Server.all:
                print("--- %s\n%s" % (server.log_path,
                                      server.log()[-3000:]), flush=True)
            raise
    say("done")
