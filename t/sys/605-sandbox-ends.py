"""605: what ends, ends with all that was in its sandbox, and nothing more."""
import contextlib
import errno
import importlib
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib = box.lib

HIDE = """
setsid sleep $W & (setsid sh -c 'sleep $W & sleep $W & exit' &)
(trap '' TERM HUP INT; sleep $W) & nohup sleep $W >/dev/null 2>&1 &
(exec 0<&- 1>&- 2>&-; setsid sleep $W) &
sh -c 'kill -STOP $$; sleep $W' & echo ready; sleep $W
"""
PROCESSES = 8           # that sleep; one is stopped before


class Words:
    """A number of seconds that nobody else sleeps."""
    count = 0

    @classmethod
    def new(cls):
        cls.count += 1
        return "%d.%d" % (60000 + cls.count, os.getpid())


def lasting(word):
    """Those that stay: some of the shells end."""
    return [p for p in lib.marked(word)
            if lib.read_proc(p, "comm") == b"sleep\n" or
            (lib.stat_of(p) or "?")[0] == "T"]


def start_hidden(client, name, policy, place):
    word = Words.new()
    client.start(name, "sh", "-c", HIDE.replace("$W", word), cwd=place.ws,
                 sandbox=policy, env={"PATH": box.PATH})
    found = lib.wait_until(lambda: len(lasting(word)) >= PROCESSES)
    lib.check(found, "%s: only %s" % (name, lib.describe(lib.marked(word))))
    return word


def gone(word, what, limit=lib.LIMIT):
    left = lib.wait_until(lambda: not lib.marked(word), limit)
    lib.check(left, "%s: left: %s" % (what, lib.describe(lib.marked(word))))


def holders(worker):
    """Processes of ours below a worker."""
    return [p for p in lib.children(worker) if lib.lives(p) and
            b"execsrv-worker" in lib.read_proc(p, "comm")]


def mounts():
    with open("/proc/self/mountinfo", "rb") as f:
        return f.read()


def clean(place, what):
    """No stand-in is left in the workspace."""
    ok = lib.wait_until(lambda: not set(os.listdir(place.ws)) & set(
        box.GUARDED), 20)
    lib.check(ok, "%s: left in the workspace: %s" % (
        what, os.listdir(place.ws)))


def worker_of(server, client, name):
    return server.worker_of(server.pid_of(client, name))


def terminate(kind, server, client, place):
    policy = box.workspace(place.ws)
    one = start_hidden(client, "one", policy, place)
    two = start_hidden(client, "two", policy, place)
    client.call("process/terminate", processId="one")
    gone(one, kind.name + ": terminate")
    lib.check(client.note("one", "process/closed"), "one is not closed")
    lib.check(len(lasting(two)) >= PROCESSES,
              "%s: terminate: another lost some: %s" % (
                  kind.name, lib.describe(lib.marked(two))))
    return two


def holder_dies(kind, server, client, place):
    """Root, or the user, kills a holder from outside."""
    policy = box.workspace(place.ws)
    word = start_hidden(client, "held", policy, place)
    worker = worker_of(server, client, "held")
    before = holders(worker)
    lib.check(before, "%s: no holder" % kind.name)
    for pid in before:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not kind.alone:
        # It is the first of their namespace.
        gone(word, kind.name + ": holder killed")
        note = client.note("held", "process/exited")
        lib.check(note and note["exitCode"] == 128 + signal.SIGKILL,
                  "%s: killed with its holder: %s" % (kind.name, note))
    # Reaped: the worker knows.
    lib.wait_until(lambda: not set(before) & set(lib.children(worker)), 20)
    run = box.Runs(client)
    out, code, _ = run("sh", "-c", "touch %s/new && ! touch %s/new" % (
        place.ws, place.out), box=policy)
    lib.check(code == 0, "%s: after the holder's death: %s" % (
        kind.name, out))
    client.call("fs/writeFile", path=box.uri(place.ws + "/new2"),
                dataBase64="", sandbox=policy)
    error = box.refused(client.call, "fs/writeFile", sandbox=policy,
                        path=box.uri(place.out + "/new2"), dataBase64="")
    lib.check(error and error[0] in (box.FAILED, box.DENIED),
              "%s: after the holder's death: %s" % (kind.name, error))


