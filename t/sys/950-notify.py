"""950: a service manager's view, from an own socket."""
import fcntl
import os
import select
import signal
import socket
import subprocess
import time

from client import (BUILD, LIMIT, SCALE, TMP, Server, a_word, check, connect,
                    is_alive, main, wait_for, with_word)

VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS",
             "LISTEN_PID", "LISTEN_FDNAMES")
# "exec" keeps the number: a watchdog of its own pid.
OWN_PID = ("sh", "-c", 'WATCHDOG_PID=$$ exec "$0" "$@"')
OTHER_PID = ("sh", "-c", 'WATCHDOG_PID=1234567 exec "$0" "$@"')
LOOP_CLOCK = 6      # CLOCK_MONOTONIC_COARSE, which libevent goes by


class Manager:
    def __init__(self, abstract=False):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.name = "%s/notify" % TMP
        if abstract:
            self.name = "@execsrv-test-%d" % os.getpid()
        elif os.path.exists(self.name):
            os.unlink(self.name)
        self.sock.bind(self.name.replace("@", "\0", 1))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.lines = []
        self.senders = set()

    def pump(self, seconds=0.0):
        if select.select([self.sock], [], [], seconds)[0]:
            data, other, _, _ = self.sock.recvmsg(4096, 4096)
            self.lines += data.decode().split("\n")
            for _, kind, body in other:
                if kind == socket.SCM_CREDENTIALS:
                    self.senders.add(int.from_bytes(body[:4], "little"))

    def until(self, begin, times=1):
        def there():
            self.pump(0.05)
            return [n for n in self.lines
                    if n.startswith(begin)][times - 1:]
        return wait_for(there, LIMIT, begin)[-1]

    def stop(self, server):
        took = server.stop()
        for _ in range(50):
            self.pump()
        self.sock.close()
        return took


def life():
    for abstract in (False, True):
        manager = Manager(abstract)
        server = Server(env={"NOTIFY_SOCKET": manager.name})
        manager.until("READY=1")
        check("STATUS=Serving" in manager.lines, "%s" % manager.lines)
        with connect(server.url) as c:
            # A session of ours has the daemon's environment, but for these.
            out, _ = c.run("env", "env")
            # How many there are is told a moment later.
            manager.until("STATUS=Serving: 1 sessions attached, 0 detached")
        names = [n.split("=")[0] for n in out.decode().split("\n")]
        check("PATH" in names and not set(VARIABLES) & set(names),
              "a command has %s" % sorted(set(VARIABLES) & set(names)))
        manager.stop(server)
        check(manager.lines.index("STOPPING=1") >
              manager.lines.index("READY=1"), "%s" % manager.lines)
        check(any(n.startswith("STATUS=Stopping") for n in manager.lines),
              "%s" % manager.lines)
        check(not any("WATCHDOG" in n for n in manager.lines),
              "a watchdog that nobody asked for: %s" % manager.lines)
        check(manager.senders == {server.pid}, "%s" % manager.senders)


def reload():
    """SIGHUP is no end for a service, and both ends of it are told."""
    manager = Manager()
    server = Server(env={"NOTIFY_SOCKET": manager.name})
    manager.until("READY=1")
    before = time.monotonic_ns() // 1000
    os.kill(server.pid, signal.SIGHUP)
    manager.until("READY=1", 2)
    after = time.monotonic_ns() // 1000
    at = manager.lines.index("RELOADING=1")
    name, _, value = manager.lines[at + 1].partition("=")
    check(name == "MONOTONIC_USEC" and before <= int(value) <= after,
          "%s, between %d and %d" % (manager.lines[at + 1], before, after))
    check("READY=1" in manager.lines[at + 2:], "%s" % manager.lines)
    connect(server.url).close()
    manager.stop(server)


def loop_time():
    """Microseconds; up to a tick (4 ms here) behind CLOCK_MONOTONIC."""
    return time.clock_gettime_ns(LOOP_CLOCK) // 1000


def watchdog():
    """Every half of the time, as long as the loop runs and no longer."""
    half = 0.2 * SCALE
    for prefix in ((), OWN_PID):
        manager = Manager()
        began = loop_time()
        server = Server(env={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC":
                             "%d" % (half * 2e6)}, prefix=prefix)
        manager.until("WATCHDOG=1", 6)
        took = loop_time() - began
        check(manager.lines.count("WATCHDOG=1") <= took / round(half * 1e6),
              "six in %d us, not each %.2f s" % (took, half))
        os.kill(server.pid, signal.SIGSTOP)
        manager.pump()
        while select.select([manager.sock], [], [], half * 2)[0]:
            manager.pump()
        count = len(manager.lines)
        manager.pump(half * 4)
        check(len(manager.lines) == count, "it barks in its sleep")
        os.kill(server.pid, signal.SIGCONT)
        manager.until("WATCHDOG=1", manager.lines.count("WATCHDOG=1") + 1)
        manager.stop(server)


