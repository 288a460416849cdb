"""execsrvctl through wss://, which is libexecsrv with execsrv-reach: only
servers with good certificates are told anything; whatever can be survived is
not noticed, the rest ends with one line. Nothing of it is left behind."""
import contextlib
import ctypes
import hashlib
import importlib
import os
import signal
import subprocess
import time

import tokens
from client import (BUILD, LIMIT, SANITIZED, Server, TMP, check, children,
                    descendants, in_time, is_alive, links, main, say, wait_for)

tls = importlib.import_module("7tls")
faults = importlib.import_module("7faults")

REACH = BUILD + "/execsrv-reach"
CTL = BUILD + "/execsrvctl"
PR_SET_CHILD_SUBREAPER = 36

# What a caller leaves behind is ours then, not one of another test's.
check(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "prctl")
ca = tls.certificates()
good = ca.context("good")
server = Server()
environment = {k: v for k, v in os.environ.items()
               if not k.lower().endswith("_proxy")}


def reaches():
    """Our processes of execsrv-reach, the resolver's included."""
    found = []
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if f.read().split(b"\0")[0] == REACH.encode():
                    found.append(pid)
    return [p for p in found if is_alive(p)]


def nothing_left():
    wait_for(lambda: not reaches(), LIMIT, "execsrv-reach is gone")


def start(url, *argv, trust=ca.ca, more=(), env=None, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
           "stderr": subprocess.PIPE, **how}
    options = ["--ca-file", trust] if trust else []
    return subprocess.Popen([CTL, "run", "--url", url, *options, *more, "--",
                             *argv], env={**environment, **(env or {})}, **how)


def run(url, *argv, status=0, seconds=LIMIT * 10 + faults.CUTS,
        data=None, **how):
    if data is not None:
        how["stdin"] = subprocess.PIPE
    child = start(url, *argv, **how)
    out, err = child.communicate(data, timeout=seconds)
    check(child.returncode == status, "%s: %r %r" % (child.returncode, err,
                                                     out[:200]))
    return out, err


def refused(url, *words, **how):
    """One line, which has these words."""
    out, err = run(url, "true", status=125, **how)
    check(out == b"" and err.startswith(b"execsrvctl: ") and
          err.count(b"\n") == 1, err)
    for word in words:
        check(word.encode() in err, "%r: no %r" % (err, word))


def works():
    """By address and by name, there and back, much of it."""
    door = tls.Door(server.url, good)
    for url in door.url, door.name, door.url + "/", door.name + "/?b=c":
        out, err = run(url, "sh", "-c", "echo on; echo err >&2; exit 7",
                       status=7)
        check((out, err) == (b"on\n", b"err\n"), (out, err))
    check(door.heads[-1].startswith(b"GET /?b=c HTTP/1.1\r\n"), door.heads)
    check(b"\r\nHost: localhost" in door.heads[-1] or
          b"\r\nhost: localhost" in door.heads[-1].lower(), door.heads)
    data = faults.rng.randbytes(5 << 20)
    out, _ = run(door.url, "cat", data=data)
    check(hashlib.sha256(out).digest() == hashlib.sha256(data).digest(),
          "%d bytes came back of %d" % (len(out), len(data)))
    # Another file of authorities, by a variable.
    run(door.url, "true", trust=None, env={"SSL_CERT_FILE": ca.ca})
    nothing_left()


