"""The output of a process, for operators."""
import base64
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time

from client import (Server, check, connect, fds, main, wait_for, worker_of,
                    LIMIT)

lib = importlib.import_module("7common")
ctl, CTL = lib.ctl, lib.CTL

ECHO = ("import sys\n"
        "for line in sys.stdin:\n"
        "    out = sys.stderr if line[0] == 'e' else sys.stdout\n"
        "    out.write(line[1:])\n"
        "    out.flush()\n")


def start_echo(client, process="p"):
    client.start(process, sys.executable, "-c", ECHO, pipeStdin=True)


def say_to(client, process, *lines):
    for line in lines:
        client.call("process/write", {
            "processId": process,
            "chunk": base64.b64encode(line + b"\n").decode()})


def follow(server, *args):
    return subprocess.Popen([CTL, "-R", server.run, *args],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def read_line(pipe):
    line = b""
    while not line.endswith(b"\n"):
        check(select.select([pipe], [], [], LIMIT)[0], "no line: %r" % line)
        byte = os.read(pipe.fileno(), 1)
        check(byte, "its output ended: %r" % line)
        line += byte
    return line


def kept():
    """What is kept: both streams, every byte, named in three ways."""
    server = Server()
    c = connect(server.url)
    start_echo(c)
    say_to(c, "p", b"oone", b"etwo", b"o\x00\xff\x1b[2J", b"elast")
    session = lib.session_of(server, c)
    pid = str(lib.pid_of(server, session, "p"))

    def both(*args):
        return ctl(server, "tail", *args), ctl.err.encode("latin1", "replace")

    def is_there(out, err):
        return b"[2J" in out and b"last" in err
    wait_for(lambda: is_there(*both(session, pid)), LIMIT, "the output")
    for name in pid, "p":
        for which in session, c.session[:13]:
            out, err = both(which, name)
            check(out == b"one\n\x00\xff\x1b[2J\n", "output: %r" % out)
            check(err == b"two\nlast\n", "errors: %r" % err)
    pieces = [json.loads(line) for line in
              ctl(server, "--json", "tail", session, "p").splitlines()]
    check([p["seq"] for p in pieces] == list(range(1, len(pieces) + 1)),
          "numbers: %s" % pieces)
    # What cannot be written is no success.
    for args in ("tail",), ("--json", "tail"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([CTL, "-R", server.run, *args, session, "p"],
                                  stdout=full, stderr=subprocess.PIPE,
                                  check=False, timeout=LIMIT)
        check(done.returncode not in (0, -signal.SIGPIPE),
              "a full disk: %s" % done)
    for stream, want in (("stdout", b"one\n\x00\xff\x1b[2J\n"),
                         ("stderr", b"two\nlast\n")):
        check(b"".join(base64.b64decode(p["chunk"]) for p in pieces
                       if p["stream"] == stream) == want,
              "pieces: %s" % pieces)

    ctl(server, "tail", session, "q", status=1)
    check("no such process" in ctl.err, "why: " + ctl.err)
    ctl(server, "tail", session, "1", status=1)
    ctl(server, "tail", "77", pid, status=1)
    check("no such session" in ctl.err, "why: " + ctl.err)
    ctl(server, "tail", status=2)
    ctl(server, "ps", "-f", status=2)
    # Without a name: the only process, or those that there are.
    check(both(session)[0] == b"one\n\x00\xff\x1b[2J\n", "the only one")
    check(both(session) == both(session, "p"), "and nothing else is said")
    start_echo(c, "other\x1b")
    wait_for(lambda: ctl(server, "ps", session).count(b"\n") == 3, LIMIT, "two")
    ctl(server, "tail", session, status=1)
    check(ctl.err == "execsrvctl: %s: has 2 processes; name one of them: "
          "p, other?\n" % session, ctl.err)
    ctl(server, "tail", "77", status=1)
    check(ctl.err == "execsrvctl: no such session: 77\n", ctl.err)
    d = connect(server.url)
    none = lib.session_of(server, d)
    ctl(server, "tail", none, status=1)
    check(ctl.err == "execsrvctl: %s: has no process\n" % none, ctl.err)
    d.close()
    # One that has ended can be read as long as its client could.
    c.call("process/closeStdin", {"processId": "p"})
    c.note("process/closed", "p")
    check(both(session, pid)[0] == b"one\n\x00\xff\x1b[2J\n", "when closed")
    c.close()
    server.stop()


def steady(worker):
    """How many descriptors it has, when that does not change any more."""
    seen = [fds(worker)]

    def is_steady():
        time.sleep(0.02)
        seen.append(fds(worker))
        return len(seen) > 10 and len(set(seen[-10:])) == 1
    wait_for(is_steady, LIMIT, "a number of descriptors")
    return seen[-1]


def following():
    """With -f: what comes, until it is closed; while its client is away."""
    server = Server()
    c = connect(server.url)
    start_echo(c)
    session = lib.session_of(server, c)
    say_to(c, "p", b"oone")
    worker = worker_of(server, c)
    tail = follow(server, "tail", "-f", session, "p")
    check(read_line(tail.stdout) == b"one\n", "the first line")
    say_to(c, "p", b"otwo", b"ethree")
    check(read_line(tail.stdout) == b"two\n", "the second line")
    check(read_line(tail.stderr) == b"three\n", "the third line")
    # Output that is kept for a client that is away is shown at once.
    c.start("q", "sh", "-c", "while ! test -e %s; do sleep 0.02; done; "
            "for i in 1 2 3 4 5; do echo $i; sleep 0.05; done; "
            "exec sleep 1000" % (server.run + "/go"))
    other = follow(server, "tail", session, "q", "--follow")
    wait_for(lambda: server.log().count("reads the output of") == 2, LIMIT,
             "the second operator")
    session_id = c.session
    c.close()
    wait_for(lambda: lib.ask(server, "show", session)["state"] == "detached",
             LIMIT, "the session is detached")
    with open(server.run + "/go", "w", encoding="ascii"):
        pass
    for i in range(1, 6):
        line = read_line(other.stdout)
        check(line == b"%d\n" % i, "line %d: %r" % (i, line))
    c = connect(server.url, session_id)
    # An operator who leaves is forgotten at once.
    before = steady(worker) if os.geteuid() == 0 else 0
    other.terminate()
    other.wait(LIMIT)
    if os.geteuid() == 0:       # others may not look
        wait_for(lambda: fds(worker) == before - 1, LIMIT, "its descriptor")
    say_to(c, "p", b"ofour")
    check(read_line(tail.stdout) == b"four\n", "the fourth line")
    c.call("process/closeStdin", {"processId": "p"})
    check(tail.wait(LIMIT) == 0, "status %s" % tail.returncode)
    check(tail.stdout.read() == b"", "more output")
    for t in tail, other:
        t.stdout.close()
        t.stderr.close()
    c.close()
    server.stop()


def slow_operator():
    """One who does not read holds nobody up, and costs no memory."""
    server = Server()
    c = connect(server.url)
    worker = worker_of(server, c)
    session = lib.session_of(server, c)
    c.start("p", "sh", "-c", "echo begin; read go; exec head -c 8000000 "
            "/dev/zero", pipeStdin=True)
    tail = follow(server, "tail", "-f", session, "p")
    check(read_line(tail.stdout) == b"begin\n", "the first line")
    tail.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    say_to(c, "p", b"go")
    got = 0
    while got < 8000000 + len("begin\n"):
        got += len(base64.b64decode(
            c.note("process/output", "p")["chunk"]))
    c.note("process/closed", "p")
    check(time.monotonic() - began < LIMIT, "its client had to wait")
    check(lib.ask(server, "show", session)["known"] == 2, "known")
    tail.send_signal(signal.SIGCONT)
    # It gets what is still kept, and hears that there was more.
    out, err = tail.communicate(timeout=LIMIT)
    check(0 < len(out) < 8000000, "%d bytes" % len(out))
    check(b"dropped" in err, "errors: %r" % err)
    check(os.path.exists("/proc/%d" % worker), "the worker is gone")
    c.close()
    server.stop()


def too_many():
    """Operators of one session: so many as LIMIT_TAILS, and no more."""
    server = Server()
    c = connect(server.url)
    session = lib.session_of(server, c)
    c.start("p", "sh", "-c", "echo begin; exec sleep 1000")
    tails = []
    for _ in range(16):
        tails.append(follow(server, "tail", "-f", session, "p"))
        check(read_line(tails[-1].stdout) == b"begin\n", "the first line")
    ctl(server, "tail", "-f", session, "p", status=1)
    check("cannot do that now" in ctl.err, "why: " + ctl.err)
    tails[0].kill()
    wait_for(lambda: subprocess.run(
        [CTL, "-R", server.run, "tail", session, "p"], check=False,
        capture_output=True).returncode == 0, LIMIT, "a place is free")
    # The end of the session is the end of it.
    lib.ask(server, "kill", session)
    for t in tails:
        t.wait(LIMIT)
        t.stdout.close()
        t.stderr.close()
    check(tails[1].returncode == 0, "status %s" % tails[1].returncode)
    c.close()
    server.stop()


def terminals():
    """On a terminal nothing is left of what could do something to it."""
    server = Server()
    c = connect(server.url)
    session = lib.session_of(server, c)
    c.start("p", "printf", "a\\tb\\033[31mc\\r\\n\\007\\0\\302\\233d\\303\\251"
            "\\n")
    c.note("process/closed", "p")
    t = lib.Terminal(CTL, "-R", server.run, "tail", session, "p")
    status, text = t.end()
    check(status == 0, "status %s" % status)
    check(text.replace(b"\r\n", b"\n") ==
          b"a\tb?[31mc\n????d\xc3\xa9\n", "shown: %r" % text)
    c.close()
    server.stop()


if __name__ == "__main__":
    main(kept, following, slow_operator, too_many, terminals)