def not_ours():
    """Another process's watchdog, and values that are none."""
    for usec, prefix in (("100000", OTHER_PID), ("0", ()), ("-5", ()),
                         ("10x", ()), ("", ()),
                         ("99999999999999999999999", ())):
        manager = Manager()
        server = Server(env={"NOTIFY_SOCKET": manager.name,
                             "WATCHDOG_USEC": usec}, prefix=prefix)
        manager.until("READY=1")
        manager.pump(0.3)
        with connect(server.url) as c:
            c.run("p", "true")
        manager.stop(server)
        check("WATCHDOG=1" not in manager.lines, "%r: %s" %
              (usec, manager.lines))


def nobody_there():
    """A manager that is gone or does not read holds up nothing."""
    server = Server(env={"NOTIFY_SOCKET": TMP + "/nobody"})
    connect(server.url).close()
    server.stop()
    manager = Manager()
    server = Server(env={"NOTIFY_SOCKET": manager.name})
    for _ in range(2000):
        os.kill(server.pid, signal.SIGHUP)
    with connect(server.url) as c:
        c.run("p", "true")
    server.stop()
    manager.sock.close()


def nonsense():
    """An address that is none is named, and serves nobody."""
    for name in ("relative", "vsock:2:1234", "@", "/" + "x" * 200, ""):
        server = Server(env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1000"})
        connect(server.url).close()
        server.stop()
        check(("NOTIFY_SOCKET" in server.log()) == (name != ""),
              server.log())


def passed():
    """Through a socket that was passed in: addresses too, and the end; it goes
    no further, nor what was passed beside it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(LIMIT)
    beside = os.memfd_create("beside")
    theirs_fd = fcntl.fcntl(theirs, fcntl.F_DUPFD, beside + 1)
    path = TMP + "/door"
    server = Server("DetachedTtl=200ms",
                    env={"NOTIFY_SOCKET": TMP + "/nobody"},
                    args=("--notify-fd", str(theirs_fd)),
                    listen=("ws://127.0.0.1:0", "unix:" + path),
                    pass_fds=(beside, theirs_fd))
    theirs.close()
    os.close(theirs_fd)
    lines = []
    while "READY=1" not in lines:
        lines.append(ours.recv(4096).decode())
    check(lines[:2] == ["X_EXECSRV_LISTEN=" + u for u in server.urls],
          "%s" % lines)
    check("NOTIFY_SOCKET" not in server.log(), server.log())
    with connect(server.url) as c:
        out, _ = c.run("fds", "sh", "-c", "ls -l /proc/self/fd")
        check("memfd:" not in out.decode(), out.decode())
        # Not even to a worker, which would keep our end from its end.
        os.kill(server.pid, signal.SIGKILL)
        while lines[-1] != "":
            lines.append(ours.recv(4096).decode())
        check(c.run("p", "true")[1] == 0, "the session outlives it")
    os.close(beside)


def passed_nonsense():
    """What is no such socket is refused."""
    pair = socket.socketpair()
    for fd in ("0", "2", "-1", "x", "", "999999", "200",
               str(pair[1].fileno())):
        done = subprocess.run(
            [BUILD + "/execsrvd", "--notify-fd", fd, "--listen",
             "ws://127.0.0.1:0"], capture_output=True, timeout=LIMIT,
            pass_fds=[pair[1].fileno()], check=False)
        check(done.returncode == 2 and done.stdout == b"", "%s: %s" %
              (fd, done))


def no_directory():
    """RuntimeDirectory none: no folder, and no session without its server."""
    folder = TMP + "/user"
    os.mkdir(folder)
    server = Server("RuntimeDirectory=none", run=False, args=("-f", "none"),
                    env={"XDG_RUNTIME_DIR": folder,
                         "EXECSRV_RUNTIME_DIR": folder + "/env"})
    c = connect(server.url)
    word = a_word("none")
    c.start("p", "sh", "-c", "sleep %s & sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "it runs")
    check(not os.listdir(folder), os.listdir(folder))
    workers = server.workers()
    server.process.kill()
    wait_for(lambda: not with_word(word) and not any(map(is_alive, workers)),
             LIMIT, "all are gone")
    c.close()


if __name__ == "__main__":
    main(life, reload, watchdog, not_ours, nobody_there, nonsense, passed,
         passed_nonsense, no_directory)
