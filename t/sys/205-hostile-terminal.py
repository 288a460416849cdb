"""205: a process on a terminal cannot disturb its worker."""
import base64
import importlib
import os
import sys
import time

lib = importlib.import_module("2common")
ENV = {"PATH": os.environ["PATH"], "TERM": "dumb"}
SOON = 0.1              # seconds in which other requests must be answered


def start(client, name, script, **more):
    client.start(name, "sh", "-c", script, env=ENV, tty=True, **more)


def write(client, name, data):
    return client.call("process/write", processId=name,
                       chunk=base64.b64encode(data).decode(),
                       writeId=None)["status"]


def wait_output(client, name, want, limit=lib.LIMIT):
    def ready():
        client.pump()
        data, _ = client.output(name, until_closed=False)
        return data if want in data else None

    got = client.conn.wait(ready, time.monotonic() + limit * lib.SCALE)
    if got is None:
        data, _ = client.output(name, until_closed=False)
        lib.fail("%s: no %r in %r" % (name, want, data[-300:]))
    return got or b""


def check_prompt(client, what):
    """Most of some requests of the same connection."""
    took = []
    for _ in range(21):
        began = time.monotonic()
        client.call("environment/status")
        took.append(time.monotonic() - began)
    usual = sorted(took)[10]
    if usual >= SOON * lib.SCALE:
        raise lib.Late("%s: another request takes %.0f ms" %
                       (what, usual * 1e3))


def test_raw(client):
    start(client, "raw", "stty raw -echo; printf ready; "
          "dd bs=1 count=6 2>/dev/null | od -An -tx1; printf done")
    wait_output(client, "raw", b"ready")
    write(client, "raw", b"\x03\x04\x1a\x1c\x11\x13")
    got = wait_output(client, "raw", b"done")
    lib.check(b"03 04 1a 1c 11 13" in got, "raw: %r" % got)
    client.output("raw")


def test_huge(client):
    start(client, "huge", "head -c 3000000 /dev/zero | tr '\\0' x; "
          "printf end")
    check_prompt(client, "huge output")
    text, code = client.output("huge")
    lib.check(text == b"x" * 3000000 + b"end" and code == 0,
              "huge: %d bytes, code %s" % (len(text), code))


def test_closed_slave(client):
    """It gives its terminal up and lives on."""
    folder = lib.temp_dir()
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    start(client, "closer", "printf hello; exec <%s >/dev/null 2>&1; "
          "read x; exit 4" % fifo)
    wait_output(client, "closer", b"hello")
    with open(fifo, "w") as file:
        check_prompt(client, "closed terminal")
        lib.check(write(client, "closer", b"lost\n") == "accepted",
                  "write to a closed terminal")
        client.call("process/resize", processId="closer", rows=10, cols=10)
        used = cpu_of(client)
        time.sleep(0.3)
        lib.check(cpu_of(client) - used < 0.15, "closed terminal: busy loop")
        file.write("\n")
    _, code = client.output("closer")
    lib.check(code == 4, "closer: code %s" % code)


def test_reopened_slave(client):
    """It closes all of it, and takes it up again by its name.  A terminal that
    nobody has open is at its end, if we look just then: what is written there
    afterwards is not read.  Nothing else may come of it."""
    start(client, "again", "t=$(tty); printf one; exec </dev/null "
          ">/dev/null 2>&1; if (echo two >$t); then exit 3; fi; exit 4")
    text, code = client.output("again")
    lib.check(text in (b"one", b"onetwo\r\n") and
              code in ((3,) if b"two" in text else (3, 4)),
              "again: %r %s" % (text, code))
    check_prompt(client, "a terminal taken up again")


