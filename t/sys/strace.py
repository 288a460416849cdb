"""A process watched with strace: whether it took bytes of clients."""
import collections
import contextlib
import re
import shutil
import subprocess

from client import skip, wait_for, LIMIT

CALLS = ("read,readv,pread64,preadv,preadv2,recvfrom,recvmsg,recvmmsg,"
         "splice,tee,sendfile,io_uring_setup,io_uring_enter")


def needed():
    if shutil.which("strace") is None:
        skip("no strace")


@contextlib.contextmanager
def traced(pid, path, more=""):
    with subprocess.Popen(
            ["strace", "-p", str(pid), "-yy", "-qq", "-o", path, "-e",
             "signal=none", "-e", "trace=" + CALLS + more], stderr=subprocess.PIPE) as p:
        def attached():
            if p.poll() is not None:
                skip("strace cannot attach: %s" % p.stderr.read().decode())
            with open("/proc/%d/status" % pid, encoding="ascii") as f:
                return "TracerPid:\t%d\n" % p.pid in f.read()
        wait_for(attached, LIMIT, "strace is attached")
        try:
            yield
        finally:
            p.terminate()
            p.wait()


def taken(path, unix):
    """Calls on sockets of clients, and how many calls there were by kind."""
    found, kinds = [], collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            call = line.split("(", 1)[0]
            # The descriptor is the first argument, an accepted one the result.
            first = re.search(r"\((\d+)<([^,]*?)>?,", line)
            kinds[call] += 1
            if call.startswith("io_uring"):
                found.append(line)
            if call == "accept4" or first is None:
                continue
            at = line.split("(", 1)[1]
            if re.match(r"\d+<TCP(v6)?:", at) or \
                    re.match(r'\d+<UNIX(-STREAM)?:\[[^\]]*%s' %
                             re.escape(unix), at):
                found.append(line)
    return found, kinds
