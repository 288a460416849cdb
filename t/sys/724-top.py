"""execsrvctl top."""
import importlib
import json
import os
import re
import signal
import subprocess

from client import Server, check, connect, main, wait_for, LIMIT

lib = importlib.import_module("7common")
ctl, CTL = lib.ctl, lib.CTL

END = b"\033[J"                 # of a picture
LEAVE = b"\033[?25h\033[?1049l"


def batches():
    server = Server()
    c = connect(server.url)
    lib.session_of(server, c)
    text = ctl(server, "top", "-b", "-n", "2", "-d", "0.1").decode()
    check(text.count("version ") == 2 and text.count("SESSION") == 2 and
          "\033" not in text, "shown: %r" % text)
    check("state running, ready yes" in text, "shown: %r" % text)
    check(re.search(r"^ +1  \S+ +attached ", text, re.M), "shown: %r" % text)
    # Without a terminal it is one as well.
    check(ctl(server, "top", "-n", "1").decode().count("SESSION") == 1,
          "without -b")
    lines = [json.loads(line) for line in
             ctl(server, "--json", "top", "-n", "3", "-d", ".1").splitlines()]
    check(len(lines) == 3 and all(
        line["status"]["pid"] == server.pid and
        line["sessions"][0]["session"] == 1 for line in lines),
        "JSON: %s" % lines)
    check(ctl(server, "-q", "top", "-n", "1") == b"", "not quiet")
    for wrong in (("-d", "0"), ("-d", "x"), ("-d", "nan"), ("-n", "0"),
                  ("-n", "-1"), ("-n", "1x"), ("word",), ("-z",)):
        ctl(server, "top", *wrong, status=2)
    # It goes on until the server does not.
    top = subprocess.Popen([CTL, "-R", server.run, "top", "-b", "-d", "0.1"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    check(top.stdout.readline().startswith(b"version"), "nothing is shown")
    c.close()
    server.stop()
    _, err = top.communicate(timeout=LIMIT)
    check(top.returncode in (1, 3), "status %d: %r" % (top.returncode, err))


def terminal():
    server = Server()
    c = connect(server.url)
    lib.session_of(server, c)
    top = lib.Terminal(CTL, "-R", server.run, "top", "-d", "0.1",
                       size=(10, 40))
    first = top.until(END)
    check(first.startswith(b"\033[?1049h"), "begins: %r" % first)
    check(b"\033[1mSESSION" in first and b" attached" in first,
          "shown: %r" % first)
    lines = re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"", first).split(b"\r\n")
    check(len(lines) <= 10, "%d lines" % len(lines))
    table = [n for n, line in enumerate(lines) if line[:7] == b"SESSION"][0]
    check(all(len(line) <= 40 for line in lines[table:]),
          "too wide: %r" % lines)
    # What changes is seen.
    c.start("p", "sleep", "1000")
    for _ in range(100):
        if re.search(rb"attached +1,", top.until(END)):
            break
    d = connect(server.url)
    wait_for(lambda: b"attached 2," in top.until(END), LIMIT, "a second one")
    top.type(b"x")
    top.until(END)
    top.type(b"q")
    status, text = top.end()
    check(status == 0 and text.endswith(LEAVE), "%d: %r" % (status, text))
    # No colour for those who want none; 80 columns have what counts.
    top = lib.Terminal(CTL, "-R", server.run, "top", "-n", "1",
                       env={"NO_COLOR": "1"})
    status, text = top.end()
    check(status == 0 and b"\033[1m" not in text, "%d: %r" % (status, text))
    check(all(name in text for name in (b"%CPU", b" CPU ", b" RSS ")),
          "%r" % text)
    d.close()
    c.close()
    # A server that is gone may come back.
    top = lib.Terminal(CTL, "-R", server.run, "top", "-d", "0.1")
    top.until(END)
    server.stop()
    wait_for(lambda: b"no daemon runs" in top.until(END), LIMIT, "its end")
    server = Server("RuntimeDirectory=" + server.run, run=False)
    wait_for(lambda: b"state running" in top.until(END), LIMIT, "its return")
    # And every ordinary end leaves the terminal as it was.
    os.kill(top.pid, signal.SIGTERM)
    status, text = top.end()
    check(status == 0 and text.endswith(LEAVE), "%d: %r" % (status, text))
    server.stop()


if __name__ == "__main__":
    main(batches, terminal)
