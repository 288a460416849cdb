"""208: signals that hit a child before it executes its program."""
import importlib
import os
import signal
import subprocess
import time

lib = importlib.import_module("2common")
box = importlib.import_module("6common")

SIGNALLER = os.path.join(lib.BUILD, "t", "208-signaller")
SECONDS = 4             # an attack lasts
ANSWER = 2              # seconds within which everything is answered
STARTS = 400


def lonely_user():
    """A number that no process has: all that it has gets signals."""
    taken = {lib.owner_of(pid) for pid in lib.all_pids()}
    return next(u for u in range(23500, 24500) if u not in taken)


def kinds_of_start(can_box):
    yield "plain", {}
    yield "terminal", {"tty": True}
    yield "no program", {"argv": "/nonexistent/program"}
    if can_box:
        yield "sandbox", {"sandbox": box.read_only("/")}


def start(client, name, argv="/bin/true", **more):
    """Whether it was started; how long the answer took."""
    began = time.monotonic()
    try:
        client.start(name, argv, cwd="/", **more)
        started = True
    except lib.RpcError:
        started = False
    return started, time.monotonic() - began


def fire(client, name, mode, sig):
    client.start(name, SIGNALLER, mode, str(int(sig)), str(SECONDS), cwd="/")
    lib.check(client.note(name, "process/output"), "no signaller")


def judge(what, name, sig, ok):
    """
    Whether it should have been started.  One that is held up counts as started,
    and so does one that is killed, but not on the way to its sandbox: what
    happens to it there is told as an error, seldom when it is only stopped.
    """
    lib.check(ok or name in ("no program", "sandbox"),
              "%s: %s was not started" % (what, name))
    return not ok and name == "sandbox" and sig == signal.SIGSTOP


def attack(server, uid, mode, sig, can_box):
    """Starts in the same session and in another of the user, meanwhile."""
    what = "%s %s" % (mode, sig.name)
    slowest, started, refused, lost = 0, 0, 0, 0
    with lib.Client(server.unix, uid=uid) as one, \
            lib.Client(server.unix, uid=uid) as two:
        for client in (one, two):       # their sandboxes are there
            for name, more in kinds_of_start(can_box):
                start(client, "first " + name, **more)
        fire(one, "signaller", mode, sig)
        until = time.monotonic() + SECONDS * lib.SCALE
        count = 0
        while count < STARTS and time.monotonic() < until:
            client = (one, two)[count % 2]
            for name, more in kinds_of_start(can_box):
                ok, took = start(client, "%s %d" % (name, count), **more)
                started += ok
                refused += not ok
                lost += judge(what, name, sig, ok)
                slowest = max(slowest, took)
            began = time.monotonic()
            client.call("environment/status")
            slowest = max(slowest, time.monotonic() - began)
            count += 1
        print("%-14s %d rounds, %d started, %d refused, slowest answer "
              "%.0f ms" % (what, count, started, refused, slowest * 1000),
              flush=True)
        afterwards(server, what, one, two)
        if count <= 10 or slowest >= ANSWER * lib.SCALE:
            raise lib.Late("%s: %d rounds, an answer took %.1f s" %
                           (what, count, slowest))
        # Who is aimed at all the time may not get there: that is told in time.
        if lost > count // (20 if mode == "all" else 2):
            raise lib.Late("%s: %d sandboxes were not started" % (what, lost))


def afterwards(server, what, one, two):
    """What was stopped can be ended; what is new runs."""
    one.call("process/terminate", processId="signaller")
    for client in (one, two):
        known = client.call("process/list")["processes"]
        for p in known:
            if not p["exited"]:
                client.call("process/terminate", processId=p["processId"])
        for p in known:
            lib.check(client.note(p["processId"], "process/closed"),
                      "%s: %s does not end" % (what, p["processId"]))
        client.start("last", "/bin/sh", "-c", "echo fine", cwd="/")
        lib.check(client.output("last") == (b"fine\n", 0),
                  "%s: the last one: %s" % (what, client.output("last")))
        worker = worker_of(server, client)
        lib.check(lib.wait_until(lambda w=worker: all(
            not lib.read_proc(p, "comm").startswith(b"true")
            for p in lib.children(w))), "%s: something is left" % what)


def worker_of(server, client):
    client.start("cat", "/bin/sleep", "1000", cwd="/")
    worker = server.worker_of(client.pid_of("cat"))
    client.call("process/terminate", processId="cat")
    return worker


def root_master(uid):
    """Commands are not who their worker is."""
    with lib.Server(unix=True) as server:
        with lib.Client(server.unix, uid=uid) as client:
            can_box = box.refused(box.Runs(client), "true",
                                  box=box.read_only("/")) is None
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            for mode in ("all", "next"):
                lib.best_of(attack, server, uid, mode, sig, can_box)


def own_master(uid):
    """They are, and spare it: only what is new is hit, from its beginning."""
    may = box.as_user(uid)
    if subprocess.run([*may, os.path.join(lib.BUILD, "execsrvd"), "-T"],
                      stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print("left out: own master: others cannot run what was built")
        return
    with lib.Server(unix=True, owner=uid, prefix=may) as server:
        for sig in (signal.SIGSTOP, signal.SIGKILL):
            lib.best_of(attack, server, uid, "next", sig, False)


uid = lonely_user()
root_master(uid)
own_master(uid)
lib.finish()
