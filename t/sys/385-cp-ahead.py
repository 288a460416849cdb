"""execsrvctl cp -r: of small files several are under way, within bounds, both
ways; what comes of it is the same as one after the other."""
import contextlib
import glob
import os
import random
import select
import signal
import socket
import subprocess
import tempfile

from client import BUILD, LIMIT, TMP, Server, check, in_time, main, wait_for
from relay import Relay

CTL = BUILD + "/execsrvctl"
FILES = 96
QUIET = 0.02
rng = random.Random(385)


def cp(url, *words, status=0):
    r = subprocess.run([CTL, "cp", "-u", url, *words], text=True,
                       capture_output=True, timeout=LIMIT * 4, check=False)
    check(r.returncode == status, "%s: %d: %s" % (words, r.returncode,
                                                  r.stderr[-500:]))
    return r.stderr


def tree(sizes):
    """A folder with such files there, and one for what is here."""
    top = tempfile.mkdtemp(dir=TMP)
    there = top + "/there"
    os.mkdir(there)
    for i, size in enumerate(sizes):
        with open("%s/%03d" % (there, i), "wb") as f:
            f.write(rng.randbytes(size))
    return there, top + "/here"


def check_same(there, here):
    r = subprocess.run(["diff", "-r", there, here], capture_output=True,
                       check=False)
    check(r.returncode == 0, r.stdout[-500:])
    check(not glob.glob(here + "/*.??????"), "a temporary file")


class Rounds(Relay):
    """Brings an answer once the client has said all that it says without: how
    many such rounds there were."""
    rounds = 0

    def carry(self, source, sink):
        if source is self.pairs[-1][0]:
            return              # one thread does both
        server, client = source, sink
        with contextlib.suppress(OSError):
            while True:
                said = False
                while select.select([client], [], [], QUIET)[0]:
                    said = True
                    data = client.recv(65536)
                    if not data:
                        return
                    server.sendall(data)
                self.rounds += said
                if select.select([server, client], [], [])[0] == [client]:
                    continue
                data = server.recv(1 << 20)
                if not data:
                    client.shutdown(socket.SHUT_WR)
                    return
                client.sendall(data)


def rounds(server):
    """Fewer round trips than files; so, too, with times, and where all is there
    already."""
    there, here = tree([300] * FILES)
    for words in (":" + there, here), (here, ":%s-up" % there), \
            ("-p", here, ":%s-p" % there), ("-c", here, ":%s-c" % there), \
            ("-c", here + "/.", ":%s-c" % there):
        relay = Rounds(server.url)
        cp(relay.url, "-r", *words)
        check_same(there, words[-1].strip(":"))
        # One that is slow to say something seems to have said all of it.
        in_time(relay.rounds < FILES // 2, "%s: %d round trips" %
                (words, relay.rounds))
    for name in os.listdir(here):
        for copy in "-p", "-c":
            check(os.stat("%s%s/%s" % (there, copy, name)).st_mtime_ns ==
                  os.stat("%s/%s" % (here, name)).st_mtime_ns, name + copy)


def sizes(server):
    """None, few and many bytes, and more than are under way at a time; with
    connections that break."""
    some = [0, 1, 4095, 100 << 10, (256 << 10) - 1, 256 << 10, (256 << 10) + 1,
            1 << 20, (1 << 20) + 1]
    there, here = tree(some * 3 + [100 << 10] * 20)
    cp(server.url, "-r", ":" + there, here)
    check_same(there, here)
    cp(server.url, "-r", here, ":%s-up" % there)
    check_same(there + "-up", here)
    # A connection must be able to carry the longest one that is sent at once.
    for every, *words in (1 << 20, ":" + there, here + "2"), \
            (2 << 20, here, ":%s-cut" % there), \
            (2 << 20, "-p", here, ":%s-p" % there):
        relay = Relay(server.url, every=every, times=5)
        cp(relay.url, "-r", *words)
        check_same(there, words[-1].strip(":"))
        check(relay.times == 0, "%d cuts are left" % relay.times)


