"""Tokens by hash: right, wrong and missing ones, and in whatever form."""
import hashlib
import importlib
import json
import os

import tokens
from client import (Client, Closed, RpcError, SANITIZED, Server, TMP, check,
                    connect, frame, is_alive, main, wait_for, worker_of,
                    LIMIT)
from tokens import ask, status

lib = importlib.import_module("7common")

ALWAYS = "RequireToken=always"
FIRST_MAX = 65536       # bytes of a first message


def forms():
    """Which header lines show a token, and what is answered to others."""
    right = tokens.new()
    server = Server(ALWAYS, tokens.option("ci", right))
    bearer = "Authorization: Bearer "
    for want, lines in (
            (101, [bearer + right]),
            (101, ["authorization: bearer " + right]),
            (101, ["AUTHORIZATION: BEARER   " + right + " \t "]),
            (401, []),
            (401, ["Authorization:"]),
            (401, ["Authorization: Bearer"]),
            (401, ["Authorization: " + right]),
            (401, ["Authorization: Basic " + right]),
            (401, ["Authorization: Bearer\t" + right]),
            (401, ["Authorization: Bearer," + right]),
            (401, [bearer + right + " x"]),
            (401, [bearer + '"' + right + '"']),
            (401, [bearer + right[:-1]]),
            (401, [bearer + right + "0"]),
            (401, [bearer + right.upper() + "A"]),
            (401, [bearer + hashlib.sha256(right.encode()).hexdigest()]),
            (401, ["Proxy-Authorization: Bearer " + right]),
            (401, ["Sec-WebSocket-Protocol: bearer, " + right]),
            (401, ["Cookie: token=" + right]),
            (400, [bearer + right, bearer + right]),
            (400, [bearer + right, "Authorization: Basic x"]),
            (400, [bearer + right + "\0"]),
            (431, [bearer + right + "x" * 65536]),
            (403, [bearer + right, "Origin: http://localhost"]),
    ):
        got, head = ask(server.url, *lines)
        check(got == want, "%.80r: %s, not %s" % (lines, got, want))
        check((got == 401) == ("\r\nWWW-Authenticate: Bearer\r\n" in head),
              "%.80r: %r" % (lines, head))
    got, _ = ask(server.url, path="/?token=" + right)
    check(got == 401, "a token in the query: %s" % got)
    got, _ = ask(server.url, bearer + right, host="example.org")
    check(got == 403, "a foreign host: %s" % got)
    for path in ("/livez", "/readyz"):
        got, _ = ask(server.url, path=path)
        check(got == 200, "%s: %s" % (path, got))
    check(right not in server.log(), "a token in the log")
    server.stop()


def names():
    """Names of HostName, in any case, and no others."""
    right = tokens.new()
    server = Server(ALWAYS, tokens.option("ci", right),
                    "HostName=build.example.org", "HostName=build")
    for want, host in ((101, "build.example.org"), (101, "BUILD:80"),
                       (101, "192.0.2.7:80"), (101, "[2001:db8::1]"),
                       (403, "build.example.or"), (403, "example.org"),
                       (403, "build.example.org.evil")):
        got = status(server.url, right, host=host)
        check(got == want, "Host %s: %s, not %s" % (host, got, want))
    server.stop()


def sessions():
    """A session by token runs as its user, and is that token's alone."""
    first, second, third = tokens.new(), tokens.new(), tokens.new()
    server = Server(ALWAYS, tokens.option("first", first),
                    tokens.option("second", second),
                    tokens.option("first", third))
    with connect(server.url, token=first) as c:
        out, code = c.run("id", "id", "-u")
        check((out, code) == (b"%d\n" % tokens.UID, 0), "ran as %r" % out)
        out, _ = c.run("env", "env")
        check(first.encode() not in out, "a token in the environment")
        c.start("p", "sleep", "1000")
        session = c.session
        # While it is attached, detached, and by a master that knows it only.
        for _ in range(2):
            check(foreign(server, second, session) ==
                  foreign(server, second, "0" * 8 + session[8:]),
                  "another's session shows")
        c.reset()
    check(foreign(server, second, session) ==
          foreign(server, second, "0" * 8 + session[8:]),
          "another's detached session shows")
    # The same name is the same identity: a token can be replaced.
    with resume(server, third, session) as c:
        c.call("process/terminate", {"processId": "p"})
        c.note("process/closed")
    with connect(server.url, token=first) as c:
        session = c.session
    wait_for(lambda: server.log().count("detached") > 1, LIMIT, "detached")
    check(foreign(server, second, session) ==
          foreign(server, second, "0" * 8 + session[8:]),
          "another's kept session shows")
    with resume(server, first, session) as c:
        c.run("again", "true")
    server.stop()


