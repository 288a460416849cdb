"""A disconnect in the middle: what is under way ends soon, nothing stays."""
import os
import time

from client import (Server, check, children, fds, in_time, main, resume_in,
                    say, wait_for, worker_of, LIMIT, SCALE)
from fscommon import (fill, folder, light, many_files, paths, uri,
                      workers_children, MIB)

AGAIN = ("fs/readFile", "fs/walk")
OPTIONS = {"maxDepth": 64, "maxDirectories": 10000, "maxEntries": 50000,
           "followDirectorySymlinks": False}


def tree(path, folders, each):
    os.mkdir(path)
    for i in range(folders):
        os.mkdir("%s/%d" % (path, i))
        for k in range(each):
            fill("%s/%d/%d" % (path, i, k), b"x")


def count(path):
    return sum(len(names) for _, _, names in os.walk(path))


def cut(server, c, worker, name, method, params):
    """Ask, wait until somebody works on it, and go. What was over before we had
    a look, and can be asked again, is."""
    number = [c.request(method, params)]

    def is_under_way():
        c.pump()
        if c.answers.pop(number[0], None):
            in_time(method in AGAIN, name + " was over at once")
            number[0] = c.request(method, params)
        return workers_children(worker)

    wait_for(is_under_way, LIMIT, name + " is under way")
    c.reset()
    began = time.monotonic()
    wait_for(lambda: not workers_children(worker), LIMIT,
             name + " is not over")
    took = time.monotonic() - began
    say("  %s: over after %.2f s" % (name, took))
    in_time(took < 2 * SCALE, "%s: %.2f s" % (name, took))
    return resume_in(server.url, c.session, LIMIT)


def one_by_one():
    top = folder("one")
    tree(top + "/tree", 200, 100)
    many_files(top + "/many", 60000)
    fill(top + "/f", os.urandom(MIB) * 400)
    with open(top + "/40", "wb") as f:
        f.truncate(40 * MIB)
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    before = fds(worker) if os.getuid() == 0 else 0
    c = cut(server, c, worker, "copying a tree", "fs/copy", {
        "sourcePath": uri(top + "/tree"), "recursive": True,
        "destinationPath": uri(top + "/copy")})
    in_time(count(top + "/copy") < 20000, "all was copied")
    c = cut(server, c, worker, "copying a file", "fs/copy", {
        "sourcePath": uri(top + "/f"), "recursive": False,
        "destinationPath": uri(top + "/g")})
    c = cut(server, c, worker, "removing", "fs/remove",
            paths(top + "/many"))
    in_time(count(top + "/many") > 0, "all was removed")
    c = cut(server, c, worker, "walking", "fs/walk",
            paths(top + "/tree", options=OPTIONS))
    c = cut(server, c, worker, "reading", "fs/readFile", paths(top + "/40"))
    # All is well: the same worker goes on, with no more descriptors.
    check(c.call("fs/getMetadata", paths(top + "/f"))["isFile"], "a file")
    check(children(worker), "the holder is gone")
    if before:
        wait_for(lambda: fds(worker) <= before + 2, LIMIT,
                 "descriptors: %d, %d before" % (fds(worker), before))
    c.reset()
    server.stop()


def many_waiting():
    """What had not begun when the client left does not begin then."""
    top = folder("many")
    tree(top + "/tree", 20, 50)
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    for i in range(1000):
        c.request("fs/copy", {"sourcePath": uri(top + "/tree"),
                              "destinationPath": uri("%s/copy%d" % (top, i)),
                              "recursive": True})
    wait_for(lambda: workers_children(worker), LIMIT, "under way")
    c.reset()
    began = time.monotonic()
    # The worker has to be given a turn among them to hear of it.
    wait_for(lambda: not workers_children(worker), LIMIT, "not over")
    say("  over after %.2f s" % (time.monotonic() - began))
    made = len([n for n in os.listdir(top) if n.startswith("copy")])
    say("  %d of 1,000 copies were begun" % made)
    check(made < 1000, "all of them were begun")
    c = resume_in(server.url, c.session, LIMIT)
    check(made == len([n for n in os.listdir(top) if n.startswith("copy")]),
          "they go on")
    c.close()
    server.stop()


main(one_by_one, many_waiting)