def others(server):
    """Files without a size, one that cannot be read, links, folders, in order."""
    there, here = tree([10] * 40)
    os.symlink("001", there + "/015-link")
    os.symlink("nowhere", there + "/020-dangling")
    os.mkdir(there + "/025-folder")
    os.mkfifo(there + "/026-fifo")
    with open(there + "/025-folder/f", "wb") as f:
        f.write(b"deep")
    os.mkfifo(there + "/002-fifo")
    err = cp(server.url, "-r", ":" + there, here, status=1)
    check([line.split(": ")[1] for line in err.splitlines()] ==
          [there + "/002-fifo", there + "/026-fifo"], err)
    os.unlink(there + "/002-fifo")
    os.unlink(there + "/026-fifo")
    check(os.readlink(here + "/020-dangling") == "nowhere", "a link")
    os.unlink(there + "/020-dangling")
    os.unlink(here + "/020-dangling")
    check_same(there, here)
    route = "/proc/sys/net/ipv4/route"
    if os.path.exists(route + "/flush"):
        err = cp(server.url, "-r", ":" + route, here + "2", status=1)
        check(err.count("\n") == 1 and route + "/flush: " in err, err)
        for name in set(os.listdir(route)) - {"flush"}:
            with open("%s/%s" % (route, name), "rb") as f, \
                    open("%s2/%s" % (here, name), "rb") as g:
                check(f.read() == g.read(), name)
        check(not os.path.exists(here + "2/flush"), "half a file")


def names(err):
    return [line.split(": ")[1] for line in err.splitlines()]


def others_up(server):
    """What cannot be read here, or not be written there, is told in order;
    links, folders and modes are as they were."""
    here, there = tree([10] * 60)
    os.mkdir(there)
    bad = {}
    for name in os.listdir(here)[3:50:5]:
        bad[name] = "%s/%s" % (there, name)
        os.mkdir(bad[name])
    os.mkfifo(here + "/fifo")
    bad["fifo"] = here + "/fifo"
    if os.geteuid() != 0:
        bad["shut"] = here + "/shut"
        with open(bad["shut"], "wb") as f:
            os.chmod(f.fileno(), 0)
    os.symlink("000", here + "/link")
    os.mkdir(here + "/closed")
    with open(here + "/closed/f", "wb") as f:
        f.write(b"deep")
    os.chmod(here + "/closed", 0o555)
    order = [bad[name] for name in os.listdir(here) if name in bad]
    err = cp(server.url, "-r", here + "/.", ":" + there, status=1)
    told = names(err.replace("/./", "/"))
    check(told == order, "%s, not %s" % (told, order))
    for name in set(os.listdir(here)) - set(bad) - {"closed", "link"}:
        with open("%s/%s" % (here, name), "rb") as f, \
                open("%s/%s" % (there, name), "rb") as g:
            check(f.read() == g.read(), name)
    check(os.readlink(there + "/link") == "000", "a link")
    check(os.stat(there + "/closed").st_mode & 0o777 == 0o555, "its mode")
    check(os.path.exists(there + "/closed/f"), "what is in it")
    for top in here, there:
        os.chmod(top + "/closed", 0o755)
    # It has no bytes, and cannot be read.
    err = cp(server.url, here + "/000", "/proc/self/mem", here + "/001",
             ":%s" % there, status=1)
    check(names(err) == ["/proc/self/mem"], err)
    check(not os.path.exists(there + "/mem"), "half a file")


def again(server):
    """With --continue what is there already is not carried."""
    there, here = tree([50 << 10] * 30)
    cp(server.url, "-c", "-r", ":" + there, here)
    check_same(there, here)
    cp(server.url, "-c", "-r", here, ":%s-up" % there)
    for words, gone in (((":%s/." % there, here), here),
                        ((here + "/.", ":%s-up" % there), there + "-up")):
        os.unlink(gone + "/010")
        relay = Relay(server.url, every=1 << 60, times=1)
        cp(relay.url, "-c", "-r", *words)
        check_same(there, gone)
        check(relay.carried < 200 << 10, "%d bytes" % relay.carried)


def stopped(server):
    """A signal in the middle: whole files, and no other."""
    there, here = tree([2000] * 400)
    for n in range(16):
        to = "%s%d" % (here, n)
        child = subprocess.Popen([CTL, "cp", "-r", "-u", server.url, *(
            (":" + there, to) if n % 2 else (there, ":" + to))])
        wait_for(lambda to=to, n=n: len(glob.glob(to + "/???")) > 10 * n,
                 LIMIT, "files")
        child.send_signal(signal.SIGINT)
        check(child.wait(LIMIT) in (0, -signal.SIGINT), child.returncode)
        check(set(os.listdir(to)) <= set(os.listdir(there)),
              "%s" % os.listdir(to))
        for name in os.listdir(to):
            with open("%s/%s" % (there, name), "rb") as f, \
                    open("%s/%s" % (to, name), "rb") as g:
                check(f.read() == g.read(), name)


def with_server(test):
    def run():
        server = Server()
        test(server)
        server.stop()
    run.__name__ = test.__name__
    return run


main(*map(with_server, (rounds, sizes, others, others_up, again,
                         stopped)))
