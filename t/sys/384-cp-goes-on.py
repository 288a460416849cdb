"""execsrvctl cp: standard input and output; what a lost connection, a signal or
a kill interrupted goes on where it was, and no file is of two contents; a tree
is one line."""
import contextlib
import fcntl
import glob
import os
import pty
import random
import re
import signal
import struct
import subprocess
import tempfile
import termios

from client import BUILD, LIMIT, TMP, Server, check, main, wait_for
from relay import Relay

CTL = BUILD + "/execsrvctl"
MIB = 1 << 20
SIZE = 12 * MIB
rng = random.Random(384)


def content():
    return rng.randbytes(SIZE)


def put(path, data, mode=0o644):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def cp(url, *words, status=0, data=b""):
    r = subprocess.run([CTL, "cp", "-u", url, *words], input=data,
                       capture_output=True, timeout=LIMIT * 4, check=False)
    check(r.returncode == status, "%s: %d: %r" % (words, r.returncode,
                                                  r.stderr[-500:]))
    return r.stdout, r.stderr.decode()


def left(folder):
    return glob.glob(folder + "/.execsrv-*") + glob.glob(folder + "/*.??????")


def folders():
    top = tempfile.mkdtemp(dir=TMP)
    here, there = top + "/here", top + "/there"
    os.mkdir(here)
    os.mkdir(there)
    return here, there


def pipes(server):
    """"-" both ways; what it cannot be."""
    here, there = folders()
    for data in b"", b"few", content():
        cp(server.url, "-", ":%s/x" % there, data=data)
        check(get(there + "/x") == data, "up: %d bytes" % len(data))
        out, err = cp(server.url, ":%s/x" % there, "-")
        check(out == data and err == "", "down: %d bytes" % len(data))
    put(here + "/f", b"file")
    with open(here + "/f", "rb") as f:
        check(f.read(1) == b"f", "its first byte")
        os.lseek(f.fileno(), 1, os.SEEK_SET)
        subprocess.run([CTL, "cp", "-u", server.url, "-", ":%s/y" % there],
                       stdin=f, check=True)
    check(get(there + "/y") == b"ile", "not from where it was")
    for words, why in (
            (("-", ":" + there), there + ": is a directory"),
            ((":" + there, "-"), there + ": is a directory"),
            ((":%s/none" % there, "-"), "/none: ")):
        _, err = cp(server.url, *words, status=1)
        check(why in err and err.count("\n") == 1, err)
    for words in (("-", "-", ":x"), (":x", ":y", "-"), ("-r", "-", ":x"),
                  ("-c", ":x", "-")):
        _, err = cp(server.url, *words, status=2)
        check('"-"' in err and err.count("\n") == 1, err)
    # A tree, by tar(1); a reader that has enough.
    r = subprocess.run(
        "tar cC %s . | $CTL cp - :%s/x.tar && $CTL cp :%s/x.tar - | tar t" %
        (here, there, there), shell=True, capture_output=True, check=True,
        env={**os.environ, "CTL": CTL, "EXECSRV_URL": server.url})
    check(r.stdout.split() == [b"./", b"./f"], r)
    put(there + "/x", content())
    r = subprocess.run("$CTL cp :%s/x - | head -c 10 | wc -c" % there,
                       shell=True, capture_output=True, check=True,
                       env={**os.environ, "CTL": CTL,
                            "EXECSRV_URL": server.url})
    check((r.stdout.strip(), r.stderr) == (b"10", b""), r)


