"""992: who is stopped hears that it shall end, and who hides is looked for before
the process dies through which it is known."""
import base64
import importlib
import os
import shutil
import signal
import time

from client import (LIMIT, SCALE, TMP, Client, Server, a_word, check, connect,
                    dial, in_time, main, say, stat_of, wait_for, with_word)

ctl = importlib.import_module("7common").ctl

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Says so when it is asked to end; but it stands still.
STOPPED = "trap 'echo heard; echo >%s; exit 6' TERM; echo $$; kill -STOP $$; " \
    "while :; do sleep 0.05; done"


def stopped(c, path):
    """Start one; it is when it stands still."""
    c.start("p", "sh", "-c", STOPPED % path)
    m = c.note("process/output")
    pid = int(base64.b64decode(m["chunk"]))
    wait_for(lambda: stat_of(pid)[0] == "T", LIMIT, "it stops")


def terminated():
    """It goes on to hear of it, while there is time."""
    server, path = Server(), TMP + "/terminated"
    c = connect(server.url)
    stopped(c, path)
    c.call("process/terminate", {"processId": "p", "graceMs": 600000})
    check(c.note("process/exited")["exitCode"] == 6, "it was killed")
    check(os.path.exists(path), "it did not hear of it")
    server.stop()


def closed():
    """So it does when its session ends."""
    server, path = Server("TerminateGrace=600"), TMP + "/closed"
    c = connect(server.url)
    stopped(c, path)
    c.call("session/close")
    wait_for(lambda: os.path.exists(path), LIMIT, "it hears of it")
    wait_for(lambda: server.has_logged("ended: closed by its client"), LIMIT,
             "the end")
    server.stop()


def whole_group():
    """Not its first process alone is told, but who is with it."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sh", "-c", "trap '' TERM; (trap 'echo bye; exit' TERM; "
            "echo ready; while :; do sleep 0.05; done); exit 4")
    check(c.note("process/output")["seq"] == 1, "not ready")
    c.call("process/terminate", {"processId": "p", "graceMs": 600000})
    check(c.note("process/exited")["exitCode"] == 4, "it was killed")
    server.stop()


def kept_open():
    """Who has a command's output open, and is not of the session, does not
    keep it from its end: the client is told what can be told."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sh", "-c", "echo $$; exec sleep 1000")
    pid = int(base64.b64decode(c.note("process/output")["chunk"]))
    with open("/proc/%d/fd/1" % pid, "wb"):
        began = time.monotonic()
        ctl(server, "kill", c.session)
        c.note("process/exited")
        check(c.wait_closed(LIMIT), "the connection goes on")
        in_time(time.monotonic() - began < 2 * SCALE, "its end")
    server.stop()


def nobody_comes():
    """While sessions have their time to end no client is let wait."""
    server = Server("TerminateGrace=600")
    c = connect(server.url)
    c.start("p", "sh", "-c", "trap 'echo heard' TERM; echo ready; "
            "while :; do sleep 0.05; done")
    c.note("process/output")
    server.process.send_signal(signal.SIGTERM)
    c.note("process/output")
    try:
        dial(server.url).close()
        check(False, "it still listens")
    except ConnectionRefusedError:
        pass
    server.stop()


def as_nobody(url):
    if os.geteuid() != 0:
        return connect(url)
    os.seteuid(65534)
    try:
        c = Client(url, upgrade=False)
    finally:
        os.seteuid(0)
    c.upgrade()
    return c.initialize()


def hidden():
    """One without the mark, in a session of its own: without control groups it
    is known by its parent only, as long as that is there."""
    if not shutil.which("bash"):
        say("  left out: no bash, which can change the mark")
        return
    server = Server(prefix=() if os.geteuid() else NOBODY)
    c = as_nobody(server.url)
    groups, _ = c.run("groups", "cat", "/proc/self/cgroup")
    if b"/execsrv-" in groups:
        say("  left out: there are control groups")
        server.stop()
        return
    # So many that it takes a moment to look at all.
    for i in range(100):
        c.start("other%d" % i, "sleep", "600")
    for i in range(20):
        word = a_word("hidden%d" % i)
        c.start("p%d" % i, "sh", "-c", "setsid bash -c 'ulimit -x 4; "
                "exec sleep %s' & wait" % word)
        wait_for(lambda w=word: with_word(w), LIMIT, "one that hides")
        c.call("process/terminate", {"processId": "p%d" % i})
        c.note("process/closed", "p%d" % i)
        wait_for(lambda w=word: not with_word(w), LIMIT, "its end")
    server.stop()


main(terminated, closed, whole_group, kept_open, nobody_comes, hidden)
