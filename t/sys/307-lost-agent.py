"""An agent that is killed while its child works, and cannot be replaced."""
import base64
import contextlib
import os
import resource
import signal

from client import (RpcError, Server, check, children, in_time, is_alive, main,
                    stat_of, wait_for, worker_of, LIMIT)
from fscommon import fill, folder, light, paths, uri, workers_children

FILES = 5000
LONG = base64.b64encode(bytes(3 << 20)).decode()


def copy(source, to):
    return {"sourcePath": uri(source), "destinationPath": uri(to),
            "recursive": True}


def killed():
    top = folder("lost")
    os.mkdir(top + "/tree")
    for i in range(FILES):
        fill("%s/tree/%d" % (top, i), b"x")
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    number = c.request("fs/copy", copy(top + "/tree", top + "/copy"))
    c.pump()
    child = wait_for(lambda: workers_children(worker), LIMIT, "under way")[0]
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGSTOP)
    # Who stands still meanwhile comes too late.
    wait_for(lambda: not is_alive(child) or stat_of(child)[0] == "T", LIMIT,
             "it is stopped")
    in_time(is_alive(child), "it was over before")
    agent = [p for p in children(worker) if child in children(p)][0]
    os.kill(agent, signal.SIGKILL)
    wait_for(lambda: not is_alive(agent), LIMIT, "the agent is gone")
    limits = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        # So much that the worker does not even look where it goes.
        c.call("fs/writeFile", paths(top + "/f", dataBase64=LONG))
        check(False, "written by nobody")
    except RpcError as e:
        check("open files" in str(e), "instead of no descriptors: %s" % e)
    resource.prlimit(worker, resource.RLIMIT_NOFILE, limits)
    os.kill(child, signal.SIGCONT)
    c.answer(number)
    check(len(os.listdir(top + "/copy")) == FILES, "not all was copied")
    c.call("fs/copy", copy(top + "/tree", top + "/again"))
    check(len(os.listdir(top + "/again")) == FILES, "not all, by the next")
    c.close()
    server.stop()


main(killed)
