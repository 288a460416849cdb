#!/usr/bin/env python3
"""A template whose workers say what they are told to.

It stands in for execsrv-worker.  Each worker takes orders at the socket PID in
the folder of this file: {"say": [[kind, hex, fd], ...]}, the number of a
message, its body, and whether a descriptor goes with it.  What comes from the
master is noted in PID.got: kind and body, a line each.  If there is a file
"orphans" it names the socket where the next master is to be found.
"""
import contextlib
import json
import os
import select
import signal
import socket
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def rows():
    with open(HERE + "/ipc.def", encoding="ascii") as f:
        return [line[4:].split(",")[0] for line in f
                if line.startswith("IPC(")]


KIND = {name: n for n, name in enumerate(rows())}


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def first_number(body):
    """Field 1 of a message that begins with it."""
    n = shift = 0
    if body[:1] == b"\x08":
        for byte in body[1:]:
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
    return n


def receive(sock):
    try:
        data, fds, _, _ = socket.recv_fds(sock, 1 << 20, 2)
    except ConnectionResetError:
        return b"", []      # it died, and had not read all
    return data, fds


def obey(sock, order):
    for kind, body, has_fd in json.loads(order)["say"]:
        packet = bytes([kind]) + bytes.fromhex(body)
        # It may have been killed for what it said before.
        with contextlib.suppress(OSError):
            if has_fd:
                socket.send_fds(sock, [packet], [sock.fileno()])
            else:
                sock.send(packet)


def next_master():
    """A channel to it; None: none is wanted any more."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.02)
        if not os.path.exists(HERE + "/orphans"):
            return None
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with open(HERE + "/orphans", encoding="ascii") as f:
                sock.connect(f.read())
            return sock
        except OSError:
            sock.close()
    return None


def work(sock):
    name = "%s/%d" % (HERE, os.getpid())
    orders = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    orders.bind(name)
    sock.setblocking(True)
    kept, may_come = [], False
    with open(name + ".got", "w", encoding="ascii", buffering=1) as got:
        while True:
            ready = select.select([sock, orders], [], [])[0]
            if sock in ready:
                data, fds = receive(sock)
                if not data:
                    sock = next_master() if may_come else None
                    if sock is None:
                        return
                    with open(name + ".came", "w", encoding="ascii"):
                        continue
                kept += fds
                may_come |= data[0] == KIND["assign"]
                got.write("%d %s\n" % (data[0], data[1:].hex()))
            if orders in ready:
                obey(sock, orders.recv(1 << 20))


def born(fd):
    """A worker: an orphan, so that it is the master's to reap."""
    read, write = os.pipe()
    if os.fork() == 0:
        pid = os.fork()
        if pid == 0:
            os.close(0)
            os.close(write)
            work(socket.socket(fileno=fd))
        else:
            os.write(write, b"%d" % pid)
        os._exit(0)
    os.close(write)
    pid = int(os.read(read, 16))
    os.close(read)
    return pid


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    master = socket.socket(fileno=0)
    master.setblocking(True)
    while True:
        data, fds = receive(master)
        if not data:
            return
        if data[0] == KIND["probe"]:
            master.send(bytes([KIND["ability"]]))
        if data[0] != KIND["fork"]:
            continue
        pid = born(fds[0])
        os.close(fds[0])
        master.send(bytes([KIND["forked"]]) + b"\x08" +
                    varint(first_number(data[1:])) + b"\x10" + varint(pid))


main()