def cuts(server):
    """Each connection carries 2 MiB: pipes go on, too, and nothing is sent
    twice but what was under way."""
    here, there = folders()
    for to_pipe in False, True:
        data = content()
        put(here + "/f", data)
        relay = Relay(server.url, every=2 * MIB, times=6)
        if to_pipe:
            cp(relay.url, "-", ":%s/f" % there, data=data)
            check(relay.times == 0, "%d cuts are left" % relay.times)
            out, _ = cp(Relay(server.url, every=2 * MIB, times=6).url,
                        ":%s/f" % there, "-")
            check(out == data, "down, to a pipe")
        else:
            cp(relay.url, here + "/f", ":%s/f" % there)
            check(relay.times == 0, "%d cuts are left" % relay.times)
            # In base64, and of each cut at most what is not known to be written.
            check(relay.carried < 2 * SIZE, "%d bytes" % relay.carried)
            cp(Relay(server.url, every=2 * MIB, times=6).url,
               ":%s/f" % there, here + "/back")
            check(get(here + "/back") == data, "down")
        check(get(there + "/f") == data, "up, pipe: %s" % to_pipe)
        check(not left(here) + left(there), left(here) + left(there))


class Changing(Relay):
    """Changes something before the connection after a cut."""

    def __init__(self, url, change):
        super().__init__(url, every=3 * MIB, times=1)
        self.change = change

    def cut(self):
        self.change()
        super().cut()


def changed(server):
    """The source is another one after the cut."""
    here, there = folders()
    old, new = content(), content()

    def change(path):
        put(path + ".new", new)
        os.rename(path + ".new", path)
    put(there + "/f", old)
    cp(Changing(server.url, lambda: change(there + "/f")).url,
       ":%s/f" % there, here + "/f")
    check(get(here + "/f") == new, "down: not the new one")
    put(there + "/f", old)
    out, err = cp(Changing(server.url, lambda: change(there + "/f")).url,
                  ":%s/f" % there, "-", status=1)
    check("it has changed" in err, err)
    check(old.startswith(out), "of two contents")
    put(here + "/f", old)
    cp(Changing(server.url, lambda: put(here + "/f", new)).url,
       here + "/f", ":%s/f" % there)
    check(get(there + "/f") == new, "up: not the new one")


def parts(folder):
    return [p for p in glob.glob(folder + "/.execsrv-*.part")
            if os.stat(p).st_size > 6 * MIB]


class Stopping(Relay):
    """Carries so much, then nothing more, without an end."""

    def __init__(self, url, most):
        super().__init__(url)
        self.most = most

    def is_due(self, n):
        with self.lock:
            self.carried += n
            is_over = self.carried > self.most
        if is_over:
            self.block()
        return False

    def block(self):
        wait_for(lambda: self.most > self.carried, LIMIT * 4, "the end")


def interrupt(server, words, folder, sig):
    """A copy that is ended by a signal when some of it is there."""
    relay = Stopping(server.url, 10 * MIB)
    child = subprocess.Popen([CTL, "cp", "-c", "-u", relay.url, *words],
                             stderr=subprocess.PIPE)
    wait_for(lambda: parts(folder), LIMIT, "a part")
    child.send_signal(sig)
    check(child.wait(LIMIT) == -sig, "it ended with %d" % child.returncode)
    child.stderr.close()
    relay.most = 1 << 60
    part, = parts(folder)
    check(os.stat(part).st_mode & 0o777 == 0o600, "others can read a part")
    return part


def again(server, words):
    """How many bytes it takes this time."""
    relay = Relay(server.url)
    relay.times, relay.every = 1, 1 << 60
    cp(relay.url, "-c", *words)
    return relay.carried