def resume(server, token, session):
    def attempt():
        try:
            return connect(server.url, session, token=token)
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
            return None
    return wait_for(attempt, LIMIT, "resumed")


def foreign(server, token, session):
    with Client(server.url, token=token) as c:
        try:
            c.initialize(session)
        except RpcError as e:
            return e.code, e.text.replace(session, "")
        raise AssertionError("resumed another's session")


def shares():
    """MaxSessionsPerUser is each identity's own, one user or not."""
    first, second = tokens.new(), tokens.new()
    server = Server("MaxSessionsPerUser=1", tokens.option("first", first),
                    tokens.option("second", second))

    def refused(token):
        try:
            connect(server.url, token=token).close()
        except RpcError as e:
            check(e.text == "too many sessions", "refused: %s" % e)
            return True
        return False

    with connect(server.url, token=first), connect(server.url):
        # The master counts a session a moment after its client has it.
        wait_for(lambda: refused(first), LIMIT, "a second session refused")
        wait_for(lambda: refused(None), LIMIT, "a second session of ours")
        check(not refused(second), "the other token has no share of its own")
    server.stop()


def optional():
    """On loopback the kernel's word is enough, but a token shown counts."""
    right = tokens.new()
    server = Server(tokens.option("ci", right))
    with connect(server.url) as c:
        out, _ = c.run("id", "id", "-u")
        check(out == b"%d\n" % os.geteuid(), "the kernel's word: %r" % out)
        mine = c.session
        with connect(server.url, token=right) as d:
            out, _ = d.run("id", "id", "-u")
            check(out == b"%d\n" % tokens.UID, "by a token: %r" % out)
            theirs = d.session
            # Neither identity has the other's sessions, one user or not.
            check(foreign(server, right, mine)[0] == -32600, "by token")
            with Client(server.url) as e:
                try:
                    e.initialize(theirs)
                    check(False, "a token's session without it")
                except RpcError as error:
                    check(error.code == -32600, "%s" % error)
    check(status(server.url, "wrong") == 401, "a wrong one")
    check(ask(server.url, "Authorization: Basic x")[0] == 101,
          "another scheme")
    server.stop()
    server = Server()
    check(status(server.url, "any") == 101, "without tokens it is ignored")
    server.stop()


def first_messages():
    """What comes first is answered as it is without a token."""
    right = tokens.new()
    server = Server(ALWAYS, tokens.option("ci", right), "HandshakeTimeout=2")
    plain = Server("HandshakeTimeout=2")
    hello = json.dumps({"id": 1, "method": "initialize",
                        "params": {"clientName": "t"}}).encode()
    for name, data in {
            "not JSON": frame(1, b"{"),
            "not initialize": frame(1, b'{"id":1,"method":"fs/open",'
                                       b'"params":{}}'),
            "binary": frame(2, hello),
            "binary, not UTF-8": frame(2, b"\xff"),
            "not UTF-8": frame(1, b"\xff"),
            "empty": frame(1, b""),
            "pieces": frame(1, hello[:9], fin=False) + frame(9, b"x") +
                      frame(0, hello[9:]),
            "ping first": frame(9, b"abc") + frame(10) + frame(1, hello),
            "two at once": frame(1, hello) +
                           frame(1, b'{"method":"initialized"}') +
                           frame(1, b'{"id":2,"method":"process/list",'
                                    b'"params":{}}'),
            "close": frame(8, b"\x03\xe8"),
            "unmasked": b"\x81\x02{}",
            "too long": b"\x81\xff" + b"\0" * 5 + b"\x01\0\x01" + b"\0" * 4,
            "long": frame(1, b'{"id":1,"method":"initialize","params":'
                          b'{"clientName":"%s"}}' % (b"x" * 65000)),
            "the longest": frame(1, long_hello(FIRST_MAX)),
            "longer": frame(1, long_hello(FIRST_MAX + 1)),
            "nothing": b"",
            "half": frame(1, hello)[:20],
    }.items():
        got, want = (exchange(s.url, t, data) for s, t in
                     ((server, right), (plain, None)))
        check(got == want, "%s: %r, not %r" % (name, got, want))
    server.stop()
    plain.stop()


