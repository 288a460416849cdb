"""220: what process/terminate costs the worker, by how many processes its
session has besides: each look went over all of them and all below them."""
import importlib
import os

lib = importlib.import_module("2common")
ENDED = 40
MANY = 700


def start(client, name):
    client.start(name, "sh", "-c", "sleep 100000 & wait",
                 env={"PATH": os.environ["PATH"]})


def cost(server, client):
    """Of ending some, in milliseconds each."""
    for n in range(ENDED):
        start(client, "e%d" % n)
    worker = server.worker_of(server.pid_of(client, "e0"))
    kids = lib.children(server.pid_of(client, "e0"))
    before = lib.used(worker)
    for n in range(ENDED):
        client.call("process/terminate", processId="e%d" % n)
        lib.check(client.note("e%d" % n, "process/closed"), "e%d stays" % n)
    lib.check(lib.wait_until(lambda: not any(map(lib.lives, kids))),
              "what it started stays")
    client.notes.clear()
    return (lib.used(worker) - before) / ENDED / 1e6


with lib.Server(unix=True) as server:
    uid = lib.NOBODY if os.geteuid() == 0 else None
    with lib.Client(server.url, uid=uid) as client:
        few = cost(server, client)
        client.call("session/close")
    with lib.Client(server.url, uid=uid) as client:
        for n in range(MANY):
            start(client, "m%d" % n)
        many = cost(server, client)
        client.call("session/close")
print("%.2f ms each, %.2f ms among %d others" % (few, many, MANY))
lib.check(many < 3 * few + 3, "among many: %.2f ms, not %.2f" % (many, few))
lib.finish()
