"""execsrvctl cp -r: small files are asked for before their turn, within bounds;
what comes of it is the same as one after the other."""
import contextlib
import glob
import os
import random
import select
import signal
import socket
import subprocess
import tempfile

from client import BUILD, LIMIT, TMP, Server, check, main, wait_for
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
    """Fewer round trips than files."""
    there, here = tree([300] * FILES)
    relay = Rounds(server.url)
    cp(relay.url, "-r", ":" + there, here)
    check_same(there, here)
    check(relay.rounds < FILES // 2, "%d round trips" % relay.rounds)


def sizes(server):
    """None, few and many bytes, and more than are asked for at a time; with
    connections that break."""
    some = [0, 1, 4095, 100 << 10, (256 << 10) - 1, 256 << 10, (256 << 10) + 1,
            1 << 20, (1 << 20) + 1]
    there, here = tree(some * 3 + [100 << 10] * 20)
    cp(server.url, "-r", ":" + there, here)
    check_same(there, here)
    relay = Relay(server.url, every=1 << 20, times=8)
    cp(relay.url, "-r", ":" + there, here + "2")
    check_same(there, here + "2")
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


def again(server):
    """With --continue what is here already is not asked for."""
    there, here = tree([50 << 10] * 30)
    cp(server.url, "-c", "-r", ":" + there, here)
    check_same(there, here)
    os.unlink(here + "/010")
    relay = Relay(server.url, every=1 << 60, times=1)
    cp(relay.url, "-c", "-r", ":" + there + "/.", here)
    check_same(there, here)
    check(relay.carried < 200 << 10, "%d bytes" % relay.carried)


def stopped(server):
    """A signal in the middle: whole files, and no other."""
    there, here = tree([2000] * 400)
    for n in range(8):
        here += "%d" % n
        child = subprocess.Popen([CTL, "cp", "-r", "-u", server.url,
                                  ":" + there, here])
        wait_for(lambda: len(glob.glob(here + "/???")) > 20 * n, LIMIT,
                 "files")
        child.send_signal(signal.SIGINT)
        check(child.wait(LIMIT) in (0, -signal.SIGINT), child.returncode)
        names = os.listdir(here)
        check(set(names) <= set(os.listdir(there)), "%s" % names)
        for name in names:
            with open("%s/%s" % (there, name), "rb") as f, \
                    open("%s/%s" % (here, name), "rb") as g:
                check(f.read() == g.read(), name)


def with_server(test):
    def run():
        server = Server()
        test(server)
        server.stop()
    run.__name__ = test.__name__
    return run


main(*map(with_server, (rounds, sizes, others, again, stopped)))
