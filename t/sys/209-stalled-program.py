"""A FUSE file system that says what there is, and serves none of it."""
import os
import select
import struct
import threading
import time

from client import (RpcError, Server, check, in_time, main, skip, wait_for,
                    worker_of, LIMIT, SCALE)
from fscommon import (apart, folder, light, mount, paths, uri,
                      workers_children)

LOOKUP, FORGET, GETATTR, OPEN, INIT, ACCESS, INTERRUPT, BATCH = \
    1, 2, 3, 14, 26, 34, 36, 42
NEVER = (OPEN, ACCESS)          # what is asked for at an exec, at a chdir
SILENT = (FORGET, INTERRUPT, BATCH)
ENOSYS = 38
ROOT, PROGRAM, FOLDER = 1, 2, 3
MODES = {ROOT: 0o40755, FOLDER: 0o40755, PROGRAM: 0o100755}
NAMES = {b"program": PROGRAM, b"folder": FOLDER}


def attributes(node):
    return struct.pack("<6Q10I", node, 4096, 8, 0, 0, 0, 0, 0, 0, MODES[node],
                       1, 0, 0, 0, 4096, 0)


class Fuse(threading.Thread):
    """
    Serves a mount, but not what is in NEVER: who asks for that cannot even be
    killed.  When it is deaf, it hears nothing: then he can.
    """

    def __init__(self, point):
        threading.Thread.__init__(self, daemon=True)
        os.mkdir(point)
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            skip("no FUSE")
        if not mount("stalled", point, "fuse", "fd=%d,rootmode=40000,"
                     "user_id=0,group_id=0,allow_other" % self.fd):
            skip("no FUSE")
        self.seen = []
        self.ear, self.silencer = os.pipe()
        self.start()

    def deafen(self):
        os.close(self.silencer)
        self.join()

    def abort(self):
        """Whoever waits gets an error."""
        self.deafen()
        os.close(self.fd)

    def run(self):
        while True:
            if self.ear in select.select([self.fd, self.ear], [], [])[0]:
                return
            request = os.read(self.fd, 1 << 18)
            _, kind, unique, node = struct.unpack_from("<IIQQ", request)
            self.seen.append(kind)
            if kind not in NEVER + SILENT:
                error, data = self.answer(kind, node, request[40:])
                os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error,
                                              unique) + data)

    def answer(self, kind, node, body):
        if kind == INIT:
            return 0, struct.pack("<IIIIHHIIHHII", 7, 31, 0, 0, 16, 12, 4096,
                                  1, 0, 0, 0, 0) + bytes(24)
        if kind == GETATTR:
            return 0, struct.pack("<QII", 60, 0, 0) + attributes(node)
        if kind == LOOKUP:
            found = NAMES.get(body.split(b"\0")[0])
            if found is None:
                return 2, b""
            return 0, struct.pack("<QQQQII", found, 0, 60, 60, 0, 0) + \
                attributes(found)
        return ENOSYS, b""


def quick(c, what):
    began = time.monotonic()
    c.call("environment/status")
    took = time.monotonic() - began
    in_time(took < 1 * SCALE, "%s: a status took %.3f s" % (what, took))


def are(c, names, what):
    """What is known of some processes: {False}, {True} or both."""
    return {p[what] for p in c.call("process/list")["processes"]
            if p["processId"] in names}


def has_only_its_own(c, name):
    """No descriptor of its worker, which would keep alive what that closes."""
    pid = [p["pid"] for p in c.call("process/list")["processes"]
           if p["processId"] == name][0]
    return sorted(os.listdir("/proc/%d/fd" % pid)) == ["0", "1", "2"]


def stalled(name, ends):
    """Start what will wait; all the rest goes on; end it."""
    top = folder(name)
    fuse = Fuse(top + "/mount")
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    program, where = top + "/mount/program", top + "/mount/folder"
    for path in (program, where):
        c.call("fs/getMetadata", paths(path))
    if ends:
        fuse.deafen()
    cases = {"program": (OPEN, program, "/tmp"),
             "folder": (ACCESS, "/bin/true", where)}
    for process, (kind, argv, cwd) in cases.items():
        number = c.start(process, argv, wait=False, cwd=uri(cwd))
        quick(c, process)
        check(c.answer(number), "no start")
        wait_for(lambda k=kind: ends or k in fuse.seen, LIMIT, "it waits")
    check(are(c, cases, "exited") == {False}, "they do not wait")
    for process in cases:
        wait_for(lambda p=process: has_only_its_own(c, p), LIMIT,
                 "no descriptors more")
    # They are processes like others, and so is what comes after them.
    for n in range(20):
        check(c.run("r%d" % n, "/bin/echo", "hi")[0] == b"hi\n", "another")
    for process in cases:
        c.call("process/terminate", {"processId": process})
    quick(c, "what was terminated")
    if not ends:
        fuse.abort()
    wait_for(lambda: are(c, cases, "closed") == {True}, LIMIT, "they are over")
    wait_for(lambda: not workers_children(worker), LIMIT, "none is left")
    check(c.run("last", "/bin/echo", "hi")[0] == b"hi\n", "the last one")
    server.stop()


def killable():
    stalled("killable", True)


def unkillable():
    stalled("unkillable", False)


def looked_up():
    """What is in no cache is looked for first: nothing is started that would
    wait."""
    top = folder("looked_up")
    fuse = Fuse(top + "/mount")
    fuse.deafen()
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    numbers = []
    for process, argv, cwd in (("folder", "/bin/true", top + "/mount/f"),
                               ("program", top + "/mount/p", "/tmp")):
        numbers.append(c.start(process, argv, wait=False, cwd=uri(cwd)))
        quick(c, process)
        check(c.call("process/terminate", {"processId": process})["running"],
              "it is not known")
    check(not c.answers, "they were started")
    os.close(fuse.fd)
    for number in numbers:
        try:
            check(False, "it was started: %s" % c.answer(number))
        except RpcError as e:
            check("terminated before it was started" in e.text, e.text)
    wait_for(lambda: not workers_children(worker), LIMIT, "none is left")
    server.stop()


def alone(test):
    def run():
        if os.getuid() != 0:
            skip("only root can mount")
        apart(test)
    run.__name__ = test.__name__
    return run


main(alone(killable), alone(unkillable), alone(looked_up))