def distrusted():
    """A certificate that is not good: nothing is said to its owner."""
    own = tls.Certificates(TMP + "/other")
    cases = (
        (ca.context("name", alt="DNS:example.org"), ca.ca),
        (ca.context("old", begin="20200101000000Z", end="20210101000000Z"),
         ca.ca),
        (ca.context("early", begin="20390101000000Z"), ca.ca),
        (ca.own("own"), ca.ca),
        (own.context("good"), ca.ca),
        (good, own.ca),
        (good, None),
    )
    for context, trust in cases:
        door = tls.Door(server.url, context)
        refused(door.url, "certificate", trust=trust, more=["--token-file",
                                                            tokens.secret("t")])
        check(not door.heads, "it was told: %r" % door.heads)
        door.shut()
    # Its name is part of it.
    only_name = tls.Door(server.url, ca.context("local", alt="DNS:localhost"))
    run(only_name.name, "true")
    refused(only_name.url, "certificate")
    refused(only_name.url, "/nonexistent", trust="/nonexistent")
    empty = TMP + "/empty"
    with open(empty, "w", encoding="ascii"):
        pass
    refused(only_name.url, empty, trust=empty)
    nothing_left()


# Then localhost is ::1 and 127.0.0.1, in this order.
WITHOUT_HOSTS = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                 "for f in /etc/hosts /etc/resolv.conf; do [ ! -e $f ] ||"
                 " mount --bind /dev/null $f || exit 99; done; exec \"$@\"",
                 "sh")


def two_addresses():
    """What the first was refused for is told, if nobody is at the second."""
    if not os.path.exists("/proc/net/if_inet6") or subprocess.call(
            [*WITHOUT_HOSTS, "true"], stderr=subprocess.DEVNULL) != 0:
        print("left out: no ::1, or /etc/hosts cannot be hidden")
        return
    door = tls.Door(server.url, ca.own("two"), host="::1")
    child = subprocess.run(
        [*WITHOUT_HOSTS, CTL, "run", "--url", door.name, "--ca-file", ca.ca,
         "--", "true"], env=environment, capture_output=True, check=False)
    check(child.returncode == 125 and b"certificate" in child.stderr,
          "%d: %r" % (child.returncode, child.stderr))
    door.shut()


def token():
    """Shown to the server, and to nobody else: not even in /proc."""
    right = tokens.new()
    strict = Server("RequireToken=always", tokens.option("ci", right))
    door = tls.Door(strict.url, good)
    with open(TMP + "/fifo-out", "wb") as out:
        child = start(door.url, "sleep", "600", stdout=out,
                      more=["--token-file", tokens.secret(right)])
    wait_for(reaches, LIMIT, "a connection")
    wait_for(lambda: door.heads, LIMIT, "a request")
    for pid in reaches():
        for name in "cmdline", "environ":
            with contextlib.suppress(OSError):
                with open("/proc/%d/%s" % (pid, name), "rb") as f:
                    check(right.encode() not in f.read(), "it is in " + name)
    child.terminate()
    child.wait(LIMIT)
    child.stderr.close()
    check(("authorization: bearer " + right).encode() in
          door.heads[0].lower().replace(b"bearer " + right.lower().encode(),
                                        b"bearer " + right.encode()),
          door.heads)
    refused(door.url, "HTTP 401: a token is missing")
    refused(door.url, "HTTP 401", more=["--token-file",
                                        tokens.secret(tokens.new())])
    # One with all letters that a token may have.
    odd = "\"\\/'<&{}~!" + "x" * 4000
    refused(door.url, "HTTP 401", more=["--token-file", tokens.secret(odd)])
    check(odd.encode() in door.heads[-1], "another token")
    strict.stop()
    nothing_left()


def refusals():
    """The server's reason is told, of a real one and of others."""
    picky = Server("DenyUsers=*")
    door = tls.Door(picky.url, good)
    refused(door.url, "HTTP 403 Forbidden: DenyUsers")
    picky.stop()
    door = tls.Door(None, good)
    for answer, words in (
            (b"Content-Type: text/plain\r\n\r\nForbidden: by rule 7\n",
             "HTTP 403 Forbidden: by rule 7"),
            (b"Content-Type: text/html\r\n\r\n<p>by rule 7</p>",
             "HTTP 403 Forbidden"), (b"\r\n", "HTTP 403 Forbidden")):
        door.answer = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\n" + \
            answer
        refused(door.url, words)
    check(door.connections == 6, "asked %d times" % door.connections)
    # What it is asked for the second time is the same.
    check(door.heads[0].split()[1] == door.heads[1].split()[1],
          door.heads[:2])
    nothing_left()


