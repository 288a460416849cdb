"""execsrvctl run, which is libexecsrv, through a proxy that does one thing
wrong, to execsrvd and, if it is there, to the reference: whatever can be
survived is not noticed, the rest ends with one line.

CUTS=1000 for a long run; SEED=N repeats a run.
"""
import importlib
import socket
import subprocess
import threading
import time

from client import BUILD, LIMIT, Server, check, in_time, main, say

reference = importlib.import_module("7reference")
faults = importlib.import_module("7faults")


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


def run(url, *argv, status, more=(), seconds=LIMIT * 10 + faults.CUTS):
    done = subprocess.run(
        [BUILD + "/execsrvctl", "run", "--url", url, *more, "--", *argv],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=seconds, check=False)
    check(done.returncode == status, "%s: %r" % (done.returncode,
                                                 done.stderr))
    return done.stdout, done.stderr


def unnoticed(fault, least, more=()):
    for name, url in reference.servers(Server()):
        proxy = Proxy(url, fault)
        try:
            faults.ck_output(*run(proxy.url, "sh", "-c", faults.COMMAND,
                                  status=7, more=more))
        finally:
            say("  %s: %d connections" % (name, proxy.connections))
        check(proxy.connections >= least, "hardly a fault")


def cut():
    """Again and again: the connection is made anew."""
    unnoticed(faults.cut, 2)


def slow():
    """Little by little, in pieces of any length."""
    def fault(_, number):
        def change(data):
            time.sleep(faults.rng.random() / 200)
            return data, True
        return change
    unnoticed(fault, 1)


def half_open():
    """The client asks, and finds that nobody answers."""
    began = time.monotonic()
    unnoticed(faults.half_open, 2, faults.SOON)
    in_time(time.monotonic() - began < faults.SOON_LIMIT, "not found soon")


def garbage():
    """As if it had been cut."""
    unnoticed(faults.garbage, 3)


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