def goes_on(server):
    """--continue: after a signal and a kill, both ways; a part that is of
    something else is not gone on with."""
    here, there = folders()
    data = content()
    for sig in signal.SIGTERM, signal.SIGKILL:
        for source, target, words in (
                (here, there, (here + "/f", ":%s/f" % there)),
                (there, here, (":%s/f" % there, here + "/f"))):
            for f in glob.glob(target + "/f"):
                os.unlink(f)
            put(source + "/f", data, 0o750)
            interrupt(server, words, target, sig)
            check(not os.path.exists(target + "/f"), "half a file")
            carried = again(server, words)
            check(carried < SIZE, "all of it again: %d bytes" % carried)
            check(get(target + "/f") == data, "%s" % (words,))
            check(os.stat(target + "/f").st_mode & 0o777 == 0o750, "its mode")
            check(not left(target), left(target))
            # Now nothing is to be done.
            inode = os.stat(target + "/f").st_ino
            again(server, words)
            check(os.stat(target + "/f").st_ino == inode, "copied again")
            # One byte of the part is another one.
            os.unlink(target + "/f")
            part = interrupt(server, words, target, sig)
            with open(part, "r+b") as f:
                f.seek(1000)
                f.write(bytes([data[1000] ^ 1]))
            again(server, words)
            check(get(target + "/f") == data, "of two contents")
            # The source is another one.
            os.unlink(target + "/f")
            interrupt(server, words, target, sig)
            other = content()
            put(source + "/f", other)
            again(server, words)
            check(get(target + "/f") == other, "of two contents")
            for part in glob.glob(target + "/.execsrv-*.part"):
                os.unlink(part)
            os.unlink(source + "/f")


def astray(server):
    """A part that is a link to elsewhere, or not only ours."""
    here, there = folders()
    data = content()
    put(here + "/f", data)
    put(there + "/f", data)
    for target, words in (there, (here + "/f", ":%s/f" % there)), \
            (here, (":%s/f" % there, here + "/f")):
        os.unlink(target + "/f")
        part = interrupt(server, words, target, signal.SIGKILL)
        prefix = get(part)
        put(target + "/victim", prefix)
        os.unlink(part)
        os.symlink("victim", part)
        again(server, words)
        check(get(target + "/f") == data, "not copied")
        check(get(target + "/victim") == prefix, "written through a link")
        check(os.path.islink(part), "the link is gone")
        os.unlink(part)


def at_once(server):
    """Several of one file to one name."""
    here, there = folders()
    data = content()
    put(here + "/f", data)
    put(there + "/g", data)
    words = (here + "/f", ":%s/f" % there), (":%s/g" % there, here + "/g")
    some = [subprocess.Popen([CTL, "cp", "-c", "-u", server.url, *w])
            for w in words * 3]
    for child in some:
        check(child.wait(LIMIT * 2) == 0, "one failed")
    check(get(there + "/f") == get(here + "/g") == data, "not whole")
    check(not left(here) + left(there), left(here) + left(there))


def on_a_terminal(server, *words):
    me, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    child = subprocess.Popen([CTL, "cp", "-u", server.url, *words], stderr=its)
    os.close(its)
    text = b""
    with contextlib.suppress(OSError):
        while data := os.read(me, 65536):
            text += data
    os.close(me)
    check(child.wait(LIMIT) == 0, text)
    return text.decode()


def tree(server):
    """One line for all of it, with total and rate; skipped files count."""
    here, there = folders()
    os.mkdir(here + "/d")
    put(here + "/d/big", content())
    for i in range(10):
        put("%s/d/%d" % (here, i), bytes(100 * 1024))
    text = on_a_terminal(server, "-r", here, ":%s/to" % there)
    check(text.count("\n") == 1, text)
    last = text.split("\r")[-2]
    check(re.search(r"11 files +100%  13\.0 MiB  [0-9.]+ [KMG]iB/s", last), text)
    text = on_a_terminal(server, "-r", ":%s/to" % there, here + "/back")
    last = text.split("\r")[-2]
    check(text.count("\n") == 1 and re.search(
        r"11 files +13\.0 MiB  [0-9.]+ [KMG]iB/s", last), text)
    check(on_a_terminal(server, "-q", "-r", here, ":%s/quiet" % there) == "",
          "not quiet")
    text = on_a_terminal(server, here + "/d/big", ":%s/one" % there)
    check(text.count("\n") == 1 and "files" not in text and "100%" in text,
          text)


def with_server(test):
    def run():
        server = Server()
        test(server)
        server.stop()
    run.__name__ = test.__name__
    return run


main(*map(with_server, (pipes, cuts, changed, goes_on, astray, at_once, tree)))
