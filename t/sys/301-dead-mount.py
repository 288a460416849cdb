"""A FUSE file system that nobody serves: whoever asks it waits for ever."""
import os
import time

from client import (RpcError, Server, TooSlow, check, descendants, in_time,
                    is_alive, main, resume_in, say, skip, wait_for, worker_of,
                    LIMIT, SCALE, TRIES)
from fscommon import (apart, fill, folder, light, mount, paths, uri,
                      workers_children, MIB)

OPTIONS = {"maxDepth": 9, "maxDirectories": 9, "maxEntries": 9,
           "followDirectorySymlinks": True}


def hang(top):
    """A mount at top/mount; the descriptor that keeps it."""
    os.mkdir(top + "/mount")
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    if not mount("dead", top + "/mount", "fuse", "fd=%d,rootmode=40000,"
                 "user_id=0,group_id=0,allow_other" % fuse):
        return None
    os.symlink("mount/deep/er", top + "/link")
    return fuse


def requests(top, turn):
    dead, link, good = top + "/mount", top + "/link", top + "/file"
    for path in (dead + "/x", dead, link):
        yield "fs/readFile", paths(path)
        yield "fs/writeFile", paths(path, dataBase64="eA==")
        yield "fs/createDirectory", paths(path + "/y")
        yield "fs/getMetadata", paths(path)
        yield "fs/canonicalize", paths(path)
        yield "fs/readDirectory", paths(path)
        yield "fs/walk", paths(path, options=OPTIONS)
        yield "fs/remove", paths(path + "/z")
        yield "fs/copy", {"sourcePath": uri(path), "recursive": True,
                          "destinationPath": uri(top + "/copy")}
        yield "fs/copy", {"sourcePath": uri(good), "recursive": True,
                          "destinationPath": uri(path)}
        yield "fs/open", paths(path, handleId="r%d%s" % (turn, path[-9:]))
        yield "fs/open", paths(path, mode="replace",
                                handleId="w%d%s" % (turn, path[-9:]))
    yield "fs/walk", paths(top, options=OPTIONS)
    yield "fs/readDirectory", paths(top)


def quick(c, top, what, ask=lambda turn: None):
    """Behind what is asked here; asked once more where that was too slow."""
    for turn in range(TRIES):
        ask(turn)
        began = time.monotonic()
        c.call("environment/status")
        check(c.call("fs/getMetadata", paths(top + "/file"))["size"] ==
              3 * MIB, "another file")
        took = time.monotonic() - began
        if took < 0.2 * SCALE:
            return
    raise TooSlow("behind %s: %.3f s" % (what, took))


def each_method():
    top = folder("each")
    fuse = hang(top)
    if fuse is None:
        say("  left out: no FUSE")
        return
    fill(top + "/file", bytes(3 * MIB))
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    quick(c, top, "nothing")
    turns = [list(requests(top, turn)) for turn in range(TRIES)]
    for n, (method, _) in enumerate(turns[0]):
        quick(c, top, method, lambda turn, n=n: c.request(*turns[turn][n]))
    # What is done elsewhere, off the worker, goes on as well.
    check(c.call("fs/readFile", paths(top + "/file"))["size"] > 4 * MIB,
          "too short")
    say("  %d of %d answered" % (len(c.answers), len(turns[0])))
    wait_for(lambda: len(workers_children(worker)) > 20, LIMIT, "many hang")
    all_of_it = descendants(server.pid)
    # A resumed session is as quick, with all of those behind it.
    c.reset()
    began = time.monotonic()
    c = resume_in(server.url, c.session, LIMIT)
    in_time(time.monotonic() - began < 1 * SCALE, "resuming took long")
    quick(c, top, "what hangs")
    wait_for(lambda: not workers_children(worker), LIMIT,
             "those that nobody waits for any more are gone")
    # Nor does the end wait.
    c.request("fs/readFile", paths(top + "/mount/x"))
    quick(c, top, "one more")
    took = server.stop(limit=5)
    say("  stopped after %.2f s" % took)
    wait_for(lambda: not any(map(is_alive, all_of_it)), LIMIT,
             "nothing is left")
    os.close(fuse)


def more_than_may_run():
    """So many hang that no more may begin: quick ones are still served."""
    top = folder("many")
    fuse = hang(top)
    if fuse is None:
        return
    fill(top + "/file", bytes(3 * MIB))
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    for _ in range(300):
        c.request("fs/getMetadata", paths(top + "/mount/x"))
    quick(c, top, "300")
    wait_for(lambda: len(workers_children(worker)) == 64, LIMIT,
             "64 are under way")
    quick(c, top, "300")
    check(len(workers_children(worker)) == 64, "more than may be")
    c.reset()
    wait_for(lambda: not workers_children(worker), LIMIT, "all are gone")
    server.stop()
    os.close(fuse)


def start_there():
    """A command whose folder does not answer."""
    top = folder("start")
    fuse = hang(top)
    if fuse is None:
        return
    fill(top + "/file", bytes(3 * MIB))
    server = Server()
    c = light(server.url)
    quick(c, top, "nothing")
    for name in "mount", "link":
        quick(c, top, "a start in " + name, lambda turn, name=name: c.start(
            "%s%d" % (name, turn), "true", wait=False,
            cwd=uri(top + "/" + name)))
    number = c.start("q", "true", wait=False, cwd=uri(top + "/link"))
    # It is there already, and can be ended before it has begun.
    refused(lambda: c.start("q", "true"), "already exists")
    c.call("process/terminate", {"processId": "q"})
    quick(c, top, "the end of it")
    os.close(fuse)
    refused(lambda: c.answer(number), "terminated before")
    server.stop()


def refused(fn, why):
    try:
        fn()
    except RpcError as e:
        check(why in e.text, "%s, not %s" % (e.text, why))
        return
    check(False, "taken: " + why)


def alone(test):
    def run():
        if os.getuid() != 0:
            skip("only root can mount")
        apart(test)
    run.__name__ = test.__name__
    return run


main(alone(each_method), alone(more_than_may_run), alone(start_there))
