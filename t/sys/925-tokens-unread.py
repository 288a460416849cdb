"""1,000 clients that show tokens, and a master that is traced meanwhile: it
takes what workers say, never a byte from a client's socket."""
import contextlib

import tokens
from client import (Client, Closed, RpcError, Server, TMP, check, connect,
                    dial, main, reset, say, upgrade_request, wait_for, LIMIT)
from strace import needed, taken, traced
from tokens import ask, status

CONNECTIONS = 1000


def ordinary(url, token):
    with connect(url, token=token) as c:
        check(c.run("p", "echo", "x")[0] == b"x\n", "a command")


def missing(url, _):
    check(ask(url)[0] == 401, "no token")


def other_scheme(url, token):
    check(ask(url, "Authorization: Basic " + token)[0] == 401, "basic")


def silent(url, _):
    dial(url).close()


def early_reset(url, token):
    s = dial(url)
    s.sendall(upgrade_request(more="Authorization: Bearer %s\r\n" % token) +
              b"x" * 100)
    reset(s)


def no_message(url, token):
    check(status(url, token) == 101, "a token")


def broken_frames(url, token):
    with Client(url, token=token) as c:
        c.sock.sendall(b"\x81\x7e" + b"x" * 500)
        check(c.wait_closed(LIMIT), "an unmasked frame")


def again(url, token):
    with connect(url, token=token) as c:
        c.start("p", "sleep", "300")
        session = c.session

    def attempt():
        try:
            return connect(url, session, token=token)
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
            return None
    with wait_for(attempt, LIMIT, "resumed") as c:
        c.call("process/terminate", {"processId": "p"})
        c.note("process/closed")


KINDS = (ordinary, missing, other_scheme, silent, early_reset, no_message,
         broken_frames, again)


def nothing():
    needed()
    token = tokens.new()
    server = Server("RequireToken=always", tokens.option("ci", token))
    with traced(server.pid, TMP + "/master", ",accept4"):
        for i in range(CONNECTIONS):
            with contextlib.suppress(Closed, ConnectionError):
                KINDS[i % len(KINDS)](server.url, token)
            if i % 150 == 0:
                check(status(server.url, "wrong") == 401, "a wrong one")
        # Each of its system calls is stopped at, and sessions are many.
        server.stop(limit=60)
    found, kinds = taken(TMP + "/master", "/no Unix socket")
    say("%s" % dict(kinds))
    check(kinds["accept4"] > CONNECTIONS, "not all connections were traced")
    check(kinds["recvmsg"] > CONNECTIONS, "what workers say was not traced")
    check(not found, "the master read %d times, as in: %s" %
          (len(found), found[:5]))


main(nothing)
