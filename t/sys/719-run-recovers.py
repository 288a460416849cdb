"""execsrvctl run through a proxy that cuts the connection at random bytes, in
both directions: output and input arrive whole and once, the exit status too;
what cannot be resumed ends with one line.

CUTS=1000 for more; SEED=N repeats a run.
"""
import hashlib
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

from client import BUILD, LIMIT, Server, check, main, say, wait_for

CUTS = int(os.environ.get("CUTS", "25"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
rng = random.Random(SEED)


class Proxy:
    """Passes bytes on; each connection but the last ones has its measure."""

    def __init__(self, url, cuts, least, most):
        self.server = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.cuts, self.least, self.most = cuts, least, most
        self.connections = 0
        self.said = b""
        self.refuses = False
        self.lock = threading.Lock()
        self.live = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "ws://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            self.connections += 1
            left = [1 << 62]
            # The first one has none yet: see begun().
            if 1 < self.connections <= self.cuts:
                left = [rng.randrange(self.least, self.most)]
            threading.Thread(target=self.serve, args=(client, left),
                             daemon=True).start()

    def serve(self, client, left):
        with client, socket.create_connection(self.server) as server:
            pair = (client, server)
            self.live.add(pair)
            back = threading.Thread(target=self.pump, args=(*pair, left),
                                    daemon=True)
            back.start()
            self.pump(server, client, left)
            self.cut(pair)
            back.join()
            self.live.discard(pair)

    @staticmethod
    def cut(pair):
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut_all(self):
        for pair in list(self.live):
            self.cut(pair)

    def begun(self, data):
        """The measure of the first connection, once it has told the answers
        to "initialize" and "process/start": before that nothing can be
        resumed."""
        before = self.said.count(b'"result"')
        self.said += data if before < 2 else b""
        if before < 2 <= self.said.count(b'"result"') and self.cuts > 0:
            return [len(data) + rng.randrange(self.least, self.most)]
        return None

    def pump(self, source, sink, left):
        """Both directions share the measure."""
        try:
            while data := source.recv(65536):
                with self.lock:
                    if source.getpeername() == self.server:
                        left[:] = self.begun(data) or left
                    some = data[:max(left[0], 0)]
                    left[0] -= len(data)
                sink.sendall(some)
                if left[0] <= 0:
                    break
        except OSError:
            pass
        self.cut((source, sink))


def run(proxy, *argv, **how):
    return subprocess.Popen(
        [BUILD + "/execsrvctl", "run", "--patience", "200", "--url", proxy.url,
         "--", *argv],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def output():
    """Lines at full speed, and a status."""
    say("  SEED=%d" % SEED)
    proxy = Proxy(Server().url, CUTS, 200, 400000)
    lines = CUTS * 30000
    child = run(proxy, "sh", "-c", "seq %d; exit 7" % lines,
                stdin=subprocess.DEVNULL)
    out, err = child.communicate(timeout=LIMIT * 20)
    want = b"".join(b"%d\n" % i for i in range(1, lines + 1))
    say("  %d connections, %d bytes" % (proxy.connections, len(out)))
    check(err == b"", err)
    check(digest(out) == digest(want), "%d of %d bytes" %
          (len(out), len(want)))
    check(child.returncode == 7, child.returncode)
    check(proxy.connections > CUTS // 4, "hardly ever cut")


def both_ways():
    """What is typed comes back: nothing is written twice."""
    proxy = Proxy(Server().url, CUTS, 200, 200000)
    data = rng.randbytes(CUTS * 60000)
    child = run(proxy, "cat", stdin=subprocess.PIPE)
    out, err = child.communicate(data, timeout=LIMIT * 20)
    say("  %d connections" % proxy.connections)
    check(err == b"", err)
    check(digest(out) == digest(data), "%d of %d bytes" %
          (len(out), len(data)))
    check(child.returncode == 0, child.returncode)


def silent_command():
    """Cut while nothing is said; and the exit happened while cut off."""
    proxy = Proxy(Server().url, 0, 1, 2)
    child = run(proxy, "sh", "-c", "echo on; read x; echo got $x; exit 3",
                stdin=subprocess.PIPE)
    check(child.stdout.readline() == b"on\n", "no first line")
    proxy.refuses = True
    proxy.cut_all()
    child.stdin.write(b"word\n")
    child.stdin.flush()
    proxy.refuses = False
    out, err = child.communicate(timeout=LIMIT)
    check((out, err, child.returncode) == (b"got word\n", b"", 3),
          (out, err, child.returncode))
    check(proxy.connections == 2, proxy.connections)


def signals_later():
    """A signal that is sent while there is no connection arrives."""
    proxy = Proxy(Server().url, 0, 1, 2)
    child = run(proxy, "sh", "-c",
                "trap 'echo told; exit 9' TERM; echo on; "
                "while :; do sleep 0.05; done", stdin=subprocess.DEVNULL)
    check(child.stdout.readline() == b"on\n", "no first line")
    proxy.refuses = True
    proxy.cut_all()
    wait_for(lambda: not proxy.live, LIMIT, "the cut")
    time.sleep(0.2)             # so that run has noticed it, as a rule
    child.send_signal(signal.SIGTERM)
    proxy.refuses = False
    out = child.communicate(timeout=LIMIT)[0]
    check((out, child.returncode) == (b"told\n", 9),
          (out, child.returncode))


def another_server():
    """The session is not there any more: one line, at once."""
    server = Server()
    proxy = Proxy(server.url, 0, 1, 2)
    child = run(proxy, "sh", "-c", "echo on; exec sleep 1000",
                stdin=subprocess.DEVNULL)
    check(child.stdout.readline() == b"on\n", "no first line")
    other = Server()
    proxy.server = ("127.0.0.1", int(other.url.rsplit(":", 1)[1]))
    proxy.cut_all()
    err = child.communicate(timeout=LIMIT)[1]
    check(child.returncode == 125, child.returncode)
    check(re.fullmatch(rb"execsrvctl: the connection was lost, and the "
                       rb"session cannot be resumed: .*\n", err), err)


def no_patience():
    proxy = Proxy(Server().url, 0, 1, 2)
    child = subprocess.Popen(
        [BUILD + "/execsrvctl", "run", "--patience", "1", "--url",
         proxy.url, "--", "sh", "-c", "echo on; exec sleep 1000"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    check(child.stdout.readline() == b"on\n", "no first line")
    proxy.refuses = True
    proxy.cut_all()
    err = child.communicate(timeout=LIMIT)[1]
    check(child.returncode == 125 and re.fullmatch(
        rb"execsrvctl: the connection was lost: (?!the connection was).*\n"
        rb"execsrvctl: the command may go on for a while: \"execsrvctl "
        rb"attach -u ws://.*\" comes back to it\n", err),
          (child.returncode, err))


class Impatient(Proxy):
    """Lets the first connections become WebSockets, and cuts them then."""

    def __init__(self, url, early):
        super().__init__(url, 0, 1, 2)
        self.early = early

    def begun(self, data):
        return [len(data)] if self.connections <= self.early else None


def before_session():
    """Cut after the handshake, before the session is known: tried again."""
    url = Server().url
    proxy = Impatient(url, 3)
    child = run(proxy, "sh", "-c", "echo on; exit 3",
                stdin=subprocess.DEVNULL)
    out, err = child.communicate(timeout=LIMIT)
    check((out, err, child.returncode) == (b"on\n", b"", 3),
          (out, err, child.returncode))
    check(proxy.connections == 4, proxy.connections)
    for patience in ("0", "1"):
        proxy = Impatient(url, 1 << 62)
        done = subprocess.run(
            [BUILD + "/execsrvctl", "run", "--patience", patience, "--url",
             proxy.url, "--", "true"], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=LIMIT, check=False)
        check(done.returncode == 125 and re.fullmatch(
            rb"execsrvctl: the server closed the connection\n|"
            rb"execsrvctl: the connection was lost: .*\n", done.stderr),
              (done.returncode, done.stderr))
        check((proxy.connections > 1) == (patience == "1"),
              proxy.connections)


class Ending(Impatient):
    """The server stops when it is asked for the first session."""

    def serve(self, client, left):
        self.listener.shutdown(socket.SHUT_RDWR)
        super().serve(client, left)


def stops_before_session():
    """There is no server any more: that is said at once, whatever patience
    there is."""
    proxy = Ending(Server().url, 1)
    done = subprocess.run(
        [BUILD + "/execsrvctl", "run", "--patience", "3600", "--url",
         proxy.url, "--", "true"], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=LIMIT, check=False)
    check(done.returncode == 125 and done.stderr.decode() == "execsrvctl: the "
          "server has stopped: %s: Connection refused\n" % proxy.url,
          (done.returncode, done.stderr))


main(output, both_ways, silent_command, signals_later, another_server,
     no_patience, before_session, stops_before_session)