def cpu_of(client):
    client.start("look", "sleep", "1000", env=ENV) \
        if client.pid_of("look") is None else None
    worker = lib.stat_of(client.pid_of("look"))[1]
    rest = lib.read_proc(worker, "stat").decode().rsplit(")", 1)[1].split()
    return (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")


def test_never_reads(client):
    """Its input queue is full: only writes to it wait."""
    for mode, name in (("raw -echo", "deaf raw"), ("-echo", "deaf line")):
        start(client, name, "stty %s; printf ready; exec sleep 1000" % mode)
        wait_output(client, name, b"ready")
        chunk = base64.b64encode(b"y" * 65535 + b"\n").decode()
        asked = [client.send("process/write", processId=name, chunk=chunk)
                 for _ in range(200)]
        check_prompt(client, name)
        used = cpu_of(client)
        time.sleep(0.3)
        lib.check(cpu_of(client) - used < 0.15, name + ": busy loop")
        client.call("process/terminate", processId=name)
        for number in asked:
            client.answer(number)
        client.output(name)


def test_echo_storm(client):
    """It echoes what it is sent, while nobody stops sending."""
    start(client, "echo", "stty -icanon echo; printf ready; exec cat")
    wait_output(client, "echo", b"ready")
    data = b"z" * 4000 + b"\n"
    for _ in range(300):
        client.send("process/write", processId="echo",
                    chunk=base64.b64encode(data).decode())
    check_prompt(client, "echo storm")
    client.call("process/terminate", processId="echo")
    lib.check(client.note("echo", "process/closed"), "echo is not closed")


def test_resize(client):
    start(client, "size", "trap 'stty size' WINCH; stty size; printf 'ready';"
          " while :; do sleep 0.02; done", ptySize={"rows": 3, "cols": 5})
    wait_output(client, "size", b"3 5\r\nready")
    for rows, cols in ((1, 1), (65535, 65535), (50, 132)):
        client.call("process/resize", processId="size", rows=rows, cols=cols)
        wait_output(client, "size", b"%d %d" % (rows, cols))
    client.call("process/terminate", processId="size")
    client.output("size")


def test_keys(client):
    start(client, "intr", "trap 'printf got-int; exit 9' INT; printf ready; "
          "while :; do sleep 0.02; done")
    wait_output(client, "intr", b"ready")
    write(client, "intr", b"\x03")
    text, code = client.output("intr")
    lib.check(b"got-int" in text and code == 9, "^C: %r %s" % (text, code))
    # ^D by process/closeStdin, after input that waits, in either mode.
    start(client, "eof", "printf ready; cat; printf after; cat; exit 6")
    wait_output(client, "eof", b"ready")
    write(client, "eof", b"line\n")
    client.call("process/closeStdin", processId="eof")
    wait_output(client, "eof", b"after")
    lib.check(write(client, "eof", b"more\n") == "accepted",
              "a terminal takes no more after ^D")
    client.call("process/closeStdin", processId="eof")
    text, code = client.output("eof")
    lib.check(code == 6 and text.count(b"line") == 2 and
              text.count(b"more") == 2, "^D: %r %s" % (text, code))


def test_leader_ends(client):
    """And others go on with its terminal: what they say arrives."""
    fifo = os.path.join(lib.temp_dir(), "fifo")
    os.mkfifo(fifo)
    start(client, "leader", "trap '' HUP; (read x <%s; printf late) & "
          "printf on; exit 2" % fifo)
    lib.check(client.note("leader", "process/exited"), "leader: it lives")
    lib.check(b"late" not in client.output("leader", False)[0], "too early")
    with open(fifo, "w") as file:
        file.write("\n")
    text, code = client.output("leader")
    lib.check((text, code) == (b"onlate", 2), "leader: %r %s" % (text, code))


def test_hangup(client):
    """vhangup(2), where it has the right to: it is without a terminal then,
    and its end is told."""
    start(client, "hung", "trap '' HUP; printf on; python3 -c 'import ctypes, "
          "sys; sys.exit(ctypes.CDLL(None).vhangup() + 2)'; r=$?; "
          "printf more; exit $r")
    text, code = client.output("hung")
    lib.check((text, code) == ((b"on", 2) if os.geteuid() == 0 else
                               (b"onmore", 1)), "hung: %r %s" % (text, code))
    check_prompt(client, "a terminal that was hung up")


def alone(test):
    with lib.Client(server.url) as client:
        test(client)


with lib.Server() as server:
    for test in (test_raw, test_huge, test_closed_slave, test_reopened_slave,
                 test_resize, test_keys, test_leader_ends, test_hangup,
                 test_never_reads,
                 test_echo_storm):
        began = time.monotonic()
        lib.best_of(alone, test)
        print("%s %.1f s" % (test.__name__, time.monotonic() - began),
              flush=True)
lib.finish()
