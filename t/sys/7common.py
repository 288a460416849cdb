"""What the 7xx tests share: execsrvctl, also on a terminal; HTTP requests."""
import fcntl
import json
import os
import select
import struct
import subprocess
import termios
import time

from client import BUILD, LIMIT, check, dial, wait_for

CTL = BUILD + "/execsrvctl"


def ctl(server, *args, status=0, env=None):
    """Run execsrvctl; what it says on standard output. A server that stood
    still is asked again."""
    for _ in range(5):
        done = subprocess.run([CTL, "-R", server.run, *args], env=env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=3 * LIMIT, check=False)
        if done.returncode == status or \
                b"not answer" not in done.stderr:
            break
    check(done.returncode == status, "%s: status %d, not %d: %r %r" %
          (" ".join(args), done.returncode, status, done.stdout, done.stderr))
    ctl.err = done.stderr.decode()
    return done.stdout


def ask(server, *args, status=0):
    """The same, with JSON, which is taken apart."""
    return json.loads(ctl(server, "--json", *args, status=status))


def session_of(server, client):
    """The number of a client's session, of which the master hears soon."""
    found = wait_for(lambda: [r["session"] for r in ask(server, "sessions")
                              if r["id"] == client.session], LIMIT,
                     "a session")
    return str(found[0])


def pid_of(server, session, process):
    """The process id of what a client calls so."""
    found = wait_for(lambda: [r["pid"] for r in ask(server, "ps", session)
                              if r["process"] == process], LIMIT, "a process")
    check(len(found) == 1, "processes: %s" % found)
    return found[0]


class Terminal:
    """A program in front of a terminal."""

    def __init__(self, *argv, size=(24, 80), env=None):
        self.fd, slave = os.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", *size, 0, 0))
        self.text = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            os.execve(argv[0], argv, {**os.environ, "TERM": "xterm",
                                      **(env or {})})

    def type(self, text):
        os.write(self.fd, text)

    def read(self, seconds):
        """Whether there was something to read."""
        if not select.select([self.fd], [], [], max(0, seconds))[0]:
            return False
        self.text += os.read(self.fd, 65536)
        return True

    def until(self, what):
        """Read until it shows that; what was shown up to there."""
        deadline = time.monotonic() + LIMIT
        while what not in self.text:
            check(self.read(deadline - time.monotonic()),
                  "no %r, but %r" % (what, self.text))
        shown, self.text = self.text.split(what, 1)
        return shown

    def end(self):
        """Wait until it ends; its status and the rest of what it shows."""
        deadline = time.monotonic() + LIMIT
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            while self.read(0):
                pass
            if pid:
                break
            check(time.monotonic() < deadline, "it does not end")
            self.read(0.02)
        check(termios.tcgetattr(self.slave) == self.before,
              "the terminal is not as it was")
        os.close(self.slave)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status), self.text


def http(url, path, method="GET", host="localhost", more=""):
    """One request; its status, its head in small letters, its body."""
    where = "ws:" + url[5:] if url.startswith("http:") else url
    with dial(where) as sock:
        sock.sendall(("%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" %
                      (method, path, host, more)).encode())
        answer = b""
        while True:
            piece = sock.recv(65536)
            if not piece:
                break
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, body
