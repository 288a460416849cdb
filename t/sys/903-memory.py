"""What a client does not read must not pile up."""
import contextlib
import json
import select
import socket
import time

from client import (Client, Closed, Server, check, connect, frame, main,
                    probe, resume_in, rss, say, worker_of, LIMIT, SANITIZED)

MIB = 1 << 20


def push(c, data, seconds, patience=0.5):
    """Send without reading, as far as the server takes it; bytes sent."""
    sent, view = 0, memoryview(data)
    c.sock.setblocking(False)
    deadline = time.monotonic() + seconds
    while sent < len(view) and time.monotonic() < deadline:
        if not select.select([], [c.sock], [], patience)[1]:
            break                       # it takes no more
        with contextlib.suppress(BlockingIOError):
            sent += c.sock.send(view[sent:sent + (1 << 16)])
    c.sock.settimeout(LIMIT)
    return sent


def peak(pid, before, limit, what):
    more = rss(pid) - before
    say("  %s: %.1f MiB" % (what, more / MIB))
    check(SANITIZED or more < limit, "%s: %d bytes" % (what, more))


def output():
    """Window 4 MiB, queue 256 KiB, 1 MiB kept; base64 of some of it."""
    server = Server()
    c = connect(server.url, rcvbuf=8192)
    pid = worker_of(server, c)
    base, most = rss(pid), 0
    for i in range(4):
        c.start("p%d" % i, "cat", "/dev/zero")
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        most = max(most, rss(pid))
        time.sleep(0.01)
    say("  at most %.1f MiB" % ((most - base) / MIB))
    peak(pid, base, 10 * MIB, "4 floods without a reader")
    # Reads again and again ask for what is there, and do not read answers.
    push(c, b"".join(frame(1, json.dumps({
        "id": i, "method": "process/read",
        "params": {"processId": "p0", "afterSeq": 0}}).encode())
        for i in range(100, 300)), 5)
    peak(pid, base, 40 * MIB, "200 reads of all of it, not read")
    c.reset()
    probe(server.url)
    server.stop()


def requests():
    server = Server()
    c = connect(server.url, rcvbuf=8192)
    pid = worker_of(server, c)
    c.run("sh", "true")
    base = rss(pid)
    data = b"".join(frame(1, b'{"id":%d,"method":"environment/info"}' % i)
                    for i in range(1000, 11000))
    sent = push(c, data, 10)
    peak(pid, base, 16 * MIB, "10,000 requests, %d %% taken" %
         (100 * sent // len(data)))
    # All are answered, in the end, once.
    view = memoryview(data)[sent:]
    c.sock.setblocking(False)
    deadline = time.monotonic() + LIMIT
    while len(c.answers) < 10000:
        check(time.monotonic() < deadline, "%d answers" % len(c.answers))
        readable, writable, _ = select.select(
            [c.sock], [c.sock] if view else [], [], 1)
        if writable:
            with contextlib.suppress(BlockingIOError):
                view = view[c.sock.send(view[:1 << 16]):]
        if readable:
            c.take()
    check(set(c.answers) == set(range(1000, 11000)), "other answers")
    c.close()
    server.stop()


def polls():
    """10,000 that wait for something."""
    server = Server()
    c = connect(server.url)
    pid = worker_of(server, c)
    c.start("p", "cat", pipeStdin=True)
    base = rss(pid)
    c.sock.sendall(b"".join(frame(1, json.dumps({
        "id": i, "method": "process/read",
        "params": {"processId": "p", "waitMs": 60000}}).encode())
        for i in range(1000, 11000)))
    began = time.monotonic()
    c.call("environment/status")
    c.call("environment/status")
    say("  behind 10,000 polls: %.3f s" % (time.monotonic() - began))
    peak(pid, base, 16 * MIB, "10,000 polls")
    c.call("process/write", {"processId": "p", "chunk": "eAo=",
                             "writeId": "w"})
    c.until(lambda: len(c.answers) == 10000)
    c.close()
    server.stop()


def pings():
    server = Server()
    c = connect(server.url, rcvbuf=8192)
    pid = worker_of(server, c)
    base = rss(pid)
    data = frame(9, b"x" * 100) * 200000
    sent = push(c, data, LIMIT, LIMIT)
    peak(pid, base, 2 * MIB, "200,000 pings, %d %% taken" %
         (100 * sent // len(data)))
    check(sent == len(data), "pings are not read")
    with contextlib.suppress(TimeoutError, Closed):
        c.call("environment/status")
    check(1 <= c.pongs <= 200000, "%d pongs" % c.pongs)
    c.close()
    server.stop()


def after_a_cut(reads):
    """What was on its way at a cut must not keep all that follows it, whether
    the client asks for it or not."""
    server = Server()
    c = connect(server.url)
    pid = worker_of(server, c)
    base = rss(pid)
    c.start("p", "cat", "/dev/zero")
    c.note("process/output")
    last = c.note("process/output")["seq"]
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    if reads:
        c.call("process/read", {"processId": "p", "afterSeq": last})
    read = 0
    while read < 200 * MIB:
        read += c.take(1 << 20)
        c.notes.clear()
    peak(pid, base, 24 * MIB if reads else 56 * MIB,
         "200 MiB received after a cut")
    c.close()
    server.stop()


def cut_and_read():
    after_a_cut(True)


def cut_and_not_read():
    after_a_cut(False)


main(output, requests, polls, pings, cut_and_read, cut_and_not_read)
