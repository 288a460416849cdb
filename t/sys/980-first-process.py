"""980: the duties of the first process of a container."""
import base64
import importlib
import os
import signal

from client import (BUILD, LIMIT, SCALE, check, connect, descendants,
                    is_alive, main, say, stat_of, wait_for, with_word, a_word, zombies)

lib = importlib.import_module("98common")
NUMBER = 10000
LOT = 2500              # zombies at a time: a small machine has limits
# Not an init of ours: it starts one child, and passes TERM on.
INIT = ("sh", "-c", 'trap \'kill "$pid"\' TERM; "$0" "$@" & pid=$!; '
        'wait "$pid"; trap - TERM; wait "$pid"')


def serves(server, word="hello"):
    with connect(server.url) as c:
        out, status = c.run("p", "echo", word)
        check((out, status) == (word.encode() + b"\n", 0), "%r" % out)


def reaping(prefix):
    """Milliseconds that all of them took."""
    server = lib.Contained(prefix, command=(
        BUILD + "/t/980-orphans", "%d" % NUMBER, "%d" % LOT))
    check(server.wait(300 * SCALE) == 0, server.log())
    lots = [[int(n) for n in line.split()]
            for line in server.out().splitlines()]
    say("  %s ms" % [ms for _, ms in lots])
    check(sum(n for n, _ in lots) == NUMBER, "%s" % lots)
    return sum(ms for _, ms in lots)


def orphans():
    """10,000 of somebody else in 5 s; as PID 1, and as a subreaper only."""
    for prefix in (lib.unshare_pid(), ()):
        # A busy machine may need another try: it takes 0.2 s of our own.
        took = [reaping(prefix)]
        while took[-1] > 5000 * SCALE and len(took) < 5:
            took.append(reaping(prefix))
        check(took[-1] <= 5000 * SCALE, "reaped in %s ms" % took)


def of_sessions():
    """What a session leaves behind, too, and nobody else's is killed."""
    stranger, word = a_word("stranger"), a_word("session")
    server = lib.Contained(lib.unshare_pid(), command=(
        "sh", "-c", "(setsid sleep %s &); exec sleep %s" %
        (stranger, a_word("command"))))
    wait_for(lambda: with_word(stranger), LIMIT, "the stranger")
    with connect(server.url) as c:
        c.run("p", "sh", "-c", "(setsid sleep %s &) >/dev/null 2>&1" % word)
        wait_for(lambda: with_word(word), LIMIT, "what it leaves behind")
        out, _ = c.run("q", "sh", "-c", "grep NSpid: /proc/$PPID/status; "
                       "echo $PPID")
        worker = [p for p in descendants(server.pid)
                  if "NSpid:\t%d\t%s\n" % (p, out.decode().split()[-1]) in
                  lib.status_of(p)]
        check(len(worker) == 1, "the worker: %s of %r" % (worker, out))
        os.kill(worker[0], signal.SIGKILL)
        wait_for(lambda: not with_word(word), LIMIT, "its end")
    serves(server)
    check(with_word(stranger), "the stranger was killed")
    wait_for(lambda: not zombies(server.pid), LIMIT, "no zombies")
    family = descendants(server.pid)
    check(server.stop(signal.SIGTERM) == 128 + signal.SIGTERM, server.log())
    lib.all_gone(family)


def signals():
    """Those that are not for us go nowhere, and end nothing."""
    server = lib.Contained(lib.unshare_pid())
    names = ("USR1", "USR2", "ALRM", "CONT", "WINCH", "URG", "PIPE", "CHLD",
             "VTALRM", "PROF")
    with connect(server.url) as c:
        c.start("p", "sh", "-c", "trap 'echo GOT ONE' USR1 USR2 ALRM CONT "
                "WINCH URG PIPE VTALRM PROF; echo up; "
                "while read x; do echo $x; done", pipeStdin=True)
        c.note("process/output")
        for name in names:
            server.signal(getattr(signal, "SIG" + name))
        serves(server)
        c.call("process/write", {"processId": "p", "chunk": "ZW5kCg==",
                                 "writeId": "w"})
        text = b""
        while b"end\n" not in text:
            text += base64.b64decode(c.note("process/output")["chunk"])
        check(b"GOT" not in text, "%r" % text)
    check(server.stop(signal.SIGTERM) == 0, server.log())


def ends():
    """TERM and INT end the sessions first; the status is 0."""
    for sig in (signal.SIGTERM, signal.SIGINT):
        server, word = lib.Contained(lib.unshare_pid()), a_word("ends")
        with connect(server.url) as c:
            c.start("p", "sh", "-c", "trap 'sleep 0.2; echo told; exit' TERM;"
                    " echo up; setsid sleep %s & while :; do wait; done" %
                    word)
            c.note("process/output")
            wait_for(lambda w=word: with_word(w), LIMIT, "the sleeper")
            family = descendants(server.pid)
            check(server.stop(sig) == 0, server.log())
            check("session 1: ended: the server is stopping" in server.log(),
                  server.log())
            lib.all_gone(family)


def under_init():
    """As the child of an init, with and without namespaces."""
    for prefix, depth in (((*lib.unshare_pid(), *INIT), 2), (INIT, 1)):
        server = lib.Contained(prefix, depth=depth)
        serves(server)
        word = a_word("init")
        with connect(server.url) as c:
            c.start("p", "sh", "-c", "(setsid sleep %s &); sleep %s" %
                    (word, word))
            wait_for(lambda w=word: len(with_word(w)) >= 2, LIMIT, "sleepers")
            family = descendants(server.pid)
            # To the init, which passes it on, as soon as it waits.
            init = int(stat_of(server.pid)[1])
            wait_for(lambda p=init: stat_of(p)[0] == "S", LIMIT, "an init")
            os.kill(init, signal.SIGTERM)
            check(server.wait() == 0, server.log())
        lib.all_gone(family)
        check(not is_alive(server.pid), "it runs on")


if __name__ == "__main__":
    main(orphans, of_sessions, signals, ends, under_init)
