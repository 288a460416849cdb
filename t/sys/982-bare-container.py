"""982: what small containers lack, all at once and one by one.

A root folder is made that has our programs, a shell and their libraries, and
nothing else; it is mounted read-only and entered by chroot(8).
"""
import base64
import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import tempfile

from client import (BUILD, LIMIT, SANITIZED, TMP, check, connect, main, say,
                    skip, wait_for)

lib = importlib.import_module("98common")
TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin"
NOBODY = 12345              # as root we become that one
PROGRAMS = ("execsrvd", "execsrv-worker", "execsrvctl")


def libraries(path):
    r = subprocess.run(["ldd", path], capture_output=True, text=True,
                       check=False)
    words = [w for w in r.stdout.split() if w.startswith("/")]
    return [w for w in words if os.path.isfile(w)]


def make_root():
    """bin, lib, proc, dev, perhaps tmp; no etc, no run, no home."""
    root = tempfile.mkdtemp(dir=TMP)
    os.chmod(root, 0o755)
    for folder in ("bin", "proc", "dev/shm", "work"):
        os.makedirs(os.path.join(root, folder))
    os.chmod(root + "/dev/shm", 0o1777)
    copies = {"/bin/" + p: BUILD + "/" + p for p in PROGRAMS}
    for tool in ("sh", "sleep", "cat", "ls", "id"):
        copies["/bin/" + tool] = os.path.realpath(shutil.which(tool))
    for path in list(copies.values()):
        for name in libraries(path):
            copies[name] = os.path.realpath(name)
    for to, path in copies.items():
        os.makedirs(os.path.dirname(root + to), exist_ok=True)
        shutil.copy2(path, root + to)
        os.chmod(root + to, 0o755)
    for device in ("null", "zero", "random", "urandom"):
        with open("%s/dev/%s" % (root, device), "wb"):
            pass
    return root


def prefix(root, writable=(), extra=""):
    """Enter it: first process, read-only but for some folders."""
    lines = ["mount --bind $R $R", "mount -t proc none $R/proc"]
    for device in ("null", "zero", "random", "urandom"):
        lines.append("mount --bind /dev/%s $R/dev/%s" % (device, device))
    for folder in writable:
        lines.append("mount -t tmpfs -o mode=1777 none $R" + folder)
    lines.append("mount -o remount,ro,bind $R")
    as_who = ""
    if os.geteuid() == 0:
        as_who = "--userspec=%d:%d --groups=%d" % (NOBODY, NOBODY, NOBODY)
    script = "\n".join([*lines, extra, "cd /", "exec %s %s $R \"$0\" \"$@\"" %
                        (shutil.which("chroot", path=TOOLS), as_who)])
    return [*lib.unshare("--pid", "--fork", "--kill-child", "--mount"),
            "/bin/sh", "-ec", "R=%s\nPATH=%s\n%s" % (root, TOOLS, script)]


@contextlib.contextmanager
def as_owner():
    """Who connects is asked of the kernel: be the one that it runs as."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


ENV = {"PATH": "/bin", "HOME": "/"}


def run(c, *argv):
    number = c.request("process/start", {
        "processId": argv[-1], "argv": list(argv), "cwd": "file:///",
        "env": ENV, "tty": False, "pipeStdin": False, "arg0": None})
    c.answer(number)
    done = c.note("process/exited", argv[-1])
    c.note("process/closed", argv[-1])
    read = c.call("process/read", {"processId": argv[-1], "afterSeq": 0,
                                   "maxBytes": 65536, "waitMs": 0})
    out = b"".join(base64.b64decode(k["chunk"]) for k in read["chunks"])
    return out.decode(), done["exitCode"]


def works(server, want_dir):
    """Commands, files, and the operator's view, found without being told."""
    with as_owner():
        with connect(server.url) as c:
            out, status = run(c, "/bin/sh", "-c", "id -u; ls -a /; : >/x")
            say("  " + repr(out))
            uid = NOBODY if os.geteuid() in (0, NOBODY) else os.geteuid()
            check(out.split()[0] == "%d" % uid, out)
            check(not {"etc", "run", "home"} & set(out.split()), out)
            check(status != 0 and "Read-only" in out, "%s %s" % (status, out))
            got = c.call("fs/readFile", {"path": "file:///bin/sh"})
            check(got["dataBase64"].startswith("f0VM"), "%r" % got)
            out, status = run(c, "/bin/execsrvctl", "status")
            check(status == 0 and "attached 1" in " ".join(out.split()), out)
            out, _ = run(c, "/bin/ls", "/", *want_dir[:1])
            if want_dir:
                check("execsrv-%d" % uid in out, out)


