"""A session that an operator ends says so, and is heard to its end."""
import importlib
import signal
import sys
import threading

from client import (Client, Closed, RpcError, Server, check, connect, main,
                    LIMIT)

lib = importlib.import_module("7common")

# Ends when it is told to, not before it is asked for; says so.
LINGERS = ("import os, signal\n"
           "def on(n, f): os.write(1, b'told\\n')\n"
           "signal.signal(signal.SIGTERM, on)\n"
           "os.write(1, b'ready\\n')\n"
           "os.read(0, 1)\n"
           "os._exit(7)\n")


def lingering(server):
    c = connect(server.url)
    c.start("p", sys.executable, "-c", LINGERS, pipeStdin=True)
    c.note("process/output", "p")
    return c


def announced():
    server = Server()
    with Client(server.url) as c:
        told = c.call("initialize", {"clientName": "t"})
    check(told["environmentInfo"]["capabilities"].get("execsrvSessionEnding")
          is True, "not announced: %s" % told)
    server.stop()


def ended(c, reason):
    note = c.note("session/ending")
    check(note == {"reason": reason}, "told: %s" % note)
    c.note("process/output", "p")           # SIGTERM came
    try:
        c.start("q", "true")
        check(False, "started")
    except RpcError as e:
        check("the session is ending" in e.text, "why: " + e.text)
    c.call("process/write", {"processId": "p", "chunk": "Cg==",
                             "writeId": "w"})
    check(c.note("process/exited", "p")["exitCode"] == 7, "not to its end")
    c.note("process/closed", "p")
    try:
        c.until(lambda: None, LIMIT)
        check(False, "goes on")
    except Closed as e:
        check(e.code == 1001, "closed with %s" % e.code)


def by_operator():
    server = Server("TerminateGrace=60s")
    c = lingering(server)
    session = lib.session_of(server, c)
    # It waits until the session is gone.
    killer = threading.Thread(target=lib.ctl, args=(server, "kill", session))
    killer.start()
    ended(c, "killed by an operator")
    killer.join()
    server.stop()


def by_stop():
    server = Server("TerminateGrace=60s")
    c = lingering(server)
    server.process.send_signal(signal.SIGTERM)
    ended(c, "the server is stopping")
    check(server.process.wait(LIMIT) == 0, "not stopped")


if __name__ == "__main__":
    main(announced, by_operator, by_stop)
