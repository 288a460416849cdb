"""What operators do to sessions and their processes."""
import base64
import importlib
import os
import re
import signal
import subprocess
import sys
import threading

from client import (Client, RpcError, Server, a_word, check, children, connect,
                    freeze, is_alive, main, wait_for, with_word, worker_of,
                    LIMIT)

lib = importlib.import_module("7common")
ctl, ask = lib.ctl, lib.ask

TRAP = ("import os, signal, time\n"
        "def on(n, f): os.write(1, b'%d\\n' % n)\n"
        "for n in range(1, signal.SIGRTMAX + 1):\n"
        "    if n not in (9, 17, 19, 32, 33): signal.signal(n, on)\n"
        "os.write(1, b'ready\\n')\n"
        "while True: time.sleep(1000)\n")


def output(client, process):
    return base64.b64decode(
        client.note("process/output", process)["chunk"]).decode()


def signals():
    server = Server()
    c = connect(server.url)
    session = lib.session_of(server, c)
    c.start("p", sys.executable, "-c", TRAP)
    check(output(c, "p") == "ready\n", "not ready")
    pid = lib.pid_of(server, session, "p")
    for name, number in (("TERM", 15), ("SIGUSR1", 10), ("hup", 1),
                         ("sigint", 2), ("12", 12), ("SIGRTMIN+3", 37),
                         ("winch", 28)):
        answer = ask(server, "signal", session, str(pid), name)
        check(answer == {"session": int(session), "pid": pid},
              "the answer: %s" % answer)
        heard = output(c, "p")
        check(heard == "%d\n" % number, "%s: heard %r" % (name, heard))
    for name in "NONE", "", "0", "65", "-1", "9x", "SIG", "99999999999":
        ctl(server, "signal", session, str(pid), "--", name, status=2)
        check("no such signal" in ctl.err, "why: " + ctl.err)
    for process in "q", "", "0", "1", str(server.pid), str(os.getpid()):
        ctl(server, "signal", session, process, "TERM", status=1)
        check("no such process" in ctl.err, "why: " + ctl.err)
    # Nobody adds to a line of the log.
    ctl(server, "signal", session, "p of session 9\nx: y", "TERM", status=1)
    check(server.has_logged("to process p?of?session?9?x:?y of session " +
                            session), "log: " + server.log())
    ctl(server, "signal", "99", "p", "TERM", status=1)
    check("no such session" in ctl.err, "why: " + ctl.err)
    ask(server, "signal", session, "p", "KILL")
    c.note("process/closed", "p")
    ctl(server, "signal", session, "p", "TERM", status=1)
    check("the process has exited" in ctl.err, "why: " + ctl.err)
    # By whom, what, to whom.
    found = re.findall(r"control: uid (\d+), pid \d+: sends signal (\d+) to "
                       r"process (\S+) of session (\d+) of uid (\d+)",
                       server.log())
    me = str(os.geteuid())
    check((me, "15", str(pid), session, me) in found and
          (me, "9", "p", session, me) in found, "log: %s" % found)
    c.close()
    server.stop()


def one_process():
    """A process and its descendants, and none of another."""
    server = Server()
    c = connect(server.url)
    session = lib.session_of(server, c)
    mine, other = a_word("mine"), a_word("other")
    c.start("p", "sh", "-c", "sleep %s & setsid sleep %s & "
            "(setsid sh -c 'trap \"\" TERM; sleep %s; :' &) ; wait" %
            ((mine,) * 3))
    c.start("q", "sh", "-c", "sleep %s & exec sleep %s" % (other, other))
    pid = lib.pid_of(server, session, "p")
    # A shell between has ended.
    wait_for(lambda: len(with_word(mine)) == 3 and len(children(pid)) == 2 and
             len(with_word(other)) == 2, LIMIT, "they run")
    answer = ask(server, "kill", session, "p")
    # A shell and its three sleeps, and the shell behind one of these.
    check(answer == {"session": int(session), "pid": pid, "gone": 5,
                     "left": 0}, "the answer: %s" % answer)
    check(not with_word(mine), "left: %s" % with_word(mine))
    check(len(with_word(other)) == 2, "those of another process are gone")
    c.note("process/closed", "p")
    ctl(server, "kill", session, "p", status=1)
    check("the process has exited" in ctl.err, "why: " + ctl.err)
    ctl(server, "kill", session, "", status=1)
    check(len(with_word(other)) == 2, "no name was the session")
    c.close()
    server.stop()


def refusal(server, session):
    """The error of a resume; -32010 while the end is under way."""
    with Client(server.url) as late:
        try:
            late.initialize(session)
            check(False, "resumed")
        except RpcError as e:
            return e.code


