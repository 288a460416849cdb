"""What tests of the next master share: one that is killed, its successor."""
import os
import signal

from client import Server, check, stat_of, wait_for, LIMIT


class Next(Server):
    """A server in the place of another one: its directory and addresses."""

    def __init__(self, former, *options, **more):
        super().__init__("RuntimeDirectory=" + former.run, *options,
                         listen=tuple(former.urls), run=False, **more)
        self.run = former.run


def kill(server):
    """As the OOM killer does it."""
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()


def adopted(server, number):
    """Wait until it has so many sessions of the former one."""
    wait_for(lambda: int(server.status()["adopted"]) == number, LIMIT,
             "%d are adopted" % number)
    check(int(server.status()["not_adopted"]) == 0, "somebody was refused")


def worker_now(client, process):
    """The pid of the worker that serves a client, whoever its parent is."""
    out, _ = client.run(process, "sh", "-c", "echo $PPID")
    check(stat_of(int(out)) is not None, "no such worker")
    return int(out)
