"""How execsrvctl comes by its token, and that nobody else sees it."""
import os
import subprocess

import tokens
from client import BUILD, Server, check, main, wait_for, LIMIT
from relay import Relay

SHOW = ("sh", "-c", "id -u; env; tr '\\0' '\\n' </proc/$PPID/cmdline")


def run(url, *argv, token=None):
    env = {k: v for k, v in os.environ.items() if k != "EXECSRV_TOKEN"}
    if token is not None:
        env["EXECSRV_TOKEN"] = token
    r = subprocess.run([BUILD + "/execsrvctl", "run", "--url", url, *argv],
                       env=env, stdin=subprocess.DEVNULL, timeout=3 * LIMIT,
                       capture_output=True, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def ways():
    right = tokens.new()
    server = Server("RequireToken=always", tokens.option("ci", right))
    good = tokens.secret_file("good", right.encode() + b"\n")
    for argv, token in ((("--token-file", good), None), ((), right),
                        (("--token-file", good), "wrong"),
                        (("-e", "EXECSRV_TOKEN"), right)):
        code, out, err = run(server.url, *argv, *SHOW, token=token)
        check(code == 0 and out.startswith("%d\n" % tokens.UID),
              "%s: %s %s %s" % (argv, code, out, err))
        check(right not in out + err and "EXECSRV_TOKEN" not in out,
              "%s: the command sees it: %s" % (argv, out))
    for argv, token, words in (
            ((), None, "401 Unauthorized: no token"),
            ((), "", "401"), ((), "wrong", "401 Unauthorized: wrong token"),
            ((), "a b", "token"),
            (("--token-file", good + "x"), right, "No such file"),
            (("--token-file", tokens.secret_file(
                "open", right.encode(), 0o644)), right, "chmod 600"),
            (("--token-file", tokens.secret_file("none", b"\n")), right,
             "empty"),
            (("--token-file", tokens.secret_file(
                "two", right.encode() + b"\n" + right.encode())), right,
             "token")):
        code, out, err = run(server.url, *argv, "true", token=token)
        check(code == 125 and words in err and right not in err,
              "%s %s: %s %s" % (argv, token, code, err))
    server.stop()


def recovers():
    """The token is shown again when a connection is made anew."""
    right = tokens.new()
    server = Server("RequireToken=always", tokens.option("ci", right))
    relay = Relay(server.url)
    with subprocess.Popen(
            [BUILD + "/execsrvctl", "run", "--url", relay.url, "sh", "-c",
             "echo began; read x; echo $x"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "EXECSRV_TOKEN": right}) as p:
        check(p.stdout.readline() == b"began\n", "not begun")
        if tokens.IS_ROOT:
            with open("/proc/%d/environ" % p.pid, "rb") as f:
                check(right.encode() not in f.read(), "its environment")
        relay.cut()
        wait_for(lambda: server.log().count("admitted as") >= 2, LIMIT,
                 "another connection")
        out, _ = p.communicate(b"behind\n", timeout=3 * LIMIT)
        check((out, p.returncode) == (b"behind\n", 0), "%r %s" % (
            out, p.returncode))
    server.stop()


main(ways, recovers)