def long_hello(size):
    """A first message of that many bytes."""
    head = b'{"id":1,"method":"initialize","params":{"clientName":"'
    tail = b'"}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


def exchange(url, token, data):
    """What comes back for these bytes until a first answer, or the end."""
    with Client(url, token=token) as c:
        c.sock.sendall(data)
        try:
            c.until(lambda: c.answers, LIMIT)
        except Closed as e:
            return "closed", e.code, c.pongs
        answer = dict(next(iter(c.answers.values())))
        if "result" in answer:
            answer["result"] = sorted(answer["result"])
        return answer, c.pongs


def reloaded():
    """Who was let in is judged again when its first message is there."""
    right, path = tokens.new(), TMP + "/conf"

    def configure(more):
        with open(path, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write("RequireToken always\nToken %s\n%s" % (
                tokens.line("ci", right), more))
    configure("")
    server = Server(args=("-f", path))
    with Client(server.url, token=right) as kept, \
            Client(server.url, token=right) as denied:
        configure("Umask 077\n")
        lib.ask(server, "reload")
        kept.initialize()
        check(kept.run("p", "sh", "-c", "umask") == (b"0077\n", 0),
              "the settings of then")
        configure("DenyUsers %s\n" % tokens.USER)
        lib.ask(server, "reload")
        try:
            denied.initialize()
            check(False, "it has a session")
        except Closed:
            pass
        check(server.has_logged("DenyUsers names this user"), "the log")
        check(status(server.url, right) == 403, "another one is let in")
    # Read three times by now: what remains of the line is in locked memory.
    if tokens.IS_ROOT and not SANITIZED:
        digest = hashlib.sha256(right.encode()).hexdigest().encode()
        check(digest not in memory(server.pid), "its line is still there")
    server.stop()


def bytewise():
    """A first message in every segmentation is neither lost nor doubled."""
    right = tokens.new()
    server = Server(ALWAYS, tokens.option("ci", right))
    for cut in range(0, 60, 3):
        with Client(server.url, token=right) as c:
            hello = json.dumps({"id": 7, "method": "initialize",
                                "params": {"clientName": "t"}}).encode()
            data = frame(1, hello) + frame(1, b'{"method":"initialized"}')
            for at in range(0, len(data), cut + 1):
                c.sock.sendall(data[at:at + cut + 1])
            check("sessionId" in c.answer(7), "no session")
            c.run("p", "true")
    server.stop()


def files():
    """TokenFile: its lines, and what is wrong with others."""
    one, two = tokens.new(), tokens.new()
    good = "# tokens\n\n%s\n%s" % (tokens.line("one", one),
                                   tokens.line("two", two))
    path = tokens.secret_file("tokens", good.encode())
    server = Server(ALWAYS, "TokenFile=" + path)
    check([status(server.url, t) for t in (one, two, "x")] ==
          [101, 101, 401], "a file's tokens")
    server.stop()
    lone = tokens.secret_file("lone", b" " + one.encode() + b"\r\n")
    server = Server(ALWAYS, "TokenSecretFile=" + lone,
                    "TokenUser=" + tokens.USER)
    check([status(server.url, t) for t in (one, two)] == [101, 401],
          "a file with a token itself")
    check(one not in server.log(), "a token in the log")
    server.stop()
    for text, option in (
            ("open to others", "TokenFile=" + tokens.secret_file(
                "open", good.encode(), 0o640)),
            ("line 2: ", "TokenFile=" + tokens.secret_file(
                "bad", tokens.line("a", one).encode() + b"\nx sha256:00")),
            ("another user's", "TokenFile=" + tokens.secret_file(
                "two", ("%s\n%s" % (tokens.line("a", one, "root"),
                                    tokens.line("a", two))).encode())
             if tokens.IS_ROOT else None),
            ("only root", None if tokens.IS_ROOT else
             "Token=" + tokens.line("a", one, "root")),
            ("no such user", "Token=" + tokens.line("a", one, "n0body-")),
            ("No such file", "TokenFile=" + TMP + "/missing"),
            ("not a file", "TokenFile=" + TMP),
            ("or TokenUser", "Token=a sha256:" + "0" * 64
             if tokens.IS_ROOT else None),
            ("there is no token", ""),
            ("it is empty", "TokenSecretFile=" + tokens.secret_file(
                "empty", b" \n")),
    ):
        if option is not None:
            refused(text, ALWAYS, *filter(None, [
                option, "PermitRootSession=yes" if "another" in text else
                None]))
    if tokens.IS_ROOT:
        refused("needs PermitRootSession yes", ALWAYS,
                tokens.option("a", one, "root"))
        server = Server(ALWAYS, tokens.option("a", one, "root"),
                        "PermitRootSession=yes")
        with connect(server.url, token=one) as c:
            check(c.run("id", "id", "-u")[0] == b"0\n", "root's token")
        server.stop()


def refused(text, *options):
    """The server does not start, and says why."""
    try:
        server = Server(*options)
    except AssertionError as e:
        check(text in str(e), "%s: %s" % (text, e))
        return
    server.kill()
    raise AssertionError("started with %s" % (options,))


def secrets_stay():
    """Neither token nor hash is found in a process, or in the log."""
    right, wrong = tokens.new(), tokens.new()
    path = tokens.secret_file("tokens", tokens.line("ci", right).encode())
    server = Server(ALWAYS, "TokenFile=" + path, "LogLevel=debug")
    check(status(server.url, wrong) == 401, "a wrong one")
    words = [w.encode() for w in (
        right, wrong, hashlib.sha256(right.encode()).hexdigest())]
    with connect(server.url, token=right) as c:
        c.run("p", "true")
        mine = worker_of(server, c)
        for pid in [server.pid] + server.workers():
            try:
                look_at(pid, words, pid == server.pid)
            except (FileNotFoundError, ProcessLookupError):
                # A spare one may leave meanwhile.
                check(pid not in (server.pid, mine), "it was not looked at")
    log = server.log().encode()
    check(not any(w in log for w in words), "the log")
    server.stop()


def look_at(pid, words, is_master):
    for name in ("cmdline", "environ")[:1 + tokens.IS_ROOT]:
        with open("/proc/%d/%s" % (pid, name), "rb") as f:
            data = f.read()
        check(not any(w in data for w in words), "%s of %d" % (name, pid))
    # A sanitizer's memory is too much to be read.
    if is_master or not tokens.IS_ROOT or SANITIZED:
        return
    data = memory(pid)
    digests = [bytes.fromhex(w.decode()) for w in words if len(w) == 64]
    check(digests and not any(w in data for w in words + digests),
          "memory of %d" % pid)


def memory(pid):
    """What can be written in that process."""
    out = []
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, \
            open("/proc/%d/mem" % pid, "rb") as mem:
        for entry in maps:
            where, mode = entry.split()[:2]
            if not mode.startswith("rw"):
                continue
            start, end = (int(n, 16) for n in where.split("-"))
            mem.seek(start)
            try:
                out.append(mem.read(end - start))
            except OSError:
                pass
    if sum(map(len, out)) <= 100000:
        wait_for(lambda: not is_alive(pid), LIMIT,
                 "no memory of %d was read" % pid)
        raise ProcessLookupError(pid)
    return b"".join(out)


main(forms, names, sessions, shares, optional, first_messages, reloaded,
     bytewise, files, secrets_stay)
