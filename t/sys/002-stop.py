"""Stopping in order.  Each time: 5 s, status 0, no process, no file left."""
import os
import signal

from client import (LIMIT, Client, Server, a_word, check, connect,
                    descendants, dial, freeze, is_alive, main, say, settled,
                    signal_all, wait_for, with_word, worker_of)

STUBBORN = "trap '' TERM INT HUP QUIT; "


def stops(server, sig, words=(), limit=5.0):
    family = descendants(server.pid)
    took = server.stop(sig, limit)
    left = [p for p in family if is_alive(p)]
    for word in words:
        left += with_word(word)
    check(not left, "left behind: %s" % left)
    check(not os.path.exists(server.run), "the run directory is there: %s" %
          (os.path.exists(server.run) and os.listdir(server.run)))
    say("  %s: %.2f s" % (sig.name, took))


def idle():
    for sig in (signal.SIGTERM, signal.SIGINT):
        server = Server(listen=("ws://127.0.0.1:0",
                                "unix:%s/s" % os.environ["TMPDIR"]))
        settled(server)
        stops(server, sig)
        check(not os.path.exists(server.urls[1][5:]), "a socket file is left")


def at_once():
    """Before the pool is there."""
    for sig in (signal.SIGTERM, signal.SIGINT):
        stops(Server(), sig)


def with_sessions():
    for sig in (signal.SIGTERM, signal.SIGINT):
        server, word = Server(), a_word("sessions")
        clients = []
        for i in range(4):
            c = connect(server.url)
            c.start("stubborn", "sh", "-c", STUBBORN + "echo; setsid sleep "
                    "%s & (sleep %s & sleep %s)" % (word, word, word))
            c.note("process/output")
            c.start("flood", "cat", "/dev/zero")
            clients.append(c)
        wait_for(lambda w=word: len(with_word(w)) == 12, LIMIT,
                 "12 sleepers")
        clients[0].reset()              # one is detached
        silent = [dial(server.url) for i in range(5)]
        half = Client(server.url)
        stops(server, sig, [word])
        for s in [*silent, half.sock, *(c.sock for c in clients)]:
            s.close()


def hung():
    for sig in (signal.SIGTERM, signal.SIGINT):
        server, word = Server(), a_word("hung")
        reader, writer, frozen = (connect(server.url) for i in range(3))
        reader.start("p", "sleep", word)
        reader.request("process/read", {"processId": "p",
                                        "waitMs": 600000})
        writer.start("p", "sleep", word, pipeStdin=True)
        chunk = "QUJD" * (1 << 18)
        for i in range(24):             # 18 MiB for who takes 8 and a pipe
            writer.request("process/write", {"processId": "p", "chunk": chunk,
                                             "writeId": "w%d" % i})
        writer.until(lambda w=writer: len(w.answers) > 3)
        worker = worker_of(server, frozen)
        frozen.start("p", "sh", "-c", STUBBORN + "sleep " + word)
        wait_for(lambda w=word: len(with_word(w)) == 3, LIMIT, "3 sleepers")
        freeze(worker)
        stops(server, sig, [word])
        for c in (reader, writer, frozen):
            c.close()


def all_frozen():
    """Every process of ours but the master is stopped."""
    server, word = Server(), a_word("frozen")
    c = connect(server.url)
    c.start("p", "sh", "-c", STUBBORN + "echo; sleep " + word)
    c.note("process/output")
    settled(server, 9)
    signal_all(server.workers(), signal.SIGSTOP)
    more = [dial(server.url) for i in range(3)]
    stops(server, signal.SIGTERM, [word])
    for s in [c.sock, *more]:
        s.close()


def twice():
    """A second signal does not wait for who hangs."""
    server, word = Server(), a_word("twice")
    c = connect(server.url)
    worker = worker_of(server, c)
    c.start("p", "sleep", word)
    os.kill(worker, signal.SIGSTOP)
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: server.has_logged("stopping"), LIMIT, "it stops")
    stops(server, signal.SIGINT, [word], 1.5)
    c.close()


main(idle, at_once, with_sessions, hung, all_frozen, twice)
