"""fs/watchMissing beyond single messages (t/wire/380 has those)."""
import ctypes
import os
import signal
import sys
import tempfile
import time
import traceback

from client import (Client, Server, TooSlow, a_word, check, connect, in_time,
                    links_of, main, probe, resume_in, say, wait_for, worker_of,
                    BUILD, LIMIT, SCALE, TMP)

NOTE = "fs/missingChanged"
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 0x40000
A_USER = 61234              # nobody else's: it has its own inotify limit


def folder(name):
    """A new one, however often."""
    path = tempfile.mkdtemp(prefix=name + ".", dir=TMP)
    os.chmod(path, 0o755)
    return path


def touch(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def watch(c, number, *missing, **more):
    """Whether it is watched: not where a quick look was not to be had."""
    return c.call("fs/watchMissing", {
        "watchId": number, "missing": ["file://" + p for p in missing],
        **more})["watching"]


def told(c):
    """The watch of the next notification."""
    c.until(lambda: c.notes, what=NOTE)
    m = c.notes.popleft()
    check(m["method"] == NOTE, "another notification: %s" % m["method"])
    return m["params"]["watchId"]


def nothing(c):
    """What came until now is only that; answers come in order behind it."""
    c.call("environment/status")
    notes = [m["params"] for m in c.notes if m["method"] == NOTE]
    check(not notes, "told again: %s" % notes[:3])


def descriptors(pid, want):
    """Wait until a worker has so many inotify descriptors."""
    def count():
        return list(links_of(pid).values()).count("anon_inode:inotify")
    if os.getuid() == 0:        # a worker's /proc/PID/fd is for root
        wait_for(lambda: count() == want, LIMIT,
                 "%d inotify descriptors" % want)


def apart(test):
    """Run a test in a process of its own, which it may change for good."""
    if os.getuid() != 0:
        say("  left out: needs root")
        return
    Server.count += 1
    Server.all = []
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            test(ctypes.CDLL(None, use_errno=True))
            status = 0
        except TooSlow as e:
            say("  %s" % e)
            status = 78
        except BaseException:
            traceback.print_exc()
        finally:
            for server in Server.all:
                server.kill()
            sys.stdout.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    in_time(status != 78, "too slow in a process apart")
    check(status == 0, "in a process apart: %d" % status)


def many_paths():
    server, top = Server(), folder("many")
    with connect(server.url) as c:
        paths = ["%s/%d/x" % (top, i) for i in range(65)]
        for p in paths:
            os.mkdir(os.path.dirname(p))
        check(not watch(c, 1, *paths), "65 paths")
        began = time.monotonic()
        in_time(watch(c, 2, *paths[:64]), "64 paths")
        say("  64 paths took %.1f ms" % (1000 * (time.monotonic() - began)))
        touch(paths[64])
        touch(paths[63])
        check(told(c) == 2, "the last of 64")
        # What is missing is not looked at; what exists, as far as is quick.
        in_time(watch(c, 3, top + "/d" * 1800), "1,800 names that are missing")
        os.mkdir(top + "/d")
        check(told(c) == 3, "the first of them")
        for _ in range(40):
            top += "/" + 90 * "d"
            os.mkdir(top)
        in_time(watch(c, 4, top + "/x"), "40 folders deep")
        check(not watch(c, 5, *["%s/%d" % (top, i) for i in range(64)]),
              "64 of them")
        touch(top + "/x")
        check(told(c) == 4, "40 folders deep")
    server.stop()


def many_watches():
    """The newest 256 stay; the others are told, so that nobody waits."""
    server, top = Server(), folder("watches")
    with connect(server.url) as c:
        pid = worker_of(server, c)
        for i in range(1000):
            in_time(watch(c, i, "%s/%d" % (top, i)), "watch %d" % i)
        over = [told(c) for _ in range(744)]
        check(over == list(range(744)), "the oldest go: %s" % over[:9])
        nothing(c)
        descriptors(pid, 1)
        for i in range(1000):
            touch("%s/%d" % (top, i))
        late = sorted(told(c) for _ in range(256))
        check(late == list(range(744, 1000)), "those that stayed")
        nothing(c)
        descriptors(pid, 0)
        in_time(watch(c, 1, top + "/new"), "a new descriptor")
        touch(top + "/new")
        check(told(c) == 1, "after that")
    server.stop()


def flood():
    """Much happens in the folder: one notification, and for that name only."""
    server, top = Server(), folder("flood")
    with connect(server.url) as c:
        in_time(watch(c, 1, top + "/x"), "not watched")
        for i in range(20000):
            touch("%s/%d" % (top, i % 50))
            os.unlink("%s/%d" % (top, i % 50))
        nothing(c)
        for i in range(2000):
            touch(top + "/x")
            os.unlink(top + "/x")
        check(told(c) == 1, "the flood")
        nothing(c)
    server.stop()


def overflow():
    """The kernel's queue is full while the worker stands still."""
    server, top = Server(), folder("overflow")
    with open("/proc/sys/fs/inotify/max_queued_events",
              encoding="ascii") as f:
        size = int(f.read())
    if size > 100000:
        say("  left out: a queue of %d events" % size)
        return
    with connect(server.url) as c:
        pid = worker_of(server, c)
        in_time(watch(c, 1, top + "/x"), "not watched")
        in_time(watch(c, 2, top + "/y/z"), "not watched")
        os.kill(pid, signal.SIGSTOP)
        try:
            for i in range(size // 2 + 10):
                touch("%s/a" % top)
                os.unlink("%s/a" % top)
        finally:
            os.kill(pid, signal.SIGCONT)
        check(sorted((told(c), told(c))) == [1, 2], "all are told")
        nothing(c)
    server.stop()


def connection_ends():
    """Watches end with their connection, not with the session."""
    server, top = Server(), folder("ends")
    c = connect(server.url)
    pid = worker_of(server, c)
    c.start("p", "sleep", a_word("ends"))
    for i in range(100):
        in_time(watch(c, i, "%s/%d" % (top, i)), "watch %d" % i)
    descriptors(pid, 1)
    session = c.session
    c.reset()
    descriptors(pid, 0)
    touch(top + "/1")
    with resume_in(server.url, session, LIMIT) as c:
        nothing(c)
        in_time(watch(c, 2, top + "/2"), "the id is free")
        in_time(watch(c, 1, top + "/1x"), "and that one")
        touch(top + "/2")
        check(told(c) == 2, "after a resume")
        nothing(c)
        c.call("process/terminate", {"processId": "p"})
    server.stop()


def gone_with_a_watch():
    """A client that leaves while it is told, again and again."""
    server, top = Server(), folder("gone")
    for i in range(50):
        c = connect(server.url)
        for n in range(20):
            in_time(watch(c, n, "%s/%d" % (top, i)), "watch %d" % n)
        touch("%s/%d" % (top, i))
        c.reset()
    probe(server.url)
    check("died" not in server.log(), "a worker died")
    server.stop()


def take_all(libc):
    os.setgroups([])
    os.setresgid(A_USER, A_USER, A_USER)
    os.setresuid(A_USER, A_USER, A_USER)
    if not os.access(BUILD + "/execsrvd", os.X_OK):
        say("  left out: the programs are not for others to run")
        return
    # Not as text: this user may not be able to read Python's encodings.
    with open("/proc/sys/fs/inotify/max_user_instances", "rb") as f:
        if int(f.read()) > 900:         # nor may we open so many
            say("  left out: so many are never needed")
            return
    os.environ["HOME"] = "/"
    taken = []
    server, top = Server(), folder("spare")
    with connect(server.url) as c:
        while len(taken) < 1000:
            fd = libc.inotify_init1(os.O_CLOEXEC)
            if fd == -1:
                break
            taken.append(fd)
        check(not watch(c, 1, top + "/x"), "none was left")
        for fd in taken[:12]:
            os.close(fd)
        check(not watch(c, 1, top + "/x"), "12 were left")
        for fd in taken[12:20]:
            os.close(fd)
        in_time(watch(c, 1, top + "/x"), "20 were left")
        touch(top + "/x")
        check(told(c) == 1, "with few descriptors")
        c.run("p", "true")
    server.stop()


def spare():
    """A session does not take the user's last inotify descriptors."""
    apart(take_all)


def hang(libc):
    if libc.unshare(CLONE_NEWNS) == -1 or libc.mount(
            None, b"/", None, MS_REC | MS_PRIVATE, None) == -1:
        say("  left out: mounts are not permitted")
        return
    top = tempfile.mkdtemp(dir=TMP)
    os.mkdir(top + "/mount")
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        say("  left out: no FUSE")
        return
    data = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
    if libc.mount(b"hung", (top + "/mount").encode(), b"fuse", 0, data) == -1:
        say("  left out: no FUSE mounts")
        return
    os.symlink("mount/sub", top + "/link")
    server = Server(env={"CODEX_HOME": top + "/mount/codex"})
    with Client(server.url) as c:
        c.call("initialize", {"clientName": "t"})
        c.send({"method": "initialized"})
        for i, path in enumerate(("mount/x", "mount/a/b", "link/x")):
            began = time.monotonic()
            check(not watch(c, i, "%s/%s" % (top, path)), path)
            check(not watch(c, i, top + "/y", present="file://%s/%s" %
                            (top, path)), path)
            in_time(time.monotonic() - began < 1 * SCALE, "it waited")
        in_time(watch(c, 9, top + "/y"), "beside it")
        touch(top + "/y")
        check(told(c) == 9, "beside it")
    server.stop()
    os.close(fuse)


def hung_mount():
    """Who lives behind a mount never answers: the server still does."""
    apart(hang)


main(many_paths, many_watches, flood, overflow, connection_ends,
     gone_with_a_watch, hung_mount, spare)
