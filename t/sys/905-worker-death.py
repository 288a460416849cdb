"""kill -9 of workers."""
import os
import signal
import time

from client import (Client, Closed, RpcError, Server, a_word, asleep, check,
                    connect, in_time, main, probe, say, settled, signal_all,
                    stat_of, wait_for, with_word, worker_of, zombies,
                    children, LIMIT, SCALE)

TREE = ("trap '' TERM HUP; setsid sleep %(w)s & (setsid sh -c 'sleep %(w)s & "
        "sleep %(w)s' &) ; nohup sleep %(w)s >/dev/null 2>&1 & sleep %(w)s")


def unknown(url, session):
    try:
        connect(url, session).close()
    except RpcError as e:
        check(e.code == -32600, "resume: %s" % e)
        return True
    return False


def comes_back(url):
    """A client that is given a worker just killed is lost and tries again;
    the seconds until one is served."""
    began = time.monotonic()
    while True:
        try:
            probe(url)
            break
        except (Closed, OSError):
            check(time.monotonic() < began + LIMIT, "not back")
    took = time.monotonic() - began
    in_time(took < 3 * SCALE, "back after %.2f s" % took)
    return took


def one():
    """Its own go, others' stay and never notice."""
    server = Server()
    settled(server)
    mine, others = a_word("mine"), a_word("others")
    other = connect(server.url)
    other.start("p", "sh", "-c", TREE % {"w": others})
    other.start("tick", "sh", "-c",
                "while :; do echo tick; sleep 0.1; done")
    for state in ("attached", "detached"):
        c = connect(server.url)
        worker = worker_of(server, c)
        c.start("p", "sh", "-c", TREE % {"w": mine})
        wait_for(lambda: len(with_word(mine)) == 5, LIMIT, "5 sleepers")
        wait_for(lambda: len(with_word(others)) == 5, LIMIT, "5 others")
        if state == "detached":
            c.reset()
        began = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: not with_word(mine), LIMIT, "they are gone")
        took = time.monotonic() - began
        say("  %s: gone after %.2f s" % (state, took))
        in_time(took < 2 * SCALE, "gone after %.2f s" % took)
        if state == "attached":
            check(c.wait_closed(LIMIT), "its connection stays open")
        check(unknown(server.url, c.session), "its session lives")
        c.close()
        check(len(with_word(others)) == 5, "others were killed too")
        other.notes.clear()
        other.note("process/output", "tick")
        probe(server.url, 2)
    wait_for(lambda: not zombies(server.pid), LIMIT, "zombies")
    other.close()
    server.stop()


def before_initialize():
    """Idle and greeting workers, and the template."""
    server = Server("DetachedTtl=1")
    settled(server)
    greeting = Client(server.url)
    settled(server, 9)
    signal_all(server.workers(), signal.SIGKILL)
    check(greeting.wait_closed(LIMIT), "it stays open")
    greeting.close()
    took = comes_back(server.url)
    say("  all of them: back after %.2f s" % took)
    settled(server)
    wait_for(lambda: not zombies(server.pid), LIMIT, "zombies")
    server.stop()


def six_in_a_row():
    """Of sessions: their users may kill their own, and nobody waits for it."""
    server = Server("DetachedTtl=1")
    other = connect(server.url)
    for i in range(6):
        c = connect(server.url)
        os.kill(worker_of(server, c), signal.SIGKILL)
        check(c.wait_closed(LIMIT), "it stays open")
        c.close()
    took = comes_back(server.url)
    other.call("environment/status")
    say("  back after %.2f s" % took)
    check(not server.has_logged("pausing"), "throttled")
    in_time(took < 1 * SCALE, "back after %.2f s" % took)
    probe(server.url, 3)
    other.close()
    settled(server)
    server.stop()


def throttled():
    """Spare workers that die are not made up for as fast as they can die."""
    server = Server("DetachedTtl=1")
    settled(server)
    first = server.workers()
    template = min(first, key=lambda pid: int(stat_of(pid)[19]))
    spare = [pid for pid in first if pid != template]
    signal_all(spare[:4], signal.SIGKILL)
    settled(server)
    check(not server.has_logged("pausing"), "four are not many")
    # Those after the fifth may be on their way when it is counted.
    signal_all(set(server.workers()) - {template}, signal.SIGKILL)
    wait_for(lambda: server.has_logged("pausing"), LIMIT, "a pause")
    wait_for(lambda: asleep(server, len(children(server.pid))), LIMIT,
             "nothing is on its way")
    old = server.workers()
    began = time.monotonic()
    signal_all(set(old) - {template}, signal.SIGKILL)
    wait_for(lambda: set(server.workers()) - set(old), LIMIT, "the next one")
    took = time.monotonic() - began
    say("  the next one after %.2f s" % took)
    in_time(took > 0.5, "the next one after %.2f s" % took)
    settled(server)
    check(template in server.workers(), "the template was ended, too")
    server.stop()


def while_resuming():
    """The owner dies while a resume is on its way to it."""
    server, word = Server(), a_word("resuming")
    counts = {}
    for i in range(15):
        c = connect(server.url)
        c.start("p", "sh", "-c", "echo $PPID; sleep " + word)
        owner = children(server.pid)
        owner = [p for p in owner if children(p)]
        c.note("process/output")
        c.reset()
        new = Client(server.url)
        number = new.request("initialize", {
            "clientName": "t", "resumeSessionId": c.session})
        signal_all(owner, signal.SIGKILL)   # or one before it, that was leaving
        began = time.monotonic()
        try:
            new.answer(number)
            what = "resumed"
        except RpcError as e:
            check(e.code in (-32600, -32010), "resume: %s" % e)
            what = str(e.code)
        except Closed:
            what = "closed"
        in_time(time.monotonic() - began < 2 * SCALE, "no answer")
        counts[what] = counts.get(what, 0) + 1
        new.close()
        wait_for(lambda: not with_word(word), LIMIT, "they are gone")
    say("  %s" % counts)
    server.stop()


main(one, before_initialize, six_in_a_row, throttled, while_resuming)
