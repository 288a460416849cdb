"""execsrvctl run, which is libexecsrv, through a proxy that does one thing
wrong, to execsrvd and, if it is there, to the reference: whatever can be
survived is not noticed, the rest ends with one line.

CUTS=1000 for as many as the issue asks for; SEED=N repeats a run.
"""
import hashlib
import importlib
import os
import random
import socket
import subprocess
import threading
import time

from client import BUILD, LIMIT, Server, check, main, say

reference = importlib.import_module("7reference")

CUTS = int(os.environ.get("CUTS", "10"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
rng = random.Random(SEED)
# The reference keeps the newest 1 MiB only: what comes while nobody listens
# must fit it.  What comes at once is one event, which a line that is always cut
# before its end never carries.
AT_ONCE = 1200
LINES = 5 * AT_ONCE * CUTS
COMMAND = ("i=0; while [ $i -lt %d ]; do seq $((i + 1)) $((i + %d)); "
           "i=$((i + %d)); sleep 0.05; done; exit 7" %
           (LINES, AT_ONCE, AT_ONCE))


class Proxy:
    """Passes bytes on, as `fault(proxy, number)` says of each connection: a
    function of a piece from the server that returns what to pass on, and
    whether to go on."""

    def __init__(self, url, fault):
        self.server = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.fault = fault
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "ws://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, daemon=True,
                             args=(client, self.connections)).start()

    def serve(self, client, number):
        change = self.fault(self, number)
        with client, socket.create_connection(self.server) as server:
            up = threading.Thread(target=self.pump, daemon=True,
                                  args=(client, server,
                                        lambda data: (data, True)))
            up.start()
            self.pump(server, client, change)
            up.join()

    @staticmethod
    def pump(source, sink, change):
        try:
            while data := source.recv(16384):
                data, goes_on = change(data)
                sink.sendall(data)
                if not goes_on:
                    break
        except OSError:
            pass
        for end in source, sink:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def run(url, *argv, status, seconds=LIMIT * 10 + CUTS):
    done = subprocess.run(
        [BUILD + "/execsrvctl", "run", "--url", url, "--", *argv],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=seconds, check=False)
    check(done.returncode == status, "%s: %r" % (done.returncode,
                                                 done.stderr))
    return done.stdout, done.stderr


def ck_output(out, err):
    want = b"".join(b"%d\n" % i for i in range(1, LINES + 1))
    check(err == b"", err)
    check(hashlib.sha256(out).digest() == hashlib.sha256(want).digest(),
          "%d bytes of %d" % (len(out), len(want)))


def unnoticed(fault, least):
    for name, url in reference.servers(Server()):
        proxy = Proxy(url, fault)
        try:
            ck_output(*run(proxy.url, "sh", "-c", COMMAND, status=7))
        finally:
            say("  %s: %d connections" % (name, proxy.connections))
        check(proxy.connections >= least, "hardly a fault")


def cut():
    """At any byte of what the server says, in the handshake too; but not before
    it has answered the start, which may come behind output: a start of which
    nobody knows is an error."""
    say("  SEED=%d" % SEED)

    def fault(_, number):
        left = [rng.randrange(100, 100000) if 1 < number <= CUTS
                else 20000 if number == 1 else 1 << 62]
        said = [b""]

        def change(data):
            if number == 1 and said[0].count(b'"result"') < 2:
                said[0] += data
                return data, True
            data = data[:left[0]]
            left[0] -= len(data)
            return data, left[0] > 0
        return change
    unnoticed(fault, 2)


def slow():
    """Little by little, in pieces of any length."""
    def fault(_, number):
        def change(data):
            time.sleep(rng.random() / 200)
            return data, True
        return change
    unnoticed(fault, 1)


def half_open():
    """From some byte on nothing more, and no end either: the client asks, and
    finds that nobody answers."""
    def fault(_, number):
        left = [30000 if number == 1 else 1 << 62]

        def change(data):
            left[0] -= len(data)
            return data if left[0] > 0 else b"", True
        return change
    unnoticed(fault, 2)


def garbage():
    """Bytes that are no frames, in the middle: as if it had been cut."""
    def fault(_, number):
        left = [20000 if number <= 3 else 1 << 62]

        def change(data):
            left[0] -= len(data)
            return data if left[0] > 0 else rng.randbytes(len(data)), True
        return change
    unnoticed(fault, 3)


def refused():
    """Nobody is there any more: one line when the time is up."""
    for _, url in reference.servers(Server()):
        def fault(proxy, _):
            def change(data):
                proxy.listener.close()
                return data, b"HTTP" in data
            return change
        proxy = Proxy(url, fault)
        _, err = run(proxy.url, "true", status=125)
        check(err.startswith(b"execsrvctl: ") and err.count(b"\n") == 1, err)


main(cut, slow, half_open, garbage, refused)
