"""Connections that do not come to a session."""
import contextlib
import threading
import time

from client import (Client, Server, check, children, dial, fds, in_time, main,
                    probe, say, settled, upgrade_request, wait_for, LIMIT,
                    SCALE)

FLOOD = "127.0.0.2"
OTHER = "127.0.0.3"


def is_closed(sock, seconds):
    """Whether the server ends it; what it says does not matter."""
    sock.settimeout(seconds)
    try:
        while sock.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def crowd():
    server = Server("DetachedTtl=1")
    # The environment of root's sessions is kept from the first one on.
    probe(server.url, 10, OTHER)
    settled(server)
    base = fds(server.pid)
    for kind in ("silent", "upgraded"):
        socks = []
        for i in range(300):
            s = dial(server.url, FLOOD)
            if kind == "upgraded":
                s.sendall(upgrade_request())
            socks.append(s)
        took = [probe(server.url, 2, OTHER) for i in range(5)]
        workers = len(children(server.pid))
        say("  %s: probes took up to %.2f s, %d processes" %
            (kind, max(took), workers))
        check(workers < 150, "%d workers" % workers)
        # The same source has its turn as well, after HandshakeTimeout.
        say("  same source: %.2f s" % probe(server.url, 10 + 5, FLOOD))
        for s in socks:
            s.close()
    settled(server)
    wait_for(lambda: fds(server.pid) <= base, LIMIT, "descriptors")
    server.stop()


def deadline():
    """Each is closed one HandshakeTimeout after it was accepted, or, when it
    upgraded, after that."""
    server = Server("HandshakeTimeout=1", "DetachedTtl=1")
    half = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upg"

    def silent(s):
        return None

    def partial(s):
        s.sendall(half)

    def trickle(s):
        with contextlib.suppress(OSError):
            for byte in half * 100:
                s.sendall(bytes([byte]))
                time.sleep(0.05)

    def no_initialize(s):
        s.sendall(upgrade_request())

    def pings(s):
        with contextlib.suppress(OSError):
            s.sendall(upgrade_request())
            while True:
                s.sendall(b"\x89\x80\0\0\0\0")
                time.sleep(0.05)

    def bad_requests(s):
        with contextlib.suppress(OSError):
            s.sendall(upgrade_request())
            while True:
                s.sendall(b"\x81\x82\0\0\0\0{}")
                time.sleep(0.05)

    def long_trickle(s):
        with contextlib.suppress(OSError):
            s.sendall(upgrade_request() + b"\x81\xfe\x80\x00\0\0\0\0")
            while True:
                s.sendall(b" ")
                time.sleep(0.05)

    kinds = {silent: 1, partial: 1, trickle: 1, no_initialize: 1, pings: 1,
             bad_requests: 1, long_trickle: 1}
    result, threads = {}, []

    def watch(kind):
        began = time.monotonic()
        s = dial(server.url)
        t = threading.Thread(target=kind, args=(s,))
        t.start()
        closed = is_closed(s, LIMIT)
        result[kind.__name__] = time.monotonic() - began
        if not closed:
            result[kind.__name__] = None
        s.close()
        t.join()

    for kind in kinds:
        t = threading.Thread(target=watch, args=(kind,))
        t.start()
        threads.append(t)
    for t in threads:
        t.join()
    say("  " + ", ".join("%s %s" % (k, v and "%.2f" % v)
                         for k, v in result.items()))
    for name, took in result.items():
        check(took is not None and 0.9 < took, "%s: %s" % (name, took))
        in_time(took < 1 + 1.5 * SCALE, "%s: %s" % (name, took))
    # A session is not meant by it.
    c = Client(server.url).initialize()
    check(not c.wait_closed(1.5), "a session was closed")
    c.call("environment/status")
    c.close()
    settled(server)
    server.stop()


main(crowd, deadline)
