"""621: what /proc has of our own processes, asked for by root's session, in and
out of a sandbox, of each of these processes."""
import importlib
import os

from client import (RpcError, Server, check, children, connect, descendants,
                    is_alive, main, skip)

box = importlib.import_module("6common")
FILES = ("environ", "mem", "maps", "smaps", "auxv", "stat", "stack", "syscall",
         "pagemap", "cmdline", "task/%s/maps", "numa_maps")
FOLDERS = ("fd", "fdinfo", "map_files", "task", "ns", "cwd", "root", "attr")


def refused(c, method, path, **more):
    try:
        c.call(method, {"path": "file://" + path, **more})
    except RpcError:
        return True
    return False


def proc(c, name, **more):
    """What is told below /proc/NAME."""
    told = [n for n in FILES
            if not refused(c, "fs/readFile", "/proc/%s/%s" % (
                name, n % name if "%" in n else n), **more)]
    told += [n for n in FOLDERS
             if not refused(c, "fs/readDirectory", "/proc/%s/%s" % (
                 name, n), **more)]
    return told


def everywhere():
    """Whatever the path, nothing is told but what is harmless."""
    server = Server("LogLevel=info")
    links = {}
    with connect(server.url) as c:
        for name in "environ", "maps", "mem":
            links[name] = "%s/to-%s" % (os.environ["TMPDIR"], name)
            os.symlink("/proc/self/" + name, links[name])
        rules = {"sandbox": box.sandbox(
            box.at("/proc", "read"), box.at(os.environ["TMPDIR"], "read"),
            box.at("/etc", "read"), cwd="/etc")}
        c.call("fs/readFile", {"path": "file:///etc/passwd", **rules})
        c.call("fs/readFile", {"path": "file:///etc/passwd"})
        worker = int(c.run("who", "sh", "-c", "echo $PPID")[0])
        check(len(descendants(worker)) >= 1, "agents")
        ours = [server.pid] + descendants(worker) + children(server.pid)
        for more in {}, rules:
            for name in "self", "thread-self":
                check(not proc(c, name, **more), "%s: %s" % (
                    name, proc(c, name, **more)))
            for path in links.values():
                check(refused(c, "fs/readFile", path, **more), path)
            check(refused(c, "fs/readDirectory", "/dev/fd", **more), "fd")
            for path in "/proc/mounts", "/proc/self/status":
                check(not refused(c, "fs/readFile", path, **more), path)
        for pid in ours:
            told = proc(c, str(pid))
            # What has ended has no memory, and nobody knows whose it was.
            check(not told or not is_alive(pid), "%d: %s" % (pid, told))
        # Others' are as they ever were.
        check(not refused(c, "fs/readFile", "/proc/%d/maps" % os.getpid()),
              "a process that is not ours")
    server.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root")
    main(everywhere)
