#!/usr/bin/env python3
"""execsrvctl forward: ports and sockets of a server here, and of here there."""
import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import threading

from client import (BUILD, LIMIT, Server, TMP, check, descendants, held_port,
                    is_alive, main, rss, wait_for)
from relay import Relay

BULK = 24 << 20


def listen(where):
    """At a path, or at a free port of loopback; and as -L and -R name it."""
    if isinstance(where, str):
        s = socket.socket(socket.AF_UNIX)
        s.bind(where)
        s.listen(64)
        return s, where
    s = socket.create_server(("127.0.0.1", 0), backlog=64)
    return s, "127.0.0.1:%d" % s.getsockname()[1]


def dial(name):
    if name[0] == "/":
        s = socket.socket(socket.AF_UNIX)
        s.connect(name)
        return s
    port = int(name.rsplit(":", 1)[1])
    return socket.create_connection(("127.0.0.1", port))


class Forward:
    def __init__(self, server, *options, want=1):
        self.process = subprocess.Popen(
            [BUILD + "/execsrvctl", "forward", "-u", server.url, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.doors = []
        for _ in range(want):
            line = self.process.stdout.readline().strip()
            if " -> " not in line:
                self.process.terminate()
                errors = self.process.communicate()[1]
                raise AssertionError("%s: %r, %d: %s" % (
                    options, line, self.process.returncode, errors))
            self.doors.append(line.split(" -> ")[0])

    def end(self, sig=signal.SIGTERM):
        """Its errors."""
        self.process.send_signal(sig)
        errors = self.process.communicate(timeout=LIMIT)[1]
        check(self.process.returncode == 128 + sig, "it ended with %d: %s" % (
            self.process.returncode, errors))
        return errors


def read_all(s):
    data = []
    while more := s.recv(1 << 18):
        data.append(more)
    return b"".join(data)


def carried(ends, text):
    """Much in both directions at once; each ends by itself."""
    sent = [os.urandom(1 << 20) * (BULK >> 20) for _ in ends]
    got = [None, None]

    def give(i):
        ends[i].sendall(sent[i])
        ends[i].shutdown(socket.SHUT_WR)

    def take(i):
        got[i] = hashlib.sha256(read_all(ends[i])).digest()

    threads = [threading.Thread(target=fn, args=(i,), daemon=True)
               for i in (0, 1) for fn in (give, take)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    for i in (0, 1):
        check(got[i] == hashlib.sha256(sent[1 - i]).digest(),
              "%s, end %d: %s" % (text, i, got[i]))
        ends[i].close()


def loopback():
    """The addresses of loopback here."""
    for *_, sockaddr in socket.getaddrinfo(None, 0, type=socket.SOCK_STREAM):
        kind = socket.AF_INET6 if ":" in sockaddr[0] else socket.AF_INET
        with contextlib.suppress(OSError), socket.socket(kind) as s:
            s.bind((sockaddr[0], 0))
            yield sockaddr[0]


def both_ways():
    """-L and -R, ports and paths."""
    server = Server()
    folder = TMP + "/f"
    os.mkdir(folder)
    for option in "-L", "-R":
        for n, (where, door) in enumerate((
                (None, "0"), (None, "127.0.0.1:0"),
                (folder + "/t%s1" % option, folder + "/d%s1" % option),
                (folder + "/t%s2" % option, "0"))):
            target, name = listen(where)
            forward = Forward(server, option, "%s:%s" % (door, name))
            first = dial(forward.doors[0])
            carried((first, target.accept()[0]), "%s %d" % (option, n))
            if door == "0":
                for address in loopback():
                    port = int(forward.doors[0].rsplit(":", 1)[1])
                    socket.create_connection((address, port)).close()
                    target.accept()[0].close()
            # The next one, of which the answer comes after the end.
            second = dial(forward.doors[0])
            peer = target.accept()[0]
            second.sendall(b"question")
            second.shutdown(socket.SHUT_WR)
            check(read_all(peer) == b"question", "what was asked")
            peer.sendall(b"answer")
            peer.close()
            check(read_all(second) == b"answer", "what was answered")
            check(forward.end() == "", "it said something")
            if door[0] == "/":
                wait_for(lambda path=door: not os.path.exists(path), LIMIT,
                         "the socket has gone")
            target.close()
    server.stop()


def cut():
    """Connections outlive that to the server, and lose nothing."""
    server = Server()
    for option in "-L", "-R":
        relay = Relay(server.url, every=6 << 20, times=5)
        target, name = listen(None)
        forward = Forward(relay, option, "0:" + name)
        end = dial(forward.doors[0])
        carried((end, target.accept()[0]), option)
        check(relay.times == 0, "%d cuts were not made" % relay.times)
        check(forward.end() == "", "it said something")
        target.close()
    server.stop()


def many():
    """More at once than wait for a connection there."""
    server = Server()
    target, name = listen(None)
    forward = Forward(server, "-R", "0:" + name)
    ends = [dial(forward.doors[0]) for _ in range(20)]
    peers = []
    for _ in ends:
        peer = target.accept()[0]
        peers.append(peer)
    for n, end in enumerate(ends):
        end.sendall(b"%02d" % n)
    got = set()
    for peer in peers:
        got.add(peer.recv(2))
        peer.close()
    check(got == {b"%02d" % n for n in range(20)}, "who came: %s" % got)
    for end in ends:
        check(read_all(end) == b"", "they end")
    check(forward.end() == "", "it said something")
    server.stop()


def slow():
    """One that does not read holds only its own connection."""
    server = Server()
    target, name = listen(None)
    forward = Forward(server, "-L", "0:" + name)
    idle = dial(forward.doors[0])
    flood = target.accept()[0]
    flood.settimeout(2)
    sent, block = 0, os.urandom(1 << 20)
    try:
        while sent < 512 << 20:
            sent += flood.send(block)
    except TimeoutError:
        pass
    check(sent < 256 << 20, "nothing held it: %d bytes" % sent)
    check(rss(forward.process.pid) < 64 << 20, "memory: %d bytes" %
          rss(forward.process.pid))
    other = dial(forward.doors[0])
    carried((other, target.accept()[0]), "beside it")
    flood.shutdown(socket.SHUT_WR)
    digest = hashlib.sha256()
    n = 0
    while more := idle.recv(1 << 18):
        digest.update(more)
        n += len(more)
    want = (block * (sent // len(block) + 1))[:sent]
    check((n, digest.digest()) == (sent, hashlib.sha256(want).digest()),
          "what came late: %d of %d" % (n, sent))
    forward.end()
    server.stop()


def refused():
    """Errors are of one connection, or of the beginning."""
    server = Server()
    port, kept = held_port()
    for option in "-L", "-R":
        forward = Forward(server, option, "0:127.0.0.1:%d" % port)
        check(read_all(dial(forward.doors[0])) == b"", "it is closed")
        check(read_all(dial(forward.doors[0])) == b"", "and once more")
        errors = forward.end()
        check(errors.count("Connection refused") == 2, errors)
    kept.close()
    taken, name = listen(None)
    for option, spec, want in (
            ("-L", name + ":localhost:1", "Address already in use"),
            ("-R", name + ":localhost:1", "Address already in use"),
            ("-R", "/nosuch/x:localhost:1", "No such file"),
            ("-L", "80", "expected"), ("-L", "1:2", "expected"),
            ("-L", "a:b:c", "expected"), ("-L", "1:host:0", "expected"),
            ("-L", "1:host:65536", "expected"),
            ("-R", "1:2:3:4:5", "expected"), ("-R", ":h:1", "expected"),
            ("-L", "[::1:2:h:3", "expected")):
        done = subprocess.run(
            [BUILD + "/execsrvctl", "forward", "-u", server.url, option,
             spec], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=LIMIT)
        check(done.returncode == 125 and want in done.stderr and
              done.stderr.count("\n") == 1, "%s %s: %s" % (option, spec, done))
    taken.close()
    server.stop()


def words_of(pid):
    """Its command line, nothing of one that is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def nothing_left():
    """With it end the processes there; and it ends with its listener there,
    and with the server."""
    server = Server()
    target, name = listen(None)
    forward = Forward(server, "-R", "0:" + name, "-L", "0:" + name, want=2)
    end = dial(forward.doors[1])
    peer = target.accept()[0]
    there = [p for w in server.workers() for p in descendants(w)]
    check(there, "no process there")
    forward.end(signal.SIGINT)
    check(read_all(peer) == b"" and read_all(end) == b"", "both ends end")
    wait_for(lambda: not any(is_alive(p) for p in there), LIMIT,
             "the processes to go")
    forward = Forward(server, "-R", "0:" + name)
    listener, = [p for w in server.workers() for p in descendants(w)
                 if b"listen" in words_of(p)]
    os.kill(listener, signal.SIGKILL)
    errors = forward.process.communicate(timeout=LIMIT)[1]
    check(forward.process.returncode == 125 and
          "does not listen any more" in errors, errors)
    forward = Forward(server, "-R", "0:" + name)
    server.stop()
    errors = forward.process.communicate(timeout=LIMIT)[1]
    check(forward.process.returncode == 125 and errors, errors)


main(both_ways, cut, many, slow, refused, nothing_left)
