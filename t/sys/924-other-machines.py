"""Listeners beyond loopback, in a network namespace (see the .sh)."""
import base64
import importlib
import os
import subprocess
import sys
import time

import tokens
from client import (BUILD, RpcError, Server, TMP, check, connect, dial,
                    in_time, main, say, upgrade_request, wait_for, LIMIT,
                    TRIES)
from tokens import ask, status

box = importlib.import_module("6common")

HERE, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.2", "192.0.2.3"
FREE = 10                   # LIMIT_FAILURES
PAUSE = 1                   # LIMIT_FAILURE_PAUSE


def is_lonely():
    """Without root outside there is one user in here, root by name."""
    with open("/proc/self/uid_map", encoding="ascii") as f:
        return f.read().split()[2] == "1"


LONELY = is_lonely()


def server_on(address, *options):
    token = tokens.new()
    user = "root" if LONELY else tokens.USER
    permit = ("PermitRootSession=yes",) if LONELY else ()
    return Server(tokens.option("ci", token, user), *permit, *options,
                  listen=("ws://%s:0" % address,)), token


def refused():
    """No tokens: the reason, and no server."""
    for address in (HERE, "0.0.0.0", "[::]", "[2001:db8:1::1]"):
        r = subprocess.run([BUILD + "/execsrvd", "-o", "RuntimeDirectory=" +
                            TMP + "/run", "--listen", "ws://%s:0" % address],
                           capture_output=True, timeout=LIMIT, check=False)
        check(r.returncode == 78 and b"authentication" in r.stderr and
              b"TokenFile" in r.stderr, "%s: %s" % (address, r))


def served():
    """By token, from there; an address says nothing about who it is."""
    server, token = server_on(HERE)
    check(server.url.startswith("ws://" + HERE), server.url)
    for source in (HERE, THERE):
        check(ask(server.url, source=source)[0] == 401, "without a token")
        check(status(server.url, "x" + token, source=source) == 401,
              "by a wrong one")
        check(status(server.url, token, source=source,
                     host="%s:80" % HERE) == 101, "by a token")
        for path in ("/livez", "/readyz"):
            check(ask(server.url, source=source, path=path)[0] == 200, path)
    check(status(server.url, token, host="build.example.org") == 403,
          "by a name that nobody gave it")
    with connect(server.url, source=THERE, token=token) as c:
        out, code = c.run("p", "echo", "hello")
        check((out, code) == (b"hello\n", 0), "a command: %r" % out)
    check("admitted as token:ci" in server.log(), "nothing in the log")
    server.stop()


def reloaded():
    """Without its last token a server does not listen here: all stays."""
    token = tokens.new()
    user = "root" if LONELY else tokens.USER
    permit = ("PermitRootSession=yes",) if LONELY else ()
    line = tokens.line("ci", token, user).encode()
    path = tokens.secret_file("set", line)
    server = Server("TokenFile=" + path, *permit,
                    listen=("ws://%s:0" % HERE,))
    tokens.secret_file("set", b"# none\n")
    r = control(server, "reload")
    check(r.returncode == 1 and b"authentication" in r.stderr, "%s" % r)
    check(status(server.url, token, source=THERE) == 101, "it is gone")
    other = tokens.new()
    tokens.secret_file("set", tokens.line("ci", other, user).encode())
    r = control(server, "reload")
    check(r.returncode == 0, "%s" % r)
    check([status(server.url, t, source=THERE) for t in (token, other)] ==
          [401, 101], "the new one")
    server.stop()


def control(server, *argv):
    """Asked again where the server stood still."""
    for _ in range(TRIES):
        r = subprocess.run([BUILD + "/execsrvctl", *argv],
                           env={**os.environ,
                                "EXECSRV_RUNTIME_DIR": server.run},
                           capture_output=True, timeout=LIMIT, check=False)
        if b"not answer" not in r.stderr:
            break
    return r