def session_ends(kind, server, place):
    with kind.client(server) as client:
        two = terminate(kind, server, client, place)
        client.call("session/close")
        gone(two, kind.name + ": session/close")
    with kind.client(server) as client:
        word = start_hidden(client, "s", box.workspace(place.ws), place)
        box.refused(client.call, "fs/writeFile", dataBase64="",
                    path=box.uri(place.ws + "/x"),
                    sandbox=box.workspace(place.ws, net=True))
        worker = worker_of(server, client, "s")
        ours = holders(worker)
        lib.check(ours, "no holders")
        client.call("session/close")
        gone(word, kind.name + ": session/close")
        lib.check(lib.wait_until(lambda: not [p for p in ours + [worker]
                                              if lib.lives(p)], 20),
                  "%s: session/close: %s" % (kind.name, lib.describe(ours)))


FILL = """
import os
os.chdir("/dev/shm")
try:
    for n in range(100000):
        os.close(os.open(str(n), os.O_CREAT | os.O_WRONLY))
except OSError as e:
    print(e.errno, n > 9999)
"""


def unused(kind, server, place):
    """Those that nobody uses are ended, and nobody has to wait for that."""
    dirs = ["%s/w%d" % (place.ws, n) for n in range(24)]
    for path in dirs:
        os.mkdir(path)
    place.own()
    worst, soon = [], 0.1 * lib.SCALE
    with kind.client(server) as client:
        run = box.Runs(client)
        out, code, _ = run(lib.python_for(
            None if kind.uid == os.geteuid() else kind.uid), "-I", "-c", FILL,
            box=box.workspace(dirs[0]))
        lib.check((code, out) == (0, "%d True\n" % errno.ENOSPC),
                  "%s: filling /dev/shm: %s %s" % (kind.name, code, out))
        # One that is quick is enough: others may need the processors.
        while len(worst) < 12 and min(worst, default=soon) >= soon:
            for path in dirs:
                client.call("fs/writeFile", path=box.uri(path + "/file"),
                            dataBase64="", sandbox=box.workspace(path))
            lib.check(any(set(os.listdir(p)) & set(box.GUARDED)
                          for p in dirs), "nothing is covered")
            took = []

            def all_gone():
                began = time.monotonic()
                client.call("fs/getMetadata", path=box.uri("/"))
                took.append(time.monotonic() - began)
                return not any(set(os.listdir(p)) & set(box.GUARDED)
                               for p in dirs)

            lib.check(lib.wait_until(all_gone), "%s: left: %s" % (
                kind.name, [os.listdir(p) for p in dirs]))
            worst.append(max(took))
    print("%s: waited %s ms at most" % (kind.name, ", ".join(
        "%.1f" % (t * 1000) for t in worst)), flush=True)
    lib.check(min(worst) < soon, "%s: waited %s" % (kind.name, worst))


def no_rights(kind, pid):
    """Of a holder in namespaces of its own, over which it had all of them."""
    status = lib.read_proc(pid, "status").decode()
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        lib.check("\n%s:\t%016x\n" % (name, 0) in status, "%s: %s" % (
            kind.name, status))
    lib.check("\nNoNewPrivs:\t1\n" in status, "%s: %s" % (kind.name,
                                                          status))


def worker_dies(kind, server, place):
    with kind.client(server) as client:
        word = start_hidden(client, "w", box.workspace(place.ws), place)
        worker = worker_of(server, client, "w")
        ours = holders(worker)
        lib.check(ours, "no holders")
        for pid in () if kind.alone else ours:
            no_rights(kind, pid)
        os.kill(worker, signal.SIGKILL)
        gone(word, kind.name + ": worker killed")
        lib.check(lib.wait_until(lambda: not [p for p in ours
                                              if lib.lives(p)], 20),
                  "%s: worker killed: %s" % (kind.name, lib.describe(ours)))


def server_ends(kind, place):
    with kind.server() as server:
        client = kind.client(server)
        word = start_hidden(client, "m", box.workspace(place.ws), place)
        lib.check(server.stop() is not None, "the server does not stop")
        gone(word, kind.name + ": server stopped")
        client.drop()


box.beside(__file__)
before = mounts()
for kind in box.chosen():
    with box.Place(kind.uid, git=False) as place:
        with kind.server() as server:
            with kind.client(server) as client:
                if not box.can(kind, client):
                    continue
                holder_dies(kind, server, client, place)
                client.call("session/close")
            before_end = server.text().count("its process was killed")
            session_ends(kind, server, place)
            lib.check(server.text().count("its process was killed") ==
                      before_end, "an orderly end is told as a failure")
            clean(place, kind.name + ": session/close")
            if not kind.alone:
                unused(kind, server, place)
            worker_dies(kind, server, place)
        server_ends(kind, place)
        clean(place, kind.name + ": the end")
        changes = place.changes()
        lib.check(not changes, "%s: %s" % (kind.name, changes))
    print("%s: nothing is left" % kind.name, flush=True)
lib.check(lib.wait_until(lambda: mounts() == before),
          "mounts were left on this machine")
box.finish()
