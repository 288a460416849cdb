"""One way to escape: 2escapes.py WAY READY-FILE.

The process that is started stays (it is to be terminated); what it starts
tries to outlive it, and writes the file when it has done what it can.
"""
import os
import resource
import signal
import sys
import time

PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
SYS_EXIT = {"x86_64": 60}.get(os.uname().machine, 93)
ENDLESS = 100000
ready_file = None


def libc():
    import ctypes               # not in each of hundreds
    return ctypes.CDLL(None)


def in_thread(fn):
    import threading
    thread = threading.Thread(target=fn)
    thread.start()
    return thread


def ready():
    os.close(os.open(ready_file, os.O_WRONLY | os.O_CREAT, 0o644))


def stay():
    while True:
        time.sleep(ENDLESS)


def in_child(fn):
    if os.fork() == 0:
        try:
            fn()
        finally:
            os._exit(1)


def close_all():
    os.closerange(0, 256)


def ready_and_stay():
    ready()
    stay()


def lower_mark():
    """As far as an ordinary process can: RLIMIT_LOCKS has no name here."""
    resource.setrlimit(10, (5, 5))


def way_plain():
    in_child(ready_and_stay)


def way_setsid():
    def child():
        os.setsid()
        ready_and_stay()
    in_child(child)


def way_doublefork():
    def child():
        os.setsid()
        in_child(ready_and_stay)
        os._exit(0)
    in_child(child)
    os.wait()


def way_nohup():
    in_child(lambda: os.execvp("sh", [
        "sh", "-c", 'nohup sh -c \'>"$1"; exec sleep 100000\' sh "$1" '
        ">/dev/null 2>&1 & exit 0", "sh", ready_file]))
    os.wait()


def way_group():
    def child():
        os.setpgid(0, 0)
        ready_and_stay()
    in_child(child)


def way_ignore():
    def child():
        for sig in range(1, signal.NSIG):
            try:
                signal.signal(sig, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
        ready_and_stay()
    in_child(child)


def way_stopped():
    def child():
        ready()
        while True:
            os.kill(os.getpid(), signal.SIGSTOP)
    in_child(child)


def way_renamed():
    def child():
        os.setsid()
        libc().prctl(PR_SET_NAME, b") Z 1 (", 0, 0, 0)
        ready_and_stay()
    in_child(child)


def way_closed():
    def child():
        os.setsid()
        os.chdir("/")
        ready()
        close_all()
        stay()
    in_child(child)


def way_execs():
    """Another program image every few milliseconds."""
    def child():
        os.setsid()
        ready()
        os.execvp("sh", ["sh", "-c", "sleep 0.01; exec sh -c \"$0\" \"$0\"",
                         "sleep 0.01; exec sh -c \"$0\" \"$0\""])
    in_child(child)


def way_forker():
    """At most 50 at a time, all of them young."""
    def child():
        os.setsid()
        ready()
        while True:
            kids = []
            for _ in range(49):
                pid = os.fork()
                if pid == 0:
                    time.sleep(0.05)
                    os._exit(0)
                kids.append(pid)
            for pid in kids:
                os.waitpid(pid, 0)
    in_child(child)


def way_subreaper():
    def child():
        os.setsid()
        libc().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

        def middle():
            in_child(ready_and_stay)
            os._exit(0)
        in_child(middle)
        stay()
    in_child(child)


def way_namespace():
    in_child(lambda: os.execvp("unshare", [
        "unshare", "--user", "--map-root-user", "--pid", "--fork", "sh", "-c",
        '(sleep 100000 & ) ; >"$1"; exec sleep 100000', "sh", ready_file]))


def way_grandchildren():
    def deeper(n):
        if n == 0:
            ready()
        else:
            in_child(lambda: deeper(n - 1))
        stay()
    in_child(lambda: deeper(8))


def way_threads():
    """A child of a thread that is not the first one."""
    def child():
        in_thread(lambda: in_child(ready_and_stay)).join()
        stay()
    in_child(child)


def way_headless():
    """The first thread ends, so the process looks like a zombie."""
    def child():
        os.setsid()
        in_thread(ready_and_stay)
        libc().syscall(SYS_EXIT, 0)
    in_child(child)


def way_mark():
    """A child changes the mark."""
    def child():
        os.setsid()
        lower_mark()
        ready_and_stay()
    in_child(child)


def way_late_mark():
    """Lowered by a daemon whose parents are gone."""
    def child():
        os.setsid()

        def daemon():
            lower_mark()
            ready_and_stay()
        in_child(daemon)
        os._exit(0)
    in_child(child)
    os.wait()


def way_mark_family():
    """Who has lowered it has children, in sessions of their own."""
    def child():
        os.setsid()
        lower_mark()

        def grandchild():
            os.setsid()
            ready_and_stay()
        in_child(grandchild)
        stay()
    in_child(child)


def way_mark_group():
    """A daemon without the mark that is still in the first session."""
    def child():
        def daemon():
            lower_mark()
            ready_and_stay()
        in_child(daemon)
        os._exit(0)
    in_child(child)
    os.wait()


def way_moved():
    """As late_mark, and away from its control group if it has one and may."""
    def child():
        os.setsid()

        def daemon():
            lower_mark()
            with open("/proc/self/cgroup", encoding="ascii") as file:
                group = file.read().rsplit("0::", 1)[-1].strip()
            if "/execsrv-" in group:
                move_up(group)
            ready_and_stay()
        in_child(daemon)
        os._exit(0)
    in_child(child)
    os.wait()


def move_up(group):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        point = [line.split()[4] for line in file
                 if " - cgroup2 " in line][0]
    try:
        with open(os.path.dirname(point + group) + "/cgroup.procs", "w",
                  encoding="ascii") as file:
            file.write("0")
    except PermissionError:
        pass


if __name__ == "__main__":
    ready_file = sys.argv[2]
    globals()["way_" + sys.argv[1]]()
    stay()
