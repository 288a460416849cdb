"""The limit of descriptors lowered on the living process (prlimit)."""
import contextlib
import os
import resource
import time

from client import (Client, RpcError, Server, a_word, check, connect, cpu,
                    dial, fds, main, probe, resume_in, say, settled, skip,
                    wait_for, worker_of, LIMIT, SCALE)


def highest(pid):
    return max(int(n) for n in os.listdir("/proc/%d/fd" % pid)) + 1


@contextlib.contextmanager
def limited(pid, number):
    """RLIMIT_NOFILE is about numbers: none at or above this one."""
    try:
        old = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (number, old[1]))
    except PermissionError:
        skip("prlimit is not permitted")
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, old)


def calm(pid, seconds=1.5):
    """Less than a tenth of a processor, once it has done what it had to do."""
    def used():
        before = cpu(pid)
        time.sleep(seconds)
        return cpu(pid) - before
    wait_for(lambda: used() < seconds / 10, LIMIT, "process %d is calm" % pid)


def master():
    server = Server()
    c, gone = connect(server.url), connect(server.url)
    gone.start("p", "sleep", a_word("master"))
    for spare in (0, 1, 2, 3):
        # A probe's session stays for a while, with the output of its command.
        settled(server, 10 + spare)
        waiting, base = [], fds(server.pid)
        with limited(server.pid, base + spare):
            for i in range(20):
                waiting.append(dial(server.url))
            calm(server.pid)
            check(c.run("p%d" % spare, "echo", "x") == (b"x\n", 0),
                  "a session does not go on")
        took = probe(server.url, 3 * SCALE)
        say("  %d spare: back after %.2f s" % (spare, took))
        for s in waiting:
            s.close()
    settled(server, 14)
    base = fds(server.pid)
    # A resume that fails then succeeds later; the session is not harmed.
    gone.reset()
    waiting = Client(server.url)
    with limited(server.pid, base):
        with contextlib.suppress(Exception):
            waiting.initialize(gone.session, 2)
    waiting.close()
    again = resume_in(server.url, gone.session, LIMIT)
    r = again.call("process/read", {"processId": "p"})
    check(not r["exited"], "its process is gone")
    again.close()
    c.close()
    check("malformed" not in server.log(), "a worker was blamed: " +
          server.log()[-500:])
    server.stop()


def worker():
    server = Server()
    c = connect(server.url)
    pid = worker_of(server, c)
    c.start("cat", "cat", pipeStdin=True)
    base = highest(pid)
    failed = 0
    for spare in range(-4, 8):
        with limited(pid, base + spare):
            for tty in (False, True):
                try:
                    c.start("p%d%d" % (spare, tty), "true", tty=tty,
                            pipeStdin=True)
                except RpcError as e:
                    check(e.code == -32603, "start: %s" % e)
                    failed += 1
            c.call("process/write", {"processId": "cat", "chunk": "eAo=",
                                     "writeId": "%d" % spare})
            check(c.note("process/output", "cat")["chunk"] == "eAo=",
                  "echo")
        for tty in (False, True):
            with contextlib.suppress(RpcError):
                c.call("process/terminate",
                       {"processId": "p%d%d" % (spare, tty)})
    check(failed > 3, "only %d starts failed" % failed)
    with limited(pid, base):
        calm(pid, 0.5)
    check(c.run("last", "echo", "x") == (b"x\n", 0), "no recovery")
    wait_for(lambda: highest(pid) <= base, LIMIT, "descriptors leaked")
    # Detached without descriptors: a resume is refused or done, then done.
    c.reset()
    with limited(pid, 4):
        with contextlib.suppress(Exception):
            connect(server.url, c.session).close()
    again = resume_in(server.url, c.session, LIMIT)
    again.call("process/terminate", {"processId": "cat"})
    again.close()
    server.stop()


if __name__ == "__main__":
    main(master, worker)
