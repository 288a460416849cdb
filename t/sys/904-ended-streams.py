"""Output that waits (for room, or paced because it comes in crumbs) when its
process ends, and other output after it: the worker died of a null event.
"""
from client import Client, Server, check, connect, main, probe

CRUMBS = "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done"


class Deaf(Client):
    """Answers no ping until told to."""
    pings = None

    def on_frame(self, op, fin, data):
        if op == 9 and self.pings is not None:
            self.pings.append(data)
        else:
            super().on_frame(op, fin, data)


def paced_one_by_one():
    server = Server()
    with connect(server.url) as c:
        for i in range(20):
            out, _ = c.run("p%d" % i, "sh", "-c", CRUMBS)
            check(out.count(b"\n") == 3000, "output of %d" % i)
    check("died" not in server.log(), "a worker died")
    server.stop()


def paced_at_once():
    server = Server()
    with connect(server.url) as c:
        for i in range(10):
            c.start("p%d" % i, "sh", "-c", CRUMBS)
        for i in range(10):
            c.call("process/terminate", {"processId": "p%d" % (9 - i)})
        c.run("q", "sh", "-c", CRUMBS)
    check("died" not in server.log(), "a worker died")
    server.stop()


def held():
    """Terminated while the window is full, then acknowledged."""
    server = Server("OutputWindow=256K")
    with Deaf(server.url).initialize() as c:
        c.pings = []
        c.start("p", "cat", "/dev/zero")
        while c.ready(0.3):             # until it is held back
            c.take()
        check(c.call("process/terminate", {"processId": "p"})["running"],
              "it ran")
        c.note("process/closed")
        pings, c.pings = c.pings, None
        for data in pings:
            c.on_frame(9, True, data)
        c.call("environment/status")
        check(c.run("q", "echo", "x") == (b"x\n", 0), "a command")
    check("died" not in server.log(), "a worker died")
    probe(server.url)
    server.stop()


main(paced_one_by_one, paced_at_once, held)
