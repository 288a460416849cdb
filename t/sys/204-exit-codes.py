"""204: exit codes, many processes at once, late writers."""
import importlib
import os
import signal
import sys
import time

lib = importlib.import_module("2common")
ENV = {"PATH": os.environ["PATH"]}
STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
            signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}


def expect_code(client, name, want, *argv, **more):
    client.start(name, *argv, env=ENV, **more)
    note = client.note(name, "process/exited")
    code = note and note["exitCode"]
    lib.check(code == want, "%s: exit code %s, not %s" % (name, code, want))
    lib.check(client.note(name, "process/closed"), name + " is not closed")


def test_codes(client):
    for tty in (False, True):
        for code in (0, 1, 2, 126, 127, 128, 137, 255):
            expect_code(client, "exit %d %s" % (code, tty), code, "sh", "-c",
                        "exit %d" % code, tty=tty)
        # Each signal, and those of its own range.
        for sig in list(range(1, 32)) + [34, 50, 64]:
            if sig in STOPPING:
                continue
            expect_code(client, "signal %d %s" % (sig, tty), 128 + sig, "sh",
                        "-c", "ulimit -c 0; kill -%d $$" % sig, tty=tty)


def test_many(server, sessions=20, each=50):
    """1,000 processes that live at the same time, each with its own code."""
    clients = [lib.Client(server.url, limit=120) for _ in range(sessions)]
    gate = lib.temp_dir()
    fifo = os.path.join(gate, "fifo")
    os.mkfifo(fifo)
    # Writers wait for the fifo; all run until it is opened for reading.
    for c in clients:
        c.asked = [c.send("process/start", processId="p%d" % n, argv=[
            "/bin/sh", "-c", "read x <%s; echo $0; exit $0" % fifo,
            str(n * 5 % 256)], cwd="file:///tmp", env=ENV, tty=n % 10 == 0,
            pipeStdin=False, arg0=None) for n in range(each)]
    for c in clients:
        for number in c.asked:
            c.answer(number)
    writer = os.open(fifo, os.O_RDWR)
    running = sum(sum(not p["exited"] for p in
                      c.call("process/list")["processes"]) for c in clients)
    lib.check(running == sessions * each, "%d run at once" % running)
    os.write(writer, b"\n" * sessions * each)
    for c in clients:
        for n in range(each):
            want = n * 5 % 256
            text, code = c.output("p%d" % n)
            lib.check(code == want, "p%d: code %s, not %d" % (n, code, want))
            lib.check(text.split() == [b"%d" % want], "p%d: %r" % (n, text))
    os.close(writer)
    for c in clients:
        c.drop()


def test_late_writer(client):
    """Who holds stdout: exited at once, closed when it lets go."""
    folder = lib.temp_dir()
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    client.start("late", "sh", "-c",
                 "(read x <%s; echo late) & echo early; exit 5" % fifo,
                 env=ENV)
    note = client.note("late", "process/exited")
    lib.check(note and note["exitCode"] == 5, "no exit while held open")
    early, _ = client.output("late", until_closed=False)
    lib.check(not [n for n in client.notes
                   if n["method"] == "process/closed" and
                   n["params"]["processId"] == "late"],
              "closed while somebody holds its output")
    read = client.call("process/read", processId="late", afterSeq=0,
                       maxBytes=None, waitMs=0)
    lib.check(read["exited"] and not read["closed"] and
              read["exitCode"] == 5, "read: %s" % read)
    with open(fifo, "w") as file:
        file.write("\n")
    text, _ = client.output("late")
    lib.check(text == b"early\nlate\n", "output %r" % text)
    closed = client.note("late", "process/closed")
    lib.check(closed["seq"] == 4, "closed has number %s" % closed["seq"])


def test_instant(client):
    """Those that end before their start is answered."""
    for n in range(300):
        client.send("process/start", processId="i%d" % n,
                    argv=["/bin/sh", "-c", "exit %d" % (n % 256)],
                    cwd="file:///tmp", env={}, tty=False, pipeStdin=False,
                    arg0=None)
    for n in range(300):
        note = client.note("i%d" % n, "process/exited")
        lib.check(note and note["exitCode"] == n % 256,
                  "i%d: %s" % (n, note))


with lib.Server() as server:
    with lib.Client(server.url) as client:
        test_codes(client)
        test_late_writer(client)
        test_instant(client)
    test_many(server)
lib.finish()
