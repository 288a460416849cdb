"""execsrv_open() with no_wait in a poll loop: whatever the server does, or does
not, the loop goes on turning, and hears of it in the end."""
import importlib
import socket
import subprocess

from client import BUILD, LIMIT, Server, check, in_time, main, say

tls = importlib.import_module("7tls")
SOON, MS = 1500, 20000
ca = tls.certificates()
good = ca.context("good")


def attempt(url, *words, least=0):
    done = subprocess.run([BUILD + "/t/757-open", BUILD + "/execsrv-reach",
                           ca.ca, url, str(SOON if least else MS)],
                          stdout=subprocess.PIPE, timeout=3 * LIMIT,
                          check=True)
    out = done.stdout.decode()
    turns = int(out.split()[-2])
    say("  %r" % out)
    for word in words:
        check(word in out, "%r: no %r" % (out, word))
    # A tick is 5 ms; on a busy machine many of them are one.
    in_time(turns >= least, "%d turns only" % turns)


def connects():
    server = Server()
    attempt(server.url, "on\nconnected")
    door = tls.Door(server.url, good)
    attempt(door.url, "on\nconnected")


def nobody():
    """Refused at once; and a name that does not exist."""
    attempt("ws://127.0.0.1:1", "Connection refused")
    attempt("wss://127.0.0.1:1", "wss://127.0.0.1:1: ")
    attempt("wss://nowhere.invalid", "host not found")


def silent():
    """Who accepts and says nothing, in every way: in the clear, before and
    behind TLS, and who does not even accept."""
    door = tls.Door(None, None)
    plain = door.url.replace("wss", "ws")
    attempt(plain, "the server does not answer", least=5)
    attempt(door.url, "answer", least=5)

    def says_nothing(_, __):
        return lambda data: (b"", True)
    server = Server()
    behind = tls.Door(server.url, good, says_nothing)
    attempt(behind.url, "answer", least=5)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        attempt("ws://127.0.0.1:%d" % port, "timed out", least=5)
        attempt("wss://127.0.0.1:%d" % port, "answer", least=5)
        for filler in fillers:
            filler.close()


main(connects, nobody, silent)
