"""Trace the master alone over hundreds of connections of all kinds, then look
for system calls that took bytes from a client's socket.  That the search finds
such calls is shown by the same look at a worker.
"""
import contextlib
import importlib
import os

from client import (Client, Closed, RpcError, Server, TMP, check, connect,
                    dial, main, reset, say, upgrade_request, worker_of,
                    LIMIT, SLOW)
from strace import needed, taken, traced

lib = importlib.import_module("7common")
CONNECTIONS = 1000 if SLOW else 250


def ordinary(url):
    with connect(url) as c:
        check(c.run("p", "echo", "x")[0] == b"x\n", "a command")


def plain(url):
    with dial(url) as s:
        s.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        check(b" 200 " in s.recv(1000), "/readyz")


def garbage(url):
    with dial(url) as s:
        s.sendall(os.urandom(300) + b"\r\n\r\n")
        with contextlib.suppress(OSError):
            while s.recv(1000):
                pass


def broken_frames(url):
    with Client(url) as c:
        c.sock.sendall(b"\x81\x7e" + os.urandom(500))
        check(c.wait_closed(LIMIT), "an unmasked frame")


def early_reset(url):
    s = dial(url)
    s.sendall(upgrade_request() + b"x" * 100)
    reset(s)


def empty_resume(url):
    with connect(url) as c:
        session = c.session
    with contextlib.closing(resume(url, session)) as c:
        c.call("environment/status")


def full_resume(url):
    with connect(url) as c:
        c.start("p", "sleep", "300")
        session = c.session
    with contextlib.closing(resume(url, session)) as c:
        c.call("process/terminate", {"processId": "p"})
        c.note("process/closed")


def resume(url, session):
    """The server may not have seen yet that the client left."""
    while True:
        try:
            return connect(url, session)
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)


def unknown(url):
    with Client(url) as c:
        try:
            c.initialize("0123456789abcdef0123456789abcdef")
        except RpcError as e:
            check(e.code == -32600, "unknown: %s" % e)
        else:
            check(False, "an unknown session is resumed")


def figures(_):
    status, _, body = lib.http(DOOR[0], "/metrics")
    check(status == 200 and body.endswith(b"# EOF\n"), "/metrics")


DOOR = []                       # where figures are told
KINDS = (ordinary, plain, garbage, broken_frames, early_reset, empty_resume,
         full_resume, unknown, figures)


def nothing():
    needed()
    path = TMP + "/clients.sock"
    server = Server("MetricsListen=127.0.0.1:0",
                    listen=("ws://127.0.0.1:0", "ws://[::1]:0",
                            "unix:" + path))
    DOOR.append(lib.ask(server, "status")["metrics"][0])
    with connect(server.url) as c, \
            traced(worker_of(server, c), TMP + "/worker"):
        c.run("q", "true")
    with connect(server.urls[2]) as c, \
            traced(worker_of(server, c), TMP + "/unix"):
        c.run("q", "true")
    for name in ("worker", "unix"):
        check(taken(TMP + "/" + name, path)[0],
              "not even a worker reads: the search is wrong")

    with traced(server.pid, TMP + "/master", ",accept4"):
        for i in range(CONNECTIONS):
            if i % 40 in (0, 1):
                kind = full_resume
            else:
                kind = KINDS[i % len(KINDS)]
            with contextlib.suppress(Closed, ConnectionError):
                kind(server.urls[i // 8 % 3])
        server.stop()
    found, kinds = taken(TMP + "/master", path)
    say("%s" % dict(kinds))
    check(kinds["accept4"] > CONNECTIONS, "not all connections were traced")
    check(kinds["recvmsg"] > CONNECTIONS, "what workers say was not traced")
    check(not found, "the master read %d times, as in: %s" %
          (len(found), found[:5]))


main(nothing)
