"""942: a template that is stopped is replaced, and readiness says so; clients
that it had to serve wait, and are served by the next."""
import contextlib
import importlib
import os
import signal
import threading
import time

from client import (Server, check, connect, freeze, in_time, is_alive, main,
                    probe, say, settled, stat_of, wait_for, LIMIT, SCALE)

lib = importlib.import_module("7common")


def template_of(server):
    """The oldest of the children."""
    return min(server.workers(), key=lambda pid: int(stat_of(pid)[19]))


def is_ready(server):
    return lib.ask(server, "status")["ready"]


def hangs():
    server = Server("SpareWorkers=2", "MaxSpareWorkers=2")
    settled(server, 2)
    # With a session, so that it is not ended for want of anything to do.
    other = connect(server.url)
    settled(server, 3)
    template = template_of(server)
    freeze(template)
    began = time.monotonic()
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.add(is_ready(server))
            time.sleep(0.02)
    watcher = threading.Thread(target=look)
    watcher.start()

    def comes_in():
        probe(server.url)
        return server.has_logged("did not answer in time: killed")
    try:
        wait_for(comes_in, LIMIT, "it is found out")
        probe(server.url)
        took = time.monotonic() - began
        say("  clients are served again after %.2f s" % took)
        in_time(took < 6 * SCALE, "served after %.2f s" % took)
        wait_for(lambda: is_ready(server) is True, LIMIT, "ready")
    finally:
        stop.set()
        watcher.join()
        with contextlib.suppress(ProcessLookupError):
            os.kill(template, signal.SIGCONT)
    check(False in seen, "it was always ready: %s" % seen)
    wait_for(lambda: not is_alive(template), LIMIT, "the old one is gone")
    check(other.run("p", "echo", "x") == (b"x\n", 0), "a session of before")
    other.close()
    server.stop()


main(hangs)
