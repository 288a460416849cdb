"""Who dies in the middle of fs/writeFile leaves old or new content."""
import base64
import os
import random
import signal
import threading
import time

from client import (Closed, RpcError, Server, check, children, connect, main,
                    say, worker_of, LIMIT, TMP)
from fscommon import (apart, fill, folder, light, mount, paths, uri,
                      workers_children, MIB)

SIZES = [4096, 1 << 20, 3 * MIB, 20 * MIB]
ROUNDS = 10


def requests():
    """For each size, two contents and what asks to write them."""
    for size in SIZES:
        yield size, [(letter * size, base64.b64encode(letter * size).decode())
                     for letter in (b"A", b"B")]


def killer(worker, victim, delay):
    time.sleep(delay)
    try:
        for pid in [worker] if victim == "worker" else \
                workers_children(worker):
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def connected(url):
    """A worker that was just killed may have been given to us."""
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            return light(url)
        except (Closed, OSError):
            check(time.monotonic() < deadline, "nobody serves")


def write_until_killed(server, path, contents, victim, delay):
    """How many writes there were; the last one was interrupted, perhaps."""
    c = connected(server.url)
    worker = worker_of(server, c)
    thread = threading.Thread(target=killer, args=(worker, victim, delay))
    thread.start()
    writes = 0
    try:
        while thread.is_alive():
            c.call("fs/writeFile",
                   paths(path, dataBase64=contents[writes % 2][1]))
            writes += 1
    except (Closed, OSError):
        check(victim == "worker", "the connection was lost")
    except RpcError as e:
        check(victim == "child" and "was killed" in e.text,
              "failed: %s" % e)
    thread.join()
    c.close()
    return writes


def killed():
    random.seed(os.getpid())
    top = folder("killed")
    server = Server()
    writes, left = 0, 0
    for size, contents in requests():
        path = "%s/f%d" % (top, size)
        fill(path, contents[1][0])
        os.chmod(path, 0o640)
        for i in range(ROUNDS):
            victim = "child" if size > 2 * MIB and i % 2 else "worker"
            writes += write_until_killed(server, path, contents, victim,
                                         random.uniform(0, 0.05 + size / 1e8))
            with open(path, "rb") as f:
                now = f.read()
            check(now in (contents[0][0], contents[1][0]),
                  "neither old nor new: %d bytes" % len(now))
            check(os.stat(path).st_mode & 0o7777 == 0o640, "another mode")
    for name in os.listdir(top):
        if not name.startswith("f"):
            # Between getting a name and taking the old one's place.
            check(name.startswith(".execsrv-") and name.endswith(".tmp") and
                  os.stat("%s/%s" % (top, name)).st_size in SIZES,
                  "left behind: %s" % name)
            left += 1
    say("  %d kills, %d writes, %d temporary names left" %
        (ROUNDS * len(SIZES), writes, left))
    # A file that had its second name while it was written would leave most.
    check(left <= ROUNDS * len(SIZES) // 4, "too many temporary names")
    server.stop()


def fails(c, method, params, text):
    try:
        c.call(method, params)
    except RpcError as e:
        check(e.code == -32603 and text in e.text, "another error: %s" % e)
        return
    raise AssertionError("no error")


def disk_full():
    top = folder("full")
    if not mount("small", top, "tmpfs", "size=64k"):
        say("  left out: no tmpfs")
        return
    fill(TMP + "/source", bytes(MIB))
    server = Server()
    c = connect(server.url)
    fill(top + "/old", b"old" * 5000)
    os.link(top + "/old", top + "/hard")
    os.unlink(top + "/hard")
    big = base64.b64encode(bytes(60000)).decode()
    huge = base64.b64encode(bytes(3 * MIB)).decode()
    for data in (big, huge):
        for name in ("old", "new"):
            fails(c, "fs/writeFile", paths("%s/%s" % (top, name),
                                           dataBase64=data), "No space left")
        with open(top + "/old", "rb") as f:
            check(f.read() == b"old" * 5000, "the old content is lost")
        check(os.listdir(top) == ["old"], "left: %s" % os.listdir(top))
    c.call("fs/open", paths(top + "/blocks", handleId="h", mode="replace"))
    fails(c, "fs/writeBlock", {"handleId": "h", "offset": 0, "chunk": big},
          "No space left")
    c.call("fs/open", paths(top + "/blocks", handleId="i", mode="replace"))
    c.call("fs/writeBlock", {"handleId": "h", "offset": 0, "chunk": "eA=="})
    c.call("fs/writeFile", paths(top + "/old", dataBase64="bmV3"))
    with open(top + "/old", "rb") as f:
        check(f.read() == b"new", "not written")
    fails(c, "fs/copy", {"sourcePath": uri(TMP + "/source"),
                         "destinationPath": uri(top + "/copy"),
                         "recursive": False}, "No space left")
    check(c.call("fs/getMetadata", paths(top + "/old"))["size"] == 3, "size")
    c.close()
    server.stop()


def full():
    if os.getuid() != 0:
        say("  left out: only root can mount")
        return
    apart(disk_full)


def group_kept():
    """A file of our own with a group that is not ours keeps it."""
    if os.getuid() != 0:
        say("  left out: only root can make that")
        return
    top = folder("group")
    os.chmod(top, 0o777)
    fill(top + "/f", b"old")
    os.chown(top + "/f", 65534, 12345)
    os.chmod(top + "/f", 0o660)
    fill(top + "/mine", b"old")
    os.chown(top + "/mine", 65534, 65534)
    os.link(top + "/mine", top + "/hard")
    server = Server()
    os.seteuid(65534)           # whose connection, his worker
    try:
        c = connect(server.url)
    finally:
        os.seteuid(0)
    for name in ("f", "mine"):
        before = os.stat("%s/%s" % (top, name))
        c.call("fs/writeFile", paths("%s/%s" % (top, name),
                                     dataBase64="bmV3"))
        after = os.stat("%s/%s" % (top, name))
        check((before.st_uid, before.st_gid, before.st_mode, before.st_nlink)
              == (after.st_uid, after.st_gid, after.st_mode, after.st_nlink),
              "%s: %s became %s" % (name, before, after))
    with open(top + "/hard", "rb") as f:
        check(f.read() == b"new", "the hard link is another file now")
    c.close()
    server.stop()


def in_place():
    """Blocks of a local file are written and read by the worker itself."""
    top = "/dev/shm"
    if not os.path.ismount(top):
        say("  left out: no " + top)
        return
    name = "%s/%d-blocks" % (top, os.getpid())
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    try:
        c.call("fs/open", paths(name, handleId="w", mode="replace"))
        c.call("fs/writeBlock", {"handleId": "w", "offset": 0,
                                 "chunk": "eA=="})
        c.call("fs/close", {"handleId": "w"})
        c.call("fs/open", paths(name, handleId="r"))
        read = c.call("fs/readBlock", {"handleId": "r", "offset": 0,
                                       "len": 10})
        check(read["chunk"] == "eA==", "%s" % read)
        check(not children(worker), "another process for a local file")
    finally:
        os.unlink(name)
    c.close()
    server.stop()


main(killed, full, group_kept, in_place)