def not_there():
    """Nobody, somebody who is no exec server, somebody who says nothing."""
    door = tls.Door(server.url, good)
    door.shut()
    refused("wss://127.0.0.1:1", "wss://127.0.0.1:1")
    refused("wss://nowhere.invalid", "host not found")
    for url in ("wss://", "wss://:1", "wss://a b", "wss://127.0.0.1:0",
                "wss://user@127.0.0.1", "wss://127.0.0.1:99999", "wss:/x",
                "wss://127.0.0.1/#x"):
        refused(url)
    for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                   b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
                   b"HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n"
                   b"Connection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
                   b"SSH-2.0-x\r\n\r\n", b""):
        door = tls.Door(None, good)
        door.answer = answer
        refused(door.url)
        check(door.connections == 1, "asked %d times" % door.connections)
    nothing_left()


def unnoticed(fault, least, more=()):
    door = tls.Door(server.url, good, fault)
    try:
        faults.ck_output(*run(door.url, "sh", "-c", faults.COMMAND, status=7,
                              more=more))
    finally:
        say("  %d connections" % door.connections)
    check(door.connections >= least, "hardly a fault")
    nothing_left()


def cut():
    """Again and again: the connection is made anew."""
    unnoticed(faults.cut, 2)


def half_open():
    """execsrv-reach asks, and finds that nobody answers."""
    began = time.monotonic()
    unnoticed(faults.half_open, 2, faults.SOON)
    in_time(time.monotonic() - began < faults.SOON_LIMIT, "not found soon")


def garbage():
    """As if it had been cut."""
    unnoticed(faults.garbage, 3)