def whole_session():
    server = Server()
    c, d = connect(server.url), connect(server.url)
    session, word, other = lib.session_of(server, c), a_word("s"), a_word("o")
    c.start("p", "sh", "-c", "sleep %s & setsid sleep %s & exec sleep %s" %
            ((word,) * 3))
    c.start("q", "sh", "-c", "(setsid sleep %s &); :" % word)
    c.note("process/exited", "q")
    d.start("p", "sleep", other)
    wait_for(lambda: len(with_word(word)) == 4 and with_word(other), LIMIT,
             "they run")
    answer = ask(server, "kill", session)
    check(answer == {"session": int(session), "pid": None, "gone": 4,
                     "left": 0}, "the answer: %s" % answer)
    check(not with_word(word), "left: %s" % with_word(word))
    check(with_word(other), "another session's process is gone")
    check(c.wait_closed(LIMIT), "its client was not told")
    wait_for(lambda: refusal(server, c.session) == -32600, LIMIT,
             "the session is not known any more")
    wait_for(lambda: [r["session"] for r in ask(server, "sessions")] ==
             [int(lib.session_of(server, d))], LIMIT, "the other is left")
    ctl(server, "kill", session, status=1)
    wait_for(lambda: server.has_logged("killed by an operator"), LIMIT,
             "a line of the log")
    check("session %s: 4 processes killed, 0 left" % session in server.log(),
          "the audit: " + server.log())
    c.close()
    d.close()
    server.stop()


def kept_session():
    """One without a worker is forgotten."""
    server = Server()
    c = connect(server.url)
    session = lib.session_of(server, c)
    c.close()
    wait_for(lambda: ask(server, "show", session)["state"] == "kept", LIMIT,
             "it is kept")
    for args in (("tail", session, "p"), ("signal", session, "p", "TERM"),
                 ("kill", session, "p")):
        ctl(server, *args, status=1)
        check("no processes" in ctl.err, "why: " + ctl.err)
    check(ask(server, "kill", session)["gone"] == 0, "gone")
    ctl(server, "show", session, status=1)
    server.stop()


def deaf_worker():
    """One that hears nothing is killed, and its processes with it."""
    server = Server("TerminateGrace=100ms")
    c = connect(server.url)
    session, word = lib.session_of(server, c), a_word("deaf")
    c.start("p", "sh", "-c", "setsid sleep %s & exec sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "they run")
    worker = worker_of(server, c)
    freeze(worker)
    with connect(server.url) as other:
        other.start("q", "sleep", a_word("other"))
        shown = {str(row["session"]): row for row in ask(server, "sessions")}
        check(shown[session]["state"] == "no answer" and
              shown[session]["worker"] == worker and
              shown[lib.session_of(server, other)]["running"] == 1,
              "sessions: %s" % shown)
        shown = {str(row["session"]): row for row in ask(server, "ps")}
        check(shown[session]["state"] == "no answer" and
              shown[session]["pid"] is None and
              shown[lib.session_of(server, other)]["state"] == "running",
              "ps: %s" % shown)
        shown = ask(server, "show", session)
        check(shown["state"] == "no answer", "show: %s" % shown)
        shown = ask(server, "top", "-n", "1")
        check(shown["status"]["attached"] == 2 and
              len(shown["sessions"]) == 2, "top: %s" % shown)
        other.call("process/terminate", {"processId": "q"})
    for args in (("tail", session, "p"), ("signal", session, "p", "TERM"),
                 ("kill", session, "p")):
        ctl(server, *args, status=1)
        check("does not answer" in ctl.err, "why: " + ctl.err)
    check(len(with_word(word)) == 2, "they are gone too early")
    ctl(server, "kill", session, status=1)
    check("its worker was killed" in ctl.err, "why: " + ctl.err)
    wait_for(lambda: not with_word(word), LIMIT, "its processes are gone")
    wait_for(lambda: not is_alive(worker), LIMIT, "the worker is gone")
    wait_for(lambda: session not in [str(row["session"]) for row in
                                     ask(server, "sessions")], LIMIT,
             "no session")
    c.close()
    server.stop()


def many_at_once():
    """Several operators and the client want the same end."""
    server = Server()
    c = connect(server.url)
    session, word = lib.session_of(server, c), a_word("many")
    for i in range(20):
        c.start("p%d" % i, "sh", "-c", "sleep %s & exec sleep %s" %
                (word, word))
    ends = []

    def end(*args):
        code = 4
        while code == 4:            # the daemon stood still
            code = subprocess.run(
                [lib.CTL, "-R", server.run, "kill", session, *args],
                capture_output=True, timeout=3 * LIMIT,
                check=False).returncode
        ends.append(code)

    threads = [threading.Thread(target=end, args=("p%d" % (i % 20),))
               for i in range(40)]
    threads += [threading.Thread(target=end) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(len(ends) == 43 and set(ends) <= {0, 1}, "ends: %s" % ends)
    check(0 in ends, "nobody succeeded")
    wait_for(lambda: not with_word(word), LIMIT, "they are gone")
    wait_for(lambda: ask(server, "sessions") == [], LIMIT, "no session")
    c.close()
    server.stop()


if __name__ == "__main__":
    main(signals, one_process, whole_session, kept_session, deaf_worker,
         many_at_once)
