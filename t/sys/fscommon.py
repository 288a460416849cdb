"""What the tests of file operations share."""
import ctypes
import json
import os
import re
import sys
import tempfile
import traceback

from client import (Client, Server, TooSlow, check, children, frame, in_time,
                    is_alive, say, TMP)

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 0x40000
MIB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)


class Light(Client):
    """Of an answer in fragments it keeps the id and the size only, and takes
    it as fast as it can."""
    room = bytearray(4 * MIB)
    skip = 0                    # bytes of a frame that are still to come

    def send(self, message):
        text = json.dumps(message).encode()
        if len(text) <= 8 * MIB:
            self.sock.sendall(frame(1, text))
            return
        for i in range(0, len(text), 8 * MIB):
            self.sock.sendall(frame(0 if i else 1, text[i:i + 8 * MIB],
                                    i + 8 * MIB >= len(text)))

    def take(self, size=1 << 18):
        if not self.skip:
            return Client.take(self, size)
        n = self.sock.recv_into(self.room, min(self.skip, len(self.room)))
        if n == 0:
            raise self.over(None, "end")
        self.passed(n)
        return n

    def passed(self, n):
        self.skip -= n
        if self.skip == 0 and self.last:
            self.on_message({"id": self.number, "result": {"size": self.size}})

    def parse(self):
        Client.parse(self)
        op, size = (self.buf + b"\0\0")[0], self.buf[1:2]
        if op & 0x8f not in (0, 1, 0x80) or size != b"\x7f" or \
                len(self.buf) < 80:
            return
        # Most of a fragment is not here yet.
        size = int.from_bytes(self.buf[2:10], "big")
        self.on_fragment(op, size, self.buf[10:80])
        self.skip, here = size, len(self.buf) - 10
        self.buf.clear()
        self.passed(here)

    def on_fragment(self, op, size, head):
        self.last = op & 0x80
        if op & 15:
            number = re.match(rb'\{"id":(\d+),"result"', head)
            check(number, "a long answer of another kind")
            self.number, self.size = int(number[1]), size
        else:
            self.size += size

    def on_frame(self, op, fin, data):
        if op == 0 or (op == 1 and not fin):
            self.on_fragment(op | fin, len(data), data[:64])
            self.passed(0)
        else:
            Client.on_frame(self, op, fin, data)


def light(url, resume=None):
    return Light(url).initialize(resume)


def folder(name):
    """A new one, however often."""
    path = tempfile.mkdtemp(prefix=name + ".", dir=TMP)
    os.chmod(path, 0o755)
    return path


def fill(path, data):
    with open(path, "wb") as f:
        f.write(data)


def many_files(path, number):
    """A folder of so many names of one empty file (65,000 at most)."""
    os.mkdir(path)
    fill(path + ".one", b"")
    for i in range(number):
        os.link(path + ".one", "%s/file%d" % (path, i))


def uri(path):
    return "file://" + path


def paths(path, **more):
    return {"path": uri(path), **more}


def workers_children(worker):
    """The processes that work for a worker's agents just now."""
    return [p for holder in children(worker) for p in children(holder)
            if is_alive(p)]


def apart(test):
    """Run a test in a process with mounts of its own; False: not possible."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if LIBC.unshare(CLONE_NEWNS) == -1 or LIBC.mount(
                    None, b"/", None, MS_REC | MS_PRIVATE, None) == -1:
                say("  left out: mounts are not permitted")
                code = 77
            else:
                test()
                code = 0
        except TooSlow as e:
            say("  %s" % e)
            code = 78
        except BaseException:
            traceback.print_exc()
            for server in Server.all:
                print(server.log()[-3000:])
        finally:
            for server in Server.all:
                server.kill()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    in_time(status != 78 << 8, "too slow in there")
    check(status in (0, 77 << 8), "it failed in there")
    return status == 0


def mount(source, point, kind, data):
    return LIBC.mount(source.encode(), point.encode(), kind.encode(), 0,
                      data.encode()) == 0
