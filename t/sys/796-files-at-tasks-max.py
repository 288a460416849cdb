"""Commands that use all of TasksMax stop no request for files, which stay under
MemoryMax; and nothing gets a command beyond the limit."""
import contextlib
import importlib
import os
import re
import time

import client as lib
from client import (RpcError, Server, TMP, check, children, in_time,
                    is_alive, worker_of)
from fscommon import fill, folder, uri

box = importlib.import_module("6common")
MAX = 16
MUCH = 2.0              # seconds for a request; it waited 5 for a process
UID = os.getuid() or 54796     # a user who has nothing else running
# Fork as fast as it may, and again whenever one can.
STORM = """import os, time
n = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(1000)
        n += 1
    except OSError:
        os.write(1, b".")
        time.sleep(0.001)
"""


@contextlib.contextmanager
def session(uid, *options):
    """A server and a session of a user."""
    s = Server("TasksMax=%d" % MAX, "MemoryMax=300M", *options,
               listen=("unix:%s/s%d" % (TMP, Server.count),))
    os.setegid(uid)
    os.seteuid(uid)
    try:
        c = lib.connect(s.url)
    finally:
        os.seteuid(os.getuid())
        os.setegid(os.getgid())
    with c:
        c.worker = worker_of(s, c)
        yield c
    s.stop()


def group(pid, controller):
    """Of a process, where that controller is, in either version."""
    with open("/proc/%d/cgroup" % pid, encoding="ascii") as f:
        text = f.read()
    mine = re.search(r"^\d+:[^:]*\b%s\b[^:]*:(.*)$" % controller, text, re.M)
    return (mine or re.search(r"^0::(.*)$", text, re.M)).group(1)


def storm(c, name):
    """A command has all the tasks there are, and takes each that is free."""
    c.start(name, "python3", "-c", STORM)
    c.note("process/output", name)


def forked(c):
    """The processes of commands."""
    out, todo = [], [p["pid"] for p in c.call("process/list")["processes"]
                     if not p["exited"]]
    while todo:
        pid = todo.pop()
        if is_alive(pid):
            out.append(pid)
        todo += children(pid)
    return out


def limits_hold(c):
    # The worker counts as well, but not while it is outside to fork.
    check(1 < len(forked(c)) <= MAX, "%d processes" % len(forked(c)))
    try:
        c.start("more", "true")
        check(False, "a command beyond the limit")
    except RpcError as e:
        check("temporarily" in e.text or "TasksMax" in e.text, e.text)
    limited = group(forked(c)[0], "pids")
    check(all(re.sub(r"/p\\d+$", "", group(p, "pids")) ==
              re.sub(r"/p\\d+$", "", limited) for p in forked(c)),
          "some are elsewhere")
    mine = group(c.worker, "pids")
    check(mine.endswith("/t") and limited.startswith(mine),
          "the worker is at %s" % mine)


def quick(c, what, method, **params):
    began = time.monotonic()
    answer = c.call("fs/" + method, params)
    took = time.monotonic() - began
    lib.say("  %s: %.2f s" % (what, took))
    in_time(took < MUCH * lib.SCALE, "%s took %.2f s" % (what, took))
    return answer


OPTIONS = {"maxDepth": 8, "maxDirectories": 1000, "maxEntries": 1000,
           "followDirectorySymlinks": True}


def requests(c, uid):
    """While commands have all the tasks there are."""
    top = folder("files%d" % uid)
    os.chmod(top, 0o777)
    os.mkdir(top + "/tree")
    for i in range(100):
        fill("%s/tree/%d" % (top, i), b"x" * 100)

    def copy(name, to, **more):
        quick(c, name, "copy", sourcePath=uri(top + "/tree"),
              destinationPath=uri(to), recursive=True, **more)
        check(len(os.listdir(to)) == 100, "not all was copied")

    for i in range(3):
        quick(c, "walk", "walk", path=uri(top), options=OPTIONS)
        copy("copy", "%s/copy%d" % (top, i))
    # Policies that nobody has asked for before: processes for each.
    for n, policy in enumerate((
            box.workspace(top), box.sandbox(
                box.at(top, "write"), box.at("/usr", "read"), cwd=top))):
        quick(c, "in a sandbox", "writeFile", path=uri("%s/n%d" % (top, n)),
              dataBase64="eHh4", sandbox=policy)
        copy("copy in it", "%s/in%d" % (top, n), sandbox=policy)
    quick(c, "remove", "remove", path=uri(top + "/copy0"), recursive=True,
          force=False)


def by_groups(uid):
    with session(uid) as c:
        storm(c, "storm")
        requests(c, uid)
        limits_hold(c)
        # What works on files is in the session's groups for the rest.
        agents = set(children(c.worker)) - set(forked(c))
        check(len(agents) > 2, "agents: %s" % agents)
        for pid in agents:
            for controller in ("memory", "cpu"):
                mine = group(c.worker, controller)
                check(group(pid, controller).startswith(
                    mine.rsplit("/t", 1)[0]), "%s of an agent" % controller)
        # The next command is where those before it were.
        c.call("process/terminate", {"processId": "storm"})
        c.note("process/closed", "storm")
        storm(c, "again")
        limits_hold(c)


def user():
    by_groups(UID)


def root():
    by_groups(0)


def without_groups():
    """RLIMIT_NPROC is the commands' alone."""
    with session(UID, "ProcessCgroup=no") as c:
        storm(c, "storm")
        requests(c, UID)


def main():
    s = Server()
    told = lib.told("-R", s.run, "status")
    s.stop()
    cases = [without_groups]
    if "TasksMax by cgroup" in told:
        cases += [user, root] if os.geteuid() == 0 else [user]
    else:
        print("left out: no control groups for TasksMax")
    lib.main(*cases)


main()