def killed():
    """execsrv-reach itself: as if the line had been cut."""
    door = tls.Door(server.url, good)
    child = start(door.url, "sh", "-c", faults.COMMAND)
    seen = set()
    out = b""
    while piece := os.read(child.stdout.fileno(), 65536):
        out += piece
        for pid in reaches() if len(seen) < 3 else []:
            # Not while it starts: that would be the first connection.
            if pid not in seen and len(door.heads) > len(seen) and \
                    pid in children(child.pid) and b"\n2000\n" in out:
                seen.add(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    err = child.stderr.read()
    child.stdout.close()
    child.stderr.close()
    check(child.wait(LIMIT) == 7, err)
    check(seen and door.connections > 1, "nothing was killed")
    faults.ck_output(out, err)
    nothing_left()


def for_good():
    """Lost, and then refused by who cannot be trusted or does not let us in any
    more: it is not asked again."""
    def ends(door, number):
        def change(data):
            return data, number > 1 or not ready.is_set()
        return change

    for bad, word in ((b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "403"),
                      (None, "certificate")):
        ready = tls.threading.Event()
        door = tls.Door(server.url, good)
        child = start(door.url, "sh", "-c", "echo on; exec sleep 600")
        check(child.stdout.readline() == b"on\n", "it does not start")
        if bad:
            door.answer = bad
        else:
            # The same context has another certificate from now on.
            ca.own("own2")
            good.load_cert_chain(ca.dir + "/own2.pem", ca.dir + "/own2.key")
        before = door.connections
        door.cut()
        _, err = child.communicate(timeout=LIMIT * 3)
        check(child.returncode == 125 and word.encode() in err and
              err.count(b"\n") == 1, err)
        # With 403 the server is asked once more, for the reason.
        check(door.connections == before + (2 if bad else 0), "asked again")
        if not bad:
            good.load_cert_chain(ca.dir + "/good.pem", ca.dir + "/good.key")
    nothing_left()


def caller_dies():
    """Without a word; its connection ends with it."""
    door = tls.Door(server.url, good)
    child = start(door.url, "sh", "-c", "echo on; exec sleep 600")
    check(child.stdout.readline() == b"on\n", "it does not start")
    check(reaches(), "no execsrv-reach")
    child.kill()
    child.communicate(timeout=LIMIT)
    nothing_left()


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return dict(line.split(":\t", 1) for line in f if ":\t" in line)


def few_rights():
    """It may do little, and sees nothing of ours."""
    door = tls.Door(server.url, good)
    child = start(door.url, "sh", "-c", "echo on; exec sleep 600",
                  env={"A_SECRET": "hidden"})
    check(child.stdout.readline() == b"on\n", "it does not start")
    wait_for(lambda: len(reaches()) == 2, LIMIT, "two processes")
    found = reaches()
    for pid in found:
        # The other one confines itself while this one is at work already.
        wait_for(lambda p=pid: status_of(p)["NoNewPrivs"].strip() == "1" and
                 (SANITIZED or status_of(p)["Seccomp"].strip() == "2"), LIMIT,
                 "no new privileges, and a filter")
        check(os.stat("/proc/%d/environ" % pid).st_uid == 0,
              "others may look at it")
        if os.getuid() == 0:
            with open("/proc/%d/environ" % pid, "rb") as f:
                check(b"hidden" not in f.read(), "our environment")
            for there in links(pid):
                check(there.startswith(("socket:", "pipe:", "anon_inode:",
                                        "/dev/null", "/dev/urandom")), there)
    # Ctrl-C in our terminal is not for it.
    check(all(os.getpgid(p) != os.getpgid(child.pid) for p in found),
          "in our process group")
    child.terminate()
    child.communicate(timeout=LIMIT)
    nothing_left()


def by_proxy():
    """As the environment wants, which is told where to, and no more."""
    async def begin():
        return await tls.proxy.Proxy().start()

    door = tls.Door(server.url, good)
    between = tls.asyncio.run_coroutine_threadsafe(begin(),
                                                   door.loop).result(LIMIT)
    env = {"https_proxy": between.url}
    run(door.url, "true", env=env)
    check(between.targets == ["127.0.0.1:%d" % door.port], between.targets)
    run(door.url, "true", env={**env, "no_proxy": "127.0.0.1"})
    check(len(between.targets) == 1, between.targets)
    between.answer = b"HTTP/1.1 403 No\r\n\r\n"
    refused(door.url, env=env)
    nothing_left()


def slow_reader():
    """Who takes nothing is not sent anything, and keeps the connection."""
    door = tls.Door(server.url, good)
    child = start(door.url, "seq", "3000000", more=["--silence", "1"])
    peak = 0
    began = time.monotonic()
    while time.monotonic() - began < 3:
        for pid in reaches():
            with contextlib.suppress(OSError):
                with open("/proc/%d/statm" % pid, encoding="ascii") as f:
                    peak = max(peak, int(f.read().split()[1]) * 4)
        time.sleep(0.05)
    out, err = child.communicate(timeout=LIMIT * 5)
    want = b"".join(b"%d\n" % i for i in range(1, 3000001))
    check(err == b"" and child.returncode == 0, err)
    check(out == want, "%d bytes of %d" % (len(out), len(want)))
    check(door.connections == 1, "it was lost")
    check(peak < 64 << 10 or SANITIZED, "%d KiB" % peak)
    nothing_left()


def heartbeat():
    """Nor does it take the server's pings then, which hears of it often enough
    all the same, however long the silence is that it would take itself."""
    door = tls.Door(server.url, good)
    child = start(door.url, "seq", "3000000", more=["--silence", "600"])
    wait_for(lambda: door.beats > 0, LIMIT, "a pong")
    out, err = child.communicate(timeout=LIMIT * 5)
    check((out[-8:], err) == (b"3000000\n", b""), err)
    check(door.connections == 1, "it was lost")
    nothing_left()


main(works, distrusted, two_addresses, token, refusals, not_there, cut,
     half_open, garbage, killed, for_good, caller_dies, few_rights, by_proxy,
     slow_reader, heartbeat)
