"""624: what a resumed client has read goes, though nothing more is put out."""
import os

from client import LIMIT, TMP, Server, connect, main, resume_in, wait_for

SIZE = 6 << 20
KEPT = 1 << 20                  # LIMIT_RETAINED
THEN = {"closed": "exit 0", "running": "exec sleep 100000"}


def read(c, process, after, size=1 << 20):
    return c.call("process/read", {"processId": process, "afterSeq": after,
                                   "maxBytes": size, "waitMs": 0})["chunks"]


def whole(c, process):
    """How much of it there was, for somebody who reads it to its end."""
    total, last = 0, 0
    while chunks := read(c, process, last):
        total += sum(len(k["chunk"]) * 3 // 4 for k in chunks)
        last = chunks[-1]["seq"]
    return total


def is_held(c, process):
    """Whether its beginning can be read, still."""
    chunks = read(c, process, 0, 1)
    return bool(chunks) and chunks[0]["seq"] == 1


def quiet():
    server = Server()
    c = connect(server.url)
    for process, then in THEN.items():
        c.start(process, "sh", "-c", "head -c %d /dev/zero; : >%s/%s; %s" %
                (SIZE, TMP, process, then))
    c.reset()
    for process in THEN:
        wait_for(lambda p=process: os.path.exists("%s/%s" % (TMP, p)), LIMIT,
                 "its output")
    with resume_in(server.url, c.session, LIMIT) as c:
        for process in THEN:
            size = whole(c, process)
            print("%s: %d bytes" % (process, size))
        for process in THEN:
            wait_for(lambda p=process: not is_held(c, p), LIMIT,
                     "%s: the rest goes" % process)
            size = whole(c, process)
            print("%s: %d bytes stay" % (process, size))
            assert size < 3 * KEPT, size
    server.stop()


main(quiet)
