"""Wrong tokens, many of them: who waits for it, and who does not."""
import os
import time

import tokens
from client import (Server, check, dial, in_time, main, say, wait_for,
                    LIMIT)
from tokens import ask, status

FREE = 10                   # LIMIT_FAILURES
PAUSE = 1                   # LIMIT_FAILURE_PAUSE
OTHER = 65533               # a user who has done nothing wrong


def server_with(*more):
    token = tokens.new()
    return Server("RequireToken=always", tokens.option("ci", token),
                  *more), token


def slowed():
    """401 until there were too many; from then on the pauses double."""
    server, token = server_with()
    began = time.monotonic()
    for i in range(FREE):
        check(status(server.url, "guess %d" % i) == 401, "no token: free")
    for i in range(FREE):
        last = time.monotonic()
        check(status(server.url, "guess%d" % i) == 401, "guess %d" % i)
    # Nothing is looked at meanwhile: not even what is right.
    got = [status(server.url, t) for t in ("guess", token)]
    in_time(time.monotonic() - last < PAUSE, "the pause was over")
    check(got == [429, 429], "not slowed: %s" % got)
    # Nor do they make it longer, nor disturb those who watch.
    for path in ("/livez", "/readyz"):
        check(ask(server.url, path=path)[0] == 200, path)
    guesses = 0
    while guesses < 3:
        guesses += status(server.url, "guess") == 401
        time.sleep(0.01)
    took = time.monotonic() - began
    check(took >= 1 + 2 + 4, "three guesses more in %.2f s" % took)
    check(status(server.url, token) == 429, "not slowed any more")
    wait_for(lambda: status(server.url, token) == 101, 8 + LIMIT,
             "its pause is over")
    lines = [l for l in server.log().splitlines() if "denied: " in l]
    check(len(lines) == 1 and "no token" in lines[0],
          "told more than once: %s" % lines[:3])
    server.stop()


def as_user(uid, function):
    """What a function returns in a process of that user: 0 to 255."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            code = function()
        except BaseException as e:      # pylint: disable=broad-except
            print(repr(e), flush=True)
            code = 255
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def others():
    """On loopback users are told apart, not addresses."""
    if not tokens.IS_ROOT:
        say("  left out: it takes two users")
        return
    server, token = server_with()
    for i in range(FREE):
        last = time.monotonic()
        check(status(server.url, "guess", source="127.0.0.%d" % (i + 2)) ==
              401, "guess %d" % i)
    got = status(server.url, token, source="127.0.0.99")
    in_time(time.monotonic() - last < PAUSE, "the pause was over")
    check(got == 429, "another address of the same user")
    check(as_user(OTHER, lambda: status(server.url, token)) == 101,
          "another user waits as well")
    server.stop()


def missing():
    """Who shows nothing, or what has expired, does not guess."""
    key = tokens.secret_file("key", b"k" * 32)
    server = Server("RequireToken=always", "BearerSecretFile=" + key,
                    "TokenUser=" + tokens.USER, "BearerClockSkew=0")
    old = tokens.jwt(b"k" * 32, {"exp": 1})
    for _ in range(2 * FREE):
        check(ask(server.url)[0] == 401, "nothing")
        check(status(server.url, old) == 401, "expired")
    good = tokens.jwt(b"k" * 32, {"exp": tokens.in_seconds(600),
                                   "sub": "ann"})
    check(status(server.url, good) == 101, "slowed down for nothing")
    server.stop()


def crowd():
    """Others come through while somebody holds all places he can get."""
    server, token = server_with("HandshakeTimeout=60")
    socks = [dial(server.url, "127.0.0.2") for _ in range(200)]
    check(status(server.url, token, source="127.0.0.3") == 101,
          "nobody comes through")
    for s in socks:
        s.close()
    server.stop()


main(slowed, others, missing, crowd)
