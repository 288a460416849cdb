"""shellSnapshot: startup files run once, and what they leave comes back."""
import base64
import os
import time

from client import (Client, RpcError, Server, check, in_time, main, resume_in,
                    rss, wait_for, LIMIT, SANITIZED, SCALE, TMP)

HOME = TMP + "/home"
LOG = HOME + "/log"


def write(name, text):
    os.makedirs(HOME, exist_ok=True)
    with open("%s/%s" % (HOME, name), "w", encoding="utf-8") as f:
        f.write(text)


def profile(text, name=".bash_profile"):
    """Startup files that say when they run; none of the others."""
    for other in ".bash_profile", ".profile", ".bashrc":
        write(other, "")
    write("log", "")
    write(name, "echo ran >> %s\necho noise\necho noise >&2\n%s" %
          (LOG, text))


def runs():
    with open(LOG, encoding="utf-8") as f:
        return f.read().count("ran")


class Session:
    count = 0

    def __init__(self, server):
        self.c = Client(server.url)
        info = self.c.call("initialize", {"clientName": "t"})
        check(info["environmentInfo"]["capabilities"].get("shellSnapshotV2"),
              "not announced")
        self.id = info["sessionId"]
        self.c.send({"method": "initialized"})

    def params(self, script, *more, scope="s", shell="/bin/bash", **members):
        Session.count += 1
        name = members.pop("name", os.path.basename(shell))
        env = {"PATH": "/usr/bin:/bin", "HOME": HOME,
               **members.pop("env", {})}
        return {"processId": "p%d" % Session.count,
                "argv": [shell, "-lc", script, *more],
                "cwd": "file://" + TMP, "env": env, "tty": False,
                "shellSnapshot": {"scopeId": scope, "shell": {
                    "name": name, "path": shell}}, **members}

    def output(self, name):
        """Standard output, then standard error, as the two have no order; and
        the exit code."""
        seq, out = 0, {"stdout": b"", "stderr": b""}
        while True:
            r = self.c.call("process/read", {
                "processId": name, "afterSeq": seq, "waitMs": 5000})
            for c in r["chunks"]:
                out[c["stream"]] += base64.b64decode(c["chunk"])
            seq = r["nextSeq"] - 1
            if r["closed"]:
                return (out["stdout"] + out["stderr"]).decode(), r["exitCode"]

    def run(self, script, *more, **members):
        params = self.params(script, *more, **members)
        self.c.call("process/start", params)
        return self.output(params["processId"])


def same(got, wanted):
    check(got == wanted, "got %r, not %r" % (got, wanted))


def started():
    os.makedirs(HOME, exist_ok=True)
    return Server(env={"HOME": HOME})


def state():
    server = started()
    profile("cd /\numask 077\nf() { echo \"f $1\"; }\ng() { echo g; }\n"
            "export -f g\nalias hi='echo \"it'\\''s\" hi'\nset -o noglob\n"
            "shopt -s expand_aliases nullglob\nexport V='a b\nc' HOME2=$HOME\n"
            "unset GONE\nw=local\n")
    s = Session(server)
    for _ in range(3):
        same(s.run('f "$1"; hi; echo "$V" "$w" "$0" "$#" "$-"; '
                   'shopt -q nullglob && echo null; pwd; umask; '
                   'bash -c g; shopt -q login_shell || echo no login; '
                   'env | grep SNAPSHOT; exit 7', "zero", "one"),
             ("f one\nit's hi\na b\nc  zero 1 fhBc\nnull\n%s\n%s\ng\n"
              "no login\n" % (os.path.realpath(TMP), mask()), 7))
    same(runs(), 1)
    # Not in the list, not even the one that runs now.
    same([p["processId"] for p in s.c.call("process/list", {})["processes"]
          if not p["processId"].startswith("p")], [])
    # What else the client sets is its own, and makes no other one.
    same(s.run("echo $V $OTHER", env={"V": "mine", "OTHER": "2"}),
         ("mine 2\n", 0))
    same(runs(), 1)
    for members in ({"scope": "t"}, {"cwd": "file:///"}, {"envPolicy": {
            "inherit": "none", "ignoreDefaultExcludes": True,
            "exclude": ["HOME2"], "set": {"V": "set"}, "includeOnly": []}}):
        before = runs()
        s.run("true", **members)
        same(s.run("echo $V-$HOME2", **members),
             ("set-\n" if "envPolicy" in members else "a b c-%s\n" % HOME, 0))
        same(runs(), before + 1)
    # It is the session's, not the connection's; and no other session's.
    s.c.sock.close()
    s.c, before = resume_in(server.url, s.id, LIMIT), runs()
    same(s.run("f x"), ("f x\n", 0))
    same(runs(), before)
    same(Session(server).run("f x"), ("f x\n", 0))
    same(runs(), before + 1)
    server.stop()


def mask():
    old = os.umask(0)
    os.umask(old)
    return "%04o" % old


def posix_shell():
    """sh, whatever that is, has no functions to tell."""
    server = started()
    profile("alias hi='echo it'\nset -u\nexport V=1\n", ".profile")
    s = Session(server)
    for _ in range(2):
        same(s.run("alias | grep hi | sed 's/^alias //'; echo $V $#; "
                   "case $- in *u*) echo unset;; esac",
                   "sh", "x", shell="/bin/sh"), (
                       "hi='echo it'\n1 1\nunset\n", 0))
    same(runs(), 1)
    # zsh is known, but its startup files run each time.
    profile("")
    for _ in range(2):
        same(s.run("echo $0", name="zsh")[1], 0)
    same(runs(), 2)
    server.stop()