def bare():
    """No root, no user entry, no /run, no /tmp, no disk to write to."""
    root = make_root()
    # Which one of the two is there decides where it can be found.
    for writable in (("/dev/shm",), ("/tmp", "/dev/shm")):
        os.makedirs(root + "/tmp", exist_ok=True)
        server = lib.Contained(prefix(root, writable), program="/bin/execsrvd",
                               env=ENV, run=False)
        works(server, writable)
        check(server.stop(signal.SIGTERM) == 0, server.log())
        os.rmdir(root + "/tmp")


def with_command():
    root = make_root()
    server = lib.Contained(prefix(root, ("/dev/shm",)), env=ENV, run=False,
                           program="/bin/execsrvd",
                           command=("sh", "-c", "trap 'exit 3' TERM; echo up;"
                                    " while :; do sleep 0.05; done"))
    wait_for(lambda: "up" in server.out(), LIMIT, server.log())
    works(server, ())
    check(server.stop(signal.SIGTERM) == 3, server.log())


def nowhere():
    """Without any place for a run directory it says so."""
    root = make_root()
    r = subprocess.run([*prefix(root), "/bin/execsrvd", "-D", "--listen",
                        "ws://127.0.0.1:0"], stdin=subprocess.DEVNULL,
                       env=ENV, capture_output=True, timeout=LIMIT * 3)
    check(r.returncode == 1 and b"/dev/shm/execsrv-" in r.stderr, "%r" % r)
    say("  " + r.stderr.decode().strip())


def no_null():
    """Without /dev/null it says what it misses."""
    root = make_root()
    for program in "execsrvd", "execsrvctl":
        r = subprocess.run(
            [*prefix(root, extra="mount -t tmpfs none $R/dev"),
             "/bin/" + program], stdin=subprocess.DEVNULL, env=ENV,
            capture_output=True, timeout=LIMIT * 3, check=False)
        check(r.returncode == 1 and b"/dev/null: No such" in r.stderr,
              "%s: %r" % (program, r))


def no_namespaces():
    """None can be made: as an ordinary user, and as root of a container."""
    off = "for f in /proc/sys/user/max_*_namespaces; do echo 0 >$f; done\n"
    for who in ("--map-current-user", "--map-root-user"):
        argv = ["unshare", "--user", who, "--keep-caps", "--mount", "sh",
                "-ec", off + "! unshare --user true 2>/dev/null\n"
                'exec "$0" "$@"']
        r = subprocess.run([*argv, "true"], capture_output=True, check=False)
        if r.returncode != 0:
            say("  left out: %s: %s" % (who, r.stderr.decode().strip()))
            continue
        server = lib.Contained(argv, depth=0)
        with connect(server.url) as c:
            out, status = c.run("p", "sh", "-c", "echo $((6 * 7))")
            check((out, status) == (b"42\n", 0), "%r %s" % (out, status))
            c.call("fs/getMetadata", {"path": "file:///bin"})
        check(server.stop(signal.SIGTERM) == 0, server.log())


if __name__ == "__main__":
    if SANITIZED:
        skip("programs with sanitizers want more than a bare container")
    main(bare, with_command, nowhere, no_null, no_namespaces)
