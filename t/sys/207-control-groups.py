"""207: control groups: made, used again, removed, whatever ends."""
import importlib
import os
import signal
import sys
import time

lib = importlib.import_module("2common")
ENV = {"PATH": os.environ["PATH"]}
MAX_PROCESSES = 20


def groups_in(path):
    """All groups below one."""
    return [os.path.join(where, name)
            for where, names, _ in os.walk(path) for name in names]


def directory_of(server):
    return "%s/execsrv-%d" % (lib.own_group(), server.pid)


def session_group(server, client):
    """Of a client that has a process that runs."""
    pids = [p["pid"] for p in client.call("process/list")["processes"]
            if not p["exited"]]
    return lib.group_of(server.worker_of(pids[0]))


def is_gone(path):
    return not os.path.exists(path)


def is_clean(path):
    """Gone, or root's again with nothing below it."""
    try:
        return not groups_in(path) and os.stat(path).st_uid == 0 and \
            os.stat(path + "/cgroup.procs").st_uid == 0
    except FileNotFoundError:
        return True


def own_groups(server, uid):
    """A group for each process, of the session's user; with all it starts."""
    with lib.Client(server.url, uid=uid) as client:
        for name in ("a", "b"):
            client.start(name, "sh", "-c", "setsid sleep 100000 & wait",
                         env=ENV)
        pids = {name: client.pid_of(name) for name in ("a", "b")}
        groups = {name: lib.group_of(pid) for name, pid in pids.items()}
        mine = session_group(server, client)
        lib.check(mine.startswith(directory_of(server) + "/w"), mine)
        lib.check(groups["a"] != groups["b"], "one group for two: %s" % groups)
        for name, pid in pids.items():
            lib.check(os.path.dirname(groups[name]) == mine,
                      "%s is in %s" % (name, groups[name]))
            # Nobody's, so that no command can leave it, or draw others in.
            lib.check(uid == 0 or os.stat(groups[name]).st_uid not in
                      (0, uid), "it is the user's")
            kids = lib.wait_until(lambda pid=pid: lib.children(pid))
            lib.check([lib.group_of(k) for k in kids] == [groups[name]],
                      "a child is elsewhere")
        # What a command can do elsewhere: nothing.
        client.start("out", "sh", "-c",
                     'for d; do for f in "$d" "$d"/cgroup.*; do '
                     '[ ! -w "$f" ] || echo "$f"; done; done', "sh",
                     groups["a"], mine, directory_of(server), lib.own_group(),
                     env=ENV)
        if uid != 0:
            lib.check(client.output("out") == (b"", 0), "may be written: %s" %
                      client.output("out")[0])
    return mine


def used_again(server, uid):
    """Many commands one after another need few groups."""
    with lib.Client(server.url, uid=uid) as client:
        client.start("stays", "sleep", "100000", env=ENV)
        for i in range(60):
            client.start("p%d" % i, "true", env=ENV)
            lib.check(client.note("p%d" % i, "process/closed"), "p%d" % i)
        n = len(groups_in(session_group(server, client)))
        lib.check(n <= 6, "%d groups for two processes at a time" % n)
        # Somebody who was left behind keeps his.
        client.start("q", "sh", "-c", "sleep 100000 <&- >&- 2>&- & echo $!",
                     env=ENV)
        left = int(client.output("q")[0])
        taken = lib.group_of(left)
        for i in range(20):
            client.start("r%d" % i, "cat", "/proc/self/cgroup", env=ENV)
            text = client.output("r%d" % i)[0].decode().strip()
            lib.check(not taken.endswith(text.rsplit("0::", 1)[1]),
                      "two in one group: %s" % text)


def many_at_once(server, uid):
    with lib.Client(server.url, uid=uid) as client:
        for i in range(MAX_PROCESSES):
            client.start("p%d" % i, "sleep", "100000", env=ENV)
        pids = [p["pid"] for p in client.call("process/list")["processes"]]
        groups = {lib.group_of(pid) for pid in pids}
        lib.check(len(groups) == MAX_PROCESSES, "%d groups" % len(groups))
        for i in range(MAX_PROCESSES):
            client.call("process/terminate", processId="p%d" % i)
        for i in range(MAX_PROCESSES):
            lib.check(client.note("p%d" % i, "process/closed"),
                      "p%d is not closed" % i)
        # And again, in the same ones.
        for i in range(MAX_PROCESSES):
            client.start("q%d" % i, "sleep", "100000", env=ENV)
        n = len(groups_in(session_group(server, client)))
        lib.check(n <= MAX_PROCESSES + 3, "%d groups at last" % n)


def hostile_root(server, uid):
    """Groups that a command made are no trouble to those behind it."""
    with lib.Client(server.url, uid=uid) as client:
        client.start("p", "sh", "-c",
                     'g=$(sed -n "s/^0:://p" /proc/self/cgroup); '
                     'cd "$1$g/.." && mkdir p3 x x/a x/a/b && rmdir p2; '
                     "echo 1 >x/cgroup.freeze; "
                     "sh -c 'echo 0 >x/a/b/cgroup.procs; exec sleep 100000' "
                     "<&- >&- 2>&- & exit 0", "sh",
                     lib.group_path("0::/"), env=ENV)
        client.output("p")
        for i in range(5):
            client.start("q%d" % i, "echo", "done", env=ENV)
            lib.check(client.output("q%d" % i) == (b"done\n", 0), "q%d" % i)
        client.start("r", "sleep", "100000", env=ENV)
        mine = session_group(server, client)
        worker = server.worker_of(client.pid_of("r"))
        os.kill(worker, signal.SIGKILL)
        lib.check(lib.wait_until(lambda: is_gone(mine)),
                  "left: %s" % groups_in(mine))


