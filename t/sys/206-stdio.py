"""206: execsrvd --listen stdio."""
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid

lib = importlib.import_module("2common")
SERVER = [os.path.join(lib.BUILD, "execsrvd"), "--listen", "stdio"]
HELLO = (b'{"id":1,"method":"initialize","params":{"clientName":"t"}}\n'
         b'{"method":"initialized"}\n')
START = ('{"id":%d,"method":"process/start","params":{"processId":"p%d",'
         '"argv":%s,"cwd":"file:///tmp","env":%s,"tty":false,'
         '"pipeStdin":false,"arg0":null}}\n')


def start_line(number, argv, env=None):
    return (START % (number, number, json.dumps(argv),
                     json.dumps(env or {}))).encode()


def environment(shared=False):
    env = dict(os.environ)
    if not shared:
        env["EXECSRV_RUNTIME_DIR"] = os.path.join(lib.temp_dir(), "run")
    return env


class Stdio:
    def __init__(self, shared=False, log=None, **more):
        self.log = open(os.path.join(lib.temp_dir(), "log"), "w+b")
        self.child = subprocess.Popen(
            SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.log, env=environment(shared), bufsize=0, **more)
        self.rest = b""

    def send(self, data):
        self.child.stdin.write(data)

    def line(self):
        while b"\n" not in self.rest:
            data = self.child.stdout.read(65536)
            if not data:
                raise ConnectionError("the output ended: " + self.text())
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def until(self, want):
        while True:
            got = self.line()
            if want(got):
                return got

    def text(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()[-2000:]

    def end(self, what, limit=lib.LIMIT, code=0):
        """Its input is over (or it was told to stop): it must leave."""
        if not self.child.stdin.closed:
            self.child.stdin.close()
        try:
            got = self.child.wait(limit * lib.SCALE)
            lib.check(got == code, "%s: status %s, not %s: %s" % (
                what, got, code, self.text()))
        except subprocess.TimeoutExpired:
            lib.fail("%s: it does not end" % what)
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        self.log.close()


def answer(number):
    return lambda m: m.get("id") == number


def test_several(n=6):
    """At once, and all of one user: none is in another's way."""
    servers = [Stdio(shared=True) for _ in range(n)]
    marks = []
    for s in servers:
        marks.append("MARK" + uuid.uuid4().hex)
        s.send(HELLO + start_line(2, ["/bin/sh", "-c",
                                      "echo $0; setsid sleep 1000 & "
                                      "sleep 1000", marks[-1]],
                                  {"MARK": marks[-1],
                                   "PATH": os.environ["PATH"]}))
    for s, mark in zip(servers, marks):
        s.until(answer(2))
        s.until(lambda m: m.get("method") == "process/output")
        lib.check(lib.wait_until(lambda: len(lib.marked(mark)) >= 2),
                  "the processes do not run")
    # The end of input ends one of them with its processes, not the others.
    for i, (s, mark) in enumerate(zip(servers, marks)):
        s.end("server %d" % i)
        lib.check(lib.wait_until(lambda: not lib.marked(mark)),
                  "left behind: " + lib.describe(lib.marked(mark)))
        lib.kill_all(mark)
        for other in marks[i + 1:]:
            lib.check(lib.marked(other), "the end of one harms another")


def test_storm(rounds=25, workers=4):
    """They come and go at the same time, all in one run directory."""
    # Not root's: it may be in use by others.
    folder = lib.temp_dir(0o700)
    prefix, env = [], dict(os.environ, XDG_RUNTIME_DIR=folder)
    env.pop("EXECSRV_RUNTIME_DIR", None)
    if os.geteuid() == 0:
        os.chown(folder, lib.NOBODY, lib.NOBODY)
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534",
                  "--clear-groups"]
        if subprocess.run(prefix + ["test", "-x", SERVER[0]]).returncode:
            return
    bad = []

    def one():
        for _ in range(rounds):
            p = subprocess.run(prefix + SERVER, input=HELLO, env=env,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
            if p.returncode != 0 or b'"id":1' not in p.stdout:
                bad.append((p.returncode, p.stderr[-300:]))

    threads = [threading.Thread(target=one) for _ in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    lib.check(not bad, "%d of %d failed, the first: %s" % (
        len(bad), rounds * workers, bad[:1]))
    lib.check(not os.listdir(folder), "left in the run directory: %s" %
              os.listdir(folder))


def test_signals():
    for sig in (signal.SIGTERM, signal.SIGINT):
        mark = "MARK" + uuid.uuid4().hex
        s = Stdio()
        s.send(HELLO + start_line(2, ["sleep", "1000"],
                                  {"MARK": mark, "PATH": os.environ["PATH"]}))
        s.until(answer(2))
        s.child.send_signal(sig)
        try:
            s.child.wait(lib.LIMIT * lib.SCALE)
        except subprocess.TimeoutExpired:
            lib.fail("%s does not end it" % sig)
        lib.check(not lib.marked(mark), "%s: the process lives" % sig)
        lib.kill_all(mark)
        s.end(str(sig))


def run_with(stdin, data=b""):
    """(status, output) with that as standard input."""
    return subprocess.run(SERVER, stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment(),
                          timeout=lib.LIMIT * lib.SCALE)


def test_files():
    """A regular file as input is read to its end; /dev/null ends at once."""
    path = os.path.join(lib.temp_dir(), "input")
    with open(path, "wb") as file:
        file.write(HELLO + b'{"id":2,"method":"environment/status",'
                   b'"params":{}}\n')
    with open(path, "rb") as file:
        p = run_with(file)
    lib.check(p.returncode == 0, "a file: status %d: %s" % (
        p.returncode, p.stderr[-300:]))
    lib.check(b'"id":1' in p.stdout and b'"id":2' in p.stdout,
              "a file: answers %r, %s" % (p.stdout, p.stderr[-300:]))
    p = run_with(subprocess.DEVNULL)
    lib.check(p.returncode == 0 and p.stdout == b"",
              "/dev/null: status %d, %r %s" % (p.returncode, p.stdout,
                                               p.stderr[-300:]))
    # Output to a file as well.
    out = os.path.join(lib.temp_dir(), "output")
    with open(out, "wb") as file:
        p = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=file,
                             stderr=subprocess.PIPE, env=environment())
        p.communicate(HELLO, timeout=lib.LIMIT * lib.SCALE)
    with open(out, "rb") as file:
        lib.check(b'"id":1' in file.read() and p.returncode == 0,
                  "output to a file: status %d" % p.returncode)


def test_closed_input():
    """No descriptor 0 at all is an input at its end."""
    p = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh"] + SERVER,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env=environment(), timeout=lib.LIMIT * lib.SCALE)
    lib.check(p.returncode == 0, "no standard input: status %d: %s" % (
        p.returncode, p.stderr[-300:]))


def test_answers_before_end():
    """What was asked before the end of input is answered."""
    p = subprocess.run(SERVER, input=HELLO + b"".join(
        b'{"id":%d,"method":"environment/info","params":{}}\n' % n
        for n in range(2, 500)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(),
        timeout=lib.LIMIT * lib.SCALE)
    lines = p.stdout.decode().splitlines()
    lib.check(p.returncode == 0 and len(lines) == 499 and
              json.loads(lines[-1])["id"] == 499,
              "%d answers of 499, status %d" % (len(lines), p.returncode))


def test_closed_output():
    """Nobody reads any more: it ends, with its processes."""
    mark = "MARK" + uuid.uuid4().hex
    s = Stdio()
    s.send(HELLO + start_line(2, ["/bin/sh", "-c",
                                  "while sleep 0.05; do echo x; done"],
                              {"MARK": mark, "PATH": os.environ["PATH"]}))
    s.until(answer(2))
    s.child.stdout.close()
    try:
        s.child.wait(lib.LIMIT * lib.SCALE)
    except subprocess.TimeoutExpired:
        lib.fail("it goes on without a reader")
    lib.check(lib.wait_until(lambda: not lib.marked(mark)),
              "the process lives on without a reader")
    lib.kill_all(mark)
    s.end("closed output")


def test_blocking():
    """The starter's end of a terminal or pipe stays as it was: blocking."""
    import fcntl
    r, w = os.pipe()
    p = subprocess.Popen(SERVER, stdin=r, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, env=environment())
    os.write(w, HELLO)
    p.stdout.readline()
    os.close(w)
    p.wait(lib.LIMIT * lib.SCALE)
    p.stdout.close()
    flags = fcntl.fcntl(r, fcntl.F_GETFL)
    if flags & os.O_NONBLOCK:
        print("note: standard input is left non-blocking")
    os.close(r)


for test in (test_several, test_storm, test_signals, test_files,
             test_closed_input, test_answers_before_end, test_closed_output,
             test_blocking):
    began = time.monotonic()
    try:
        test()
    except Exception as e:          # the others are worth a look
        lib.fail("%s: %s: %s" % (test.__name__, type(e).__name__, e))
    print("%s %.1f s" % (test.__name__, time.monotonic() - began))
lib.finish()
