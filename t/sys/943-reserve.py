"""943: an operator and those who connect, when descriptors run out."""
import contextlib
import importlib
import itertools

from client import (TMP, Client, Server, check, connect, dial, links_of, main,
                    say, settled, wait_for, LIMIT)

lib = importlib.import_module("7common")
limited = importlib.import_module("902-descriptors").limited


def status(server):
    return lib.ask(server, "status")


def room_for(pid, count):
    """The limit that leaves so many numbers free, below it."""
    used = links_of(pid)
    free = (n for n in itertools.count() if n not in used)
    return next(itertools.islice(free, count, None))


def run_out(kind):
    server = Server("LogLevel=debug", listen=(
        "ws://127.0.0.1:0", "unix:%s/sock" % TMP))
    url = server.urls[kind == "unix"]
    with connect(url) as other:
        settled(server, 9)
        with contextlib.ExitStack() as stack:
            stack.enter_context(limited(
                server.pid, room_for(server.pid, 2)))
            waiting = [stack.enter_context(contextlib.closing(dial(url)))
                       for _ in range(100)]
            wait_for(lambda: "pausing" in server.log(), LIMIT, "too few")
            for _ in range(3):
                row = status(server)
            check(row["paused"] > 0, "not counted")
            shown = [r for r in lib.ask(server, "sessions")
                     if r["id"] == other.session]
            check(len(shown) == 1, "the session is not shown")
            before = row["paused"]
            wait_for(lambda: status(server)["paused"] > before + 3, LIMIT,
                     "it goes on")
            say("  %d pauses" % status(server)["paused"])
            log = server.log()  # before some leave that nobody knows yet
        check(other.run("p", "echo", "x") == (b"x\n", 0), "a session")
        del waiting
    check(log.count("pausing") == 1, "said %d times" % log.count("pausing"))
    check("peer:" not in log and "refused" not in log, log[-2000:])
    client = Client(url)
    client.initialize()
    client.sock.close()
    server.stop()


def by_tcp():
    run_out("tcp")


def by_unix():
    run_out("unix")


if __name__ == "__main__":
    main(by_tcp, by_unix)