def worker_death(server, uid):
    with lib.Client(server.url, uid=uid) as client:
        client.start("p", "sh", "-c", "setsid sleep 100000 & wait", env=ENV)
        pid = client.pid_of("p")
        mine = session_group(server, client)
        kids = lib.wait_until(lambda: lib.children(pid))
        os.kill(server.worker_of(pid), signal.SIGKILL)
        lib.check(lib.wait_until(lambda: is_gone(mine)),
                  "the group of a dead worker is left")
        lib.check(not any(map(lib.lives, [pid, *kids])), "somebody lives")


# Only root may do what the last one does.
TESTS = (used_again, many_at_once, worker_death, hostile_root)


def one_server(uid):
    with lib.Server("-o", "DetachedTtl=0", "-o", "MaxProcesses=%d" %
                    MAX_PROCESSES) as server:
        top = directory_of(server)
        lib.check(os.path.isdir(top), "no directory %s" % top)
        over = own_groups(server, uid)
        # It is another worker's next, or nobody's.
        lib.check(lib.wait_until(lambda: is_clean(over)),
                  "the group of a session is as it was")
        for test in TESTS if uid == 0 else TESTS[:-1]:
            test(server, uid)
            # The session ends: there are groups of workers, for workers.
            lib.check(lib.wait_until(lambda: all(
                os.path.dirname(g) == top and is_clean(g)
                for g in groups_in(top))),
                "%s: left: %s" % (test.__name__, groups_in(top)))
            lib.check(len(groups_in(top)) < 64, "too many are kept")
    lib.check(is_gone(top), "left by the server: %s" % groups_in(top))


def dead_master(uid):
    """What it leaves is removed by the next; what lives there is not."""
    server = lib.Server("-o", "DetachedTtl=1")
    client = lib.Client(server.url, uid=uid)
    client.start("p", "sleep", "100000", env=ENV)
    pid, top = client.pid_of("p"), directory_of(server)
    worker = server.worker_of(pid)
    os.kill(server.pid, signal.SIGKILL)
    # The session goes on without a master, and so do its groups.
    with lib.Server() as other:
        lib.check(lib.lives(worker) and lib.group_of(pid).startswith(top),
                  "the session has not survived")
    client.drop()
    lib.check(lib.wait_until(lambda: not lib.lives(worker)),
              "the worker lives on")
    lib.check(lib.wait_until(lambda: not lib.lives(pid)),
              "the process lives on")
    other = lib.Server()
    lib.check(os.path.isdir(directory_of(other)), "the next has no groups")
    lib.check(is_gone(top), "the stale one is left: %s" % groups_in(top))
    # A directory in use stays: here that of the server before.
    third = lib.Server()
    lib.check(os.path.isdir(directory_of(other)), "a live one is removed")
    with lib.Client(other.url, uid=uid) as client:
        client.start("p", "cat", "/proc/self/cgroup", env=ENV)
        lib.check(b"/execsrv-%d/" % other.pid in client.output("p")[0],
                  "it has no groups any more")
    third.stop()
    other.stop()
    lib.check(is_gone(directory_of(other)) and is_gone(directory_of(third)),
              "left by the others")
    server.stop()


def killed_before(uid):
    """In a group where somebody has used cgroup.kill, commands run as well."""
    group = "%s/test-%d" % (lib.own_group(), os.getpid())
    os.mkdir(group)
    try:
        with open(group + "/cgroup.kill", "w", encoding="ascii") as file:
            file.write("1")
        with lib.Server(prefix=("sh", "-c", 'echo 0 >"$0/cgroup.procs" && '
                                'exec "$@"', group)) as server:
            print("groups there: %s" % lib.has_groups(server, uid))
    finally:
        lib.wait_until(lambda: removed(group))
        lib.check(is_gone(group), "left")


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return False
    return True


def switched_off(uid):
    with lib.Server("-o", "ProcessCgroup=no") as server:
        lib.check(is_gone(directory_of(server)), "there is a directory")
        lib.check(not lib.has_groups(server, uid), "there is a group")


def main():
    group = lib.own_group()
    if group is None or not os.access(group, os.W_OK):
        lib.skip("no control groups of version 2 here")
    with lib.Server() as server:
        if not lib.has_groups(server, 0):
            lib.skip("the system does not let us have control groups")
    for uid in (0, lib.NOBODY):
        began = time.monotonic()
        one_server(uid)
        dead_master(uid)
        switched_off(uid)
        killed_before(uid)
        print("uid %d: %.1f s" % (uid, time.monotonic() - began), flush=True)
    lib.finish()


sys.stdout.reconfigure(line_buffering=True)
main()
