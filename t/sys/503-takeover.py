"""A client that answers no pings, one that reads slowly, one that is well."""
import contextlib
import threading
import time

from client import (Client, RpcError, Server, a_word, check, connect, in_time,
                    main, resume_in, say, wait_for, LIMIT, SCALE, SLOW)


def silent(flood):
    server = Server()
    old = connect(server.url, rcvbuf=8192 if flood else None)
    old.start("p", *(["cat", "/dev/zero"] if flood else
                     ["sleep", a_word("silent")]))
    began = time.monotonic()
    new = resume_in(server.url, old.session, LIMIT)
    took = time.monotonic() - began
    say("  taken over after %.2f s" % took)
    check(took > 1, "not even asked")
    r = new.call("process/read", {"processId": "p", "maxBytes": 0})
    check(not r["exited"], "its process is gone")
    check(old.wait_closed(LIMIT), "the old connection stays open")
    if not flood:
        check(old.ended is not None and old.ended.code == 1001,
              "closed with %s" % old.ended)
    new.call("process/terminate", {"processId": "p"})
    new.close()
    old.close()
    server.stop()


def takeover():
    silent(False)


def takeover_flooded():
    silent(True)


def well():
    """Who answers stays, however often another one asks."""
    server = Server()
    old = connect(server.url)
    old.start("p", "sleep", a_word("well"))
    stop, errors = threading.Event(), []

    def live():
        try:
            while not stop.is_set():
                old.pump(0.05)
        except Exception as e:          # pylint: disable=broad-except
            errors.append(e)
    t = threading.Thread(target=live)
    t.start()
    deadline, tries, taken = time.monotonic() + 4, 0, False
    while time.monotonic() < deadline and not taken:
        try:
            connect(server.url, old.session).close()
            taken = True
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
        tries += 1
        time.sleep(0.05)
    stop.set()
    t.join()
    # Nobody answers while the machine stands still.
    in_time(not errors and not taken, "the live client: %s" % errors)
    old.call("environment/status")
    say("  refused %d times" % tries)
    old.close()
    server.stop()


def dead():
    """Found without anybody asking: 15 s of silence and 15 s to answer."""
    server = Server()
    c = connect(server.url)
    began = time.monotonic()
    c.start("p", "sleep", a_word("dead"))
    wait_for(lambda: server.has_logged("detached"), 2 * LIMIT,
             "the dead peer is found")
    took = time.monotonic() - began
    say("  found after %.1f s" % took)
    check(took > 25, "too early")
    in_time(took < 35 * SCALE, "found after %.1f s" % took)
    c.close()
    server.stop()


def slow():
    """A flood at 16 KiB/s: what it has not read yet is in the way of pings."""
    server = Server()
    c = connect(server.url, rcvbuf=1 << 17)
    c.start("p", "cat", "/dev/zero")
    deadline = time.monotonic() + 70
    while time.monotonic() < deadline:
        c.take(4096)
        check(c.ended is None, "the slow reader was dropped")
        time.sleep(0.25)
    check(not server.has_logged("detached"), "the slow reader was dropped")
    c.reset()
    server.stop()


def slow_and_asked():
    """One that has read all within 2 s stays, when another one asks."""
    server = Server("OutputWindow=256K")
    c = connect(server.url, rcvbuf=1 << 14)
    c.start("p", "cat", "/dev/zero")
    for i in range(60):
        for k in range(8):
            c.take(1 << 14)
        time.sleep(0.05)
        if i % 10 == 5:
            with Client(server.url) as other, \
                    contextlib.suppress(RpcError):
                other.request("initialize", {
                    "clientName": "other", "resumeSessionId": c.session})
                answer = None
                while answer is None:
                    if other.ready(0):
                        other.take()
                    answer = other.answers.get(1)
                    c.take(1 << 14)
                in_time(answer.get("error", {}).get("code") == -32010,
                        "resume: %s" % answer)
    in_time(c.ended is None and not server.has_logged("detached"),
            "the slow reader was dropped")
    c.reset()
    server.stop()


main(takeover, takeover_flooded, well, slow_and_asked,
     *([dead, slow] if SLOW else []))
