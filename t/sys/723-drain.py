"""Draining a server."""
import importlib
import os
import re
import signal
import socket
import subprocess
import time

from client import (Client, RpcError, Server, a_word, check, connect, in_time,
                    main, resume_in, wait_for, with_word, worker_of, LIMIT,
                    SCALE)

lib = importlib.import_module("7common")
ctl, ask, http = lib.ctl, lib.ask, lib.http


def ready(server):
    return http(server.url, "/readyz")[0]


def is_let_in(server):
    with Client(server.url) as c:
        try:
            c.initialize()
        except RpcError as e:
            check("the server is draining" in str(e), "refused: %s" % e)
            return False
    return True


def ended(server, status=0):
    """It ends by itself."""
    got = server.process.wait(LIMIT)
    check(got == status, "the server ended with %d" % got)
    check(not os.path.exists(server.run + "/control.sock"),
          "the control socket is left")


def idle():
    """With nobody there, also twice, also when nobody waits for it."""
    server = Server()
    answer = ask(server, "drain")
    check(answer == {"state": "draining", "sessions": 0}, "said: %s" % answer)
    ended(server)
    check(server.has_logged("stopping: drained"), "the log")
    check("control: uid %d, pid " % os.geteuid() in server.log() and
          server.has_logged(": drains the server"), "the audit")
    ctl(server, "drain", status=3)
    server = Server()
    answer = ask(server, "drain", "--wait")
    check(answer == {"state": "stopped", "sessions": 0}, "said: %s" % answer)
    ended(server)


def sessions():
    """One that is there goes on, is resumed, and its end is the end."""
    server = Server()
    c = connect(server.url)
    session, word = lib.session_of(server, c), a_word("drain")
    c.start("p", "sleep", word)
    # One that owns nothing, and nobody waits for.
    with connect(server.url) as d:
        kept = lib.session_of(server, d)
    wait_for(lambda: ask(server, "show", kept)["state"] == "kept", LIMIT,
             "it is kept")
    check(ready(server) == 200, "not ready")
    waiting = subprocess.Popen(
        [lib.CTL, "-R", server.run, "--json", "drain", "--wait"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    wait_for(lambda: ask(server, "status")["state"] == "draining", LIMIT,
             "it drains")
    check(ask(server, "status")["ready"] is False, "ready")
    check(ready(server) == 503, "/readyz says it is")
    check(http(server.url, "/livez")[0] == 200, "/livez says no")
    check(not is_let_in(server), "a new session was let in")
    answer = ask(server, "drain")
    check(answer == {"state": "draining", "sessions": 1}, "said: %s" % answer)
    # The session lives on.
    check(c.run("q", "echo", "there") == (b"there\n", 0), "a command")
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    check(c.run("r", "echo", "again") == (b"again\n", 0), "a command")
    check(waiting.poll() is None and server.process.poll() is None,
          "it ended too early")
    ask(server, "kill", session)
    out, _ = waiting.communicate(timeout=LIMIT)
    check(waiting.returncode == 0 and
          out == b'{"state":"stopped","sessions":0}\n',
          "%d: %r" % (waiting.returncode, out))
    ended(server)
    wait_for(lambda: not with_word(word), LIMIT, "its command is gone")


def limit():
    """Who does not end in time is ended, not before, and who waits hears of
    it."""
    server = Server("DrainTimeout=500ms", "TerminateGrace=100ms")
    c = connect(server.url)
    word = a_word("limit")
    c.start("p", "sleep", word)
    lib.session_of(server, c)
    began = time.monotonic()
    answer = ask(server, "drain", "--wait", status=1)
    check(time.monotonic() - began >= 0.5, "it had no time")
    check(answer == {"state": "stopped", "sessions": 1}, "said: %s" % answer)
    check("did not end in time" in ctl.err, "why: " + ctl.err)
    ended(server)
    check(server.has_logged("1 sessions did not end in time"), "the log")
    wait_for(lambda: not with_word(word), LIMIT, "its command is gone")
    c.close()


def kinds():
    with open(os.path.dirname(os.path.abspath(__file__)) +
              "/../../proto/ipc.def", encoding="ascii") as f:
        return re.findall(r"^IPC\((\w+),", f.read(), re.M)


def one_at_a_time():
    """An operator who waits for the end asks for nothing else meanwhile."""
    server, kind = Server(), kinds()
    c = connect(server.url)
    c.start("p", "sleep", "1000")
    lib.session_of(server, c)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(LIMIT)
        s.connect(server.run + "/control.sock")
        request = bytes([kind.index("ctl_request")])
        s.send(request + b"\x0a\x05drain\x18\x01")
        check(kind[s.recv(4096)[0]] == "ctl_head", "an answer")
        s.send(request + b"\x0a\x06status")
        answer = s.recv(4096)
        check(kind[answer[0]] == "ctl_end" and
              b"one command at a time" in answer, "%s: %r" % (
                  kind[answer[0]], answer))
    c.close()
    server.stop()


def stopped_meanwhile():
    """A TERM while it drains is one as ever."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sleep", a_word("term"))
    lib.session_of(server, c)
    waiting = subprocess.Popen(
        [lib.CTL, "-R", server.run, "drain", "--wait"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    wait_for(lambda: server.has_logged("draining: 1 sessions"), LIMIT,
             "it drains")
    took = server.stop(signal.SIGTERM)
    in_time(took < 5 * SCALE, "it took %.1f s" % took)
    check(waiting.wait(LIMIT) == 0, "the waiting one: %d" %
          waiting.returncode)
    waiting.stdout.close()
    # A server that dies is not one that ended in order.
    server = Server()
    c = connect(server.url)
    worker = worker_of(server, c)
    lib.session_of(server, c)
    waiting = subprocess.Popen(
        [lib.CTL, "-R", server.run, "drain", "--wait"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    wait_for(lambda: server.has_logged("draining: 1 sessions"), LIMIT,
             "it drains")
    server.process.kill()
    _, err = waiting.communicate(timeout=LIMIT)
    check(waiting.returncode == 1 and b"closed the connection" in err,
          "%d: %r" % (waiting.returncode, err))
    # It would wait for the next server.
    os.kill(worker, signal.SIGKILL)
    c.close()


if __name__ == "__main__":
    main(idle, sessions, limit, one_at_a_time, stopped_meanwhile)