def without():
    """Startup files that do not let a snapshot be taken."""
    server = started()
    for text, out, code in (
            ("exit 3\n", "noise\nnoise\n", 3),
            ("exec >/dev/null\n", "noise\nnoise\n", 0),
            ("f() { : '%s'; }\n" % ("x" * 600000), "noise\nout\nnoise\n",
             0)):
        profile(text)
        s = Session(server)
        same(s.run("echo out"), (out, code))
        check(runs() >= 2, "%d runs" % runs())
        same(s.run("echo out"), (out, code))
        s.c.sock.close()
    server.stop()


def given_up():
    """What fails is tried three times, and no more."""
    server = started()
    profile("exit 3\n")
    s = Session(server)

    def run_until(done):
        end = time.monotonic() + LIMIT
        while not done():
            check(time.monotonic() < end, "not given up: " + server.log())
            same(s.run("echo out"), ("noise\nnoise\n", 3))
    run_until(lambda: server.has_logged("try 3 of 3"))
    # Longer than between two tries.
    over = time.monotonic() + 1.5
    before, last = runs(), Session.count
    run_until(lambda: time.monotonic() > over)
    same(runs() - before, Session.count - last)
    server.stop()


def leftover():
    """A daemon that startup files leave holds nothing up, and stays; what it
    puts out after the shell's end is not kept."""
    server = started()
    profile("[ -e %s/pid ] || { { while kill -0 $$; do sleep 0.01; done; "
            "head -c 100000000 /dev/zero; "
            ": > %s/told; exec sleep 600; } & echo $! > %s/pid; }\n" %
            (HOME, HOME, HOME))
    s = Session(server)
    began = time.monotonic()
    same(s.run("echo out"), ("out\n", 0))
    in_time(time.monotonic() - began < 8 * SCALE, "held up by a daemon")
    with open(HOME + "/pid", encoding="ascii") as f:
        pid = int(f.read())
    wait_for(lambda: os.path.exists(HOME + "/told"), LIMIT, "its output")
    most = max(rss(w) for w in server.workers())
    check(most < 32 << 20 or SANITIZED, "%d bytes of memory" % most)
    os.kill(pid, 0)
    same(s.run("kill -0 %d && echo there" % pid), ("there\n", 0))
    s.c.call("session/close", {})
    wait_for(lambda: not os.path.exists("/proc/%d" % pid), LIMIT,
             "the daemon ends with the session")
    server.stop()


def waiting():
    """A start that waits for a shell can be ended; others of it go on."""
    server = started()
    profile("while [ ! -e %s/go ]; do sleep 0.1; done\n" % HOME)
    s = Session(server)
    one, two = s.params("echo one"), s.params("echo two")
    first = s.c.request("process/start", one)
    second = s.c.request("process/start", two)
    wait_for(lambda: runs() == 1, LIMIT, "startup files run")
    try:
        s.c.call("process/start", {**two, "shellSnapshot": None})
        check(False, "the id is in use")
    except RpcError as e:
        check(e.code == -32600, "%s" % e)
    same(s.c.call("process/terminate", {"processId": one["processId"]}),
         {"running": True})
    try:
        s.c.answer(first)
        check(False, "it was started")
    except RpcError as e:
        check("terminated" in e.text, "%s" % e)
    write("go", "")
    s.c.answer(second)
    same(s.output(two["processId"]), ("two\n", 0))
    same(runs(), 1)
    os.unlink(HOME + "/go")
    # The session ends while one is taken.
    s.c.request("process/start", s.params("echo", scope="never"))
    wait_for(lambda: runs() == 2, LIMIT, "startup files run again")
    s.c.call("session/close", {})
    server.stop()


def many():
    """The sixteen used last are kept."""
    server = started()
    profile("")
    s = Session(server)
    for n in range(16):
        s.run("true", scope="s%d" % n)
    s.run("true", scope="s0")
    same(runs(), 16)
    s.run("true", scope="s16")
    s.run("true", scope="s0")
    same(runs(), 17)
    s.run("true", scope="s1")
    same(runs(), 18)
    server.stop()


def sandboxed():
    """The shell is asked in the sandbox of the command."""
    server = started()
    profile("echo x > %s/written && export WROTE=1\nexport V=1\n" % HOME)
    s = Session(server)
    sandbox = {"permissions": {
        "type": "managed", "network": "restricted", "file_system": {
            "type": "restricted", "entries": [
                {"path": {"type": "special", "value": {"kind": "root"}},
                 "access": "read"}]}},
               "cwd": "file://" + TMP, "windowsSandboxLevel": "disabled"}
    try:
        for _ in range(2):
            same(s.run("echo $V-$WROTE", sandbox=sandbox), ("1-\n", 0))
    except RpcError as e:
        print("left out: a sandbox: %s" % e, flush=True)
        server.stop()
        return
    check(not os.path.exists(HOME + "/written"), "it was written")
    same(s.run("echo $V-$WROTE"), ("1-1\n", 0))
    server.stop()


def devices():
    """All devices are there for a command that may write everywhere."""
    server = started()
    s = Session(server)
    everything = {"permissions": {
        "type": "managed", "network": "enabled", "file_system": {
            "type": "restricted", "entries": [
                {"path": {"type": "special", "value": {"kind": "root"}},
                 "access": "write"}]}},
                  "cwd": "file://" + TMP, "windowsSandboxLevel": "disabled"}
    for network in "enabled", "restricted":
        everything["permissions"]["network"] = network
        same(s.run("ls /dev; readlink /proc/self/ns/mnt",
                   sandbox=everything, shellSnapshot=None),
             s.run("ls /dev; readlink /proc/self/ns/mnt",
                   shellSnapshot=None))
    server.stop()


main(state, posix_shell, without, given_up, leftover, waiting, many, sandboxed,
     devices)
