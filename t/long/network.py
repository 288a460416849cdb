"""A network of two namespaces, ours and a server's, that campaigns share: frames
go astray, or no more of them go through in a second than a line of so many bits
has.  Wants root."""
import contextlib
import ctypes
import os
import shutil
import subprocess

import tokens
from client import LIMIT, Server, say, wait_for
from lines import PASS

CLONE_NEWNET = 0x40000000


def run(*words, into=None):
    inside = () if into is None else ("nsenter", "-t", str(into), "-n")
    return subprocess.run([*inside, *words], check=True,
                          capture_output=True, text=True).stdout


def ip(*words, into=None):
    return run("ip", *words, into=into)


class Way:
    """A pair of interfaces between two namespaces, ours and a server's.  What
    is held goes to a neighbour that does not exist; TCP sends it again."""

    def __init__(self, number, other):
        self.other, self.url, self.token = other, None, None
        self.ours, self.theirs = "ours%d" % number, "theirs%d" % number
        here, there = ("192.0.2.%d" % (4 * number + i) for i in (1, 2))
        ip("link", "add", self.ours, "type", "veth", "peer", "name",
           self.theirs, "netns", str(other))
        self.ends = {"up": (self.ours, there, None),
                     "down": (self.theirs, here, other)}
        for device, address, into in ((self.ours, here, None),
                                      (self.theirs, there, other)):
            ip("addr", "add", address + "/30", "dev", device, into=into)
            ip("link", "set", device, "up", into=into)
        self.address = there
        self.real = {"up": self.mac(self.theirs, other),
                     "down": self.mac(self.ours, None)}
        self.set(up=PASS, down=PASS)

    @staticmethod
    def mac(device, into):
        words = ip("-o", "link", "show", device, into=into).split()
        return words[words.index("link/ether") + 1]

    def set(self, **modes):
        for to, mode in modes.items():
            device, address, into = self.ends[to]
            ip("neigh", "replace", address, "lladdr", self.real[to]
               if mode == PASS else "02:00:00:00:00:01", "nud", "permanent",
               "dev", device, into=into)

    def slow(self, rate, room):
        """So many bytes a second each way, and a queue of so many."""
        for device, _, into in self.ends.values():
            run("tc", "qdisc", "replace", "dev", device, "root", "tbf",
                "rate", "%dbps" % rate, "burst", str(max(5000, rate // 100)),
                "limit", str(room), into=into)


class Network:
    def __init__(self, other, *options):
        self.pair = [Way(0, other), Way(1, other)]
        token = tokens.new()
        self.server = Server(
            tokens.option("t", token, "root"), "PermitRootSession=yes",
            *options, listen=["ws://%s:0" % w.address for w in self.pair],
            prefix=("nsenter", "-t", str(other), "-n", "--"))
        for way, url in zip(self.pair, self.server.urls):
            way.url, way.token = url, token

    @contextlib.contextmanager
    def ways(self):
        for way in self.pair:
            way.set(up=PASS, down=PASS)
        yield self.pair


def namespace(pid):
    return os.readlink("/proc/%s/ns/net" % pid)


@contextlib.contextmanager
def namespaces(*tools):
    """Go to a namespace of our own; the pid of a process in another one, or
    None if that cannot be had."""
    tools = ("ip", "unshare", "nsenter") + tools
    if os.geteuid() != 0 or not all(map(shutil.which, tools)):
        say("  left out: wants root, " + ", ".join(tools))
        yield None
        return
    before = namespace("self")
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) == -1:
        say("  left out: no network namespaces")
        yield None
        return
    ip("link", "set", "lo", "up")
    with subprocess.Popen(["unshare", "-n", "sleep", "100000"]) as other:
        try:
            wait_for(lambda: namespace(other.pid) not in (
                before, namespace("self")), LIMIT, "a namespace")
            yield other.pid
        finally:
            other.kill()