def everywhere():
    """On all addresses loopback is known by the kernel, others are not."""
    for address, local, far in (
            ("0.0.0.0", ["127.0.0.1"], [HERE]),
            ("[::]", ["127.0.0.1", "[::1]"], [HERE, "[2001:db8:1::1]"])):
        server, token = server_on(address)
        port = server.url.rsplit(":", 1)[1]
        for host in local:
            url = "ws://%s:%s" % (host, port)
            with connect(url) as c:
                out, _ = c.run("id", "id", "-u")
                check(out == b"%d\n" % os.geteuid(), "%s: %r" % (url, out))
            check(status(url, token) == 101, "a token on " + url)
        for host in far:
            url = "ws://%s:%s" % (host, port)
            check(ask(url)[0] == 401, "no token on " + url)
            check(status(url, token) == 101, "a token on " + url)
        server.stop()


# In a session: the status for a token from there.
LOOK = r"""
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall((sys.argv[3].replace("|", "\r\n") + "\r\n").encode())
print(s.recv(100).split()[1].decode())
"""


def from_inside():
    """A command in a sandbox is refused on any address, token or not."""
    server, token = server_on("[::]")
    port = server.url.rsplit(":", 1)[1]
    head = upgrade_request(more="Authorization: Bearer %s\r\n" % token)
    argv = [sys.executable, "-c", LOOK, None, port,
            head.decode()[:-2].replace("\r\n", "|")]
    with connect("ws://127.0.0.1:" + port) as c:
        for where in ("127.0.0.1", HERE, "::1", "2001:db8:1::1",
                      "fe80::7%lo"):
            argv[3] = where
            check(c.run("out" + where, *argv)[0] == b"101\n",
                  "without a sandbox, " + where)
            try:
                c.start("in" + where, *argv, sandbox=box.read_only(
                    "/tmp", net=True))
            except RpcError as e:
                # No supervision of system calls here: then it cannot start.
                say("  left out: %s" % e)
                break
            out, code = output(c, "in" + where)
            check((out, code) == (b"403\n", 0),
                  "in a sandbox, %s: %r %s" % (where, out, code))
    server.stop()


def output(client, process):
    out = b""
    while True:
        client.until(lambda: client.notes, LIMIT)
        m = client.notes.popleft()
        if m["params"]["processId"] != process:
            continue
        if m["method"] == "process/output":
            out += base64.b64decode(m["params"]["chunk"])
        elif m["method"] == "process/exited":
            code = m["params"]["exitCode"]
        elif m["method"] == "process/closed":
            return out, code


def slowed():
    """Who guesses waits; others do not, but for his own network."""
    server, token = server_on(HERE)
    for i in range(FREE):
        last = time.monotonic()
        check(status(server.url, "guess", source=THERE) == 401, "guess")
    got = status(server.url, token, source=THERE)
    in_time(time.monotonic() - last < PAUSE, "the pause was over")
    check(got == 429, "not slowed")
    check(status(server.url, token, source=ELSEWHERE) == 101, "all wait")
    server.stop()
    server, token = server_on("[2001:db8:1::1]")
    for i in range(FREE):
        last = time.monotonic()
        check(status(server.url, "guess", source="2001:db8:1::2") == 401,
              "guess")
    got = status(server.url, token, source="2001:db8:1::1")
    in_time(time.monotonic() - last < PAUSE, "the pause was over")
    check(got == 429, "the same network with another address")
    check(status(server.url, token, source="2001:db8:2::1") == 101,
          "another network waits as well")
    server.stop()


def crowd():
    """Silent connections of one machine keep no other one out."""
    server, token = server_on(HERE, "HandshakeTimeout=60")
    socks = [dial(server.url, THERE) for _ in range(300)]
    with connect(server.url, source=ELSEWHERE, token=token) as c:
        c.run("p", "true")
    wait_for(lambda: dropped(server), LIMIT, "its own are dropped")
    for s in socks:
        s.close()
    wait_for(lambda: status(server.url, token, source=THERE) == 101, LIMIT,
             "its turn")
    server.stop()


def dropped(server):
    r = control(server, "status", "--json")
    check(r.returncode == 0, "%s" % r)
    return b'"dropped":0' not in r.stdout.replace(b" ", b"")


main(refused, served, reloaded, everywhere, from_inside, slowed, crowd)
