"""981: the command of a container with the server beside it."""
import importlib
import os
import pty
import signal
import subprocess

from client import (BUILD, LIMIT, SCALE, TMP, a_word, check, connect,
                    descendants, is_alive, main, say, stat_of, wait_for,
                    with_word)

lib = importlib.import_module("98common")
TRAP = ("trap 'echo told TERM; exit 5' TERM; trap 'echo told INT; exit 6' INT;"
        " trap 'echo told HUP' HUP; echo up; while :; do sleep 0.05; done")


def command(*argv, **more):
    return lib.Contained((), command=argv, **more)


def up(server, text="up"):
    wait_for(lambda: text in server.out(), LIMIT, "%r: %s" %
             (text, server.log()))


def statuses():
    """It ends as the command does."""
    for argv, status in (
            (("true",), 0), (("sh", "-c", "exit 7"), 7),
            (("sh", "-c", "kill -TERM $$"), 128 + 15),
            (("sh", "-c", "kill -KILL $$"), 128 + 9),
            (("/no/such/command",), 127), ((TMP,), 126)):
        server = command(*argv)
        check(server.wait() == status, "%s: %s, %s" %
              (argv, server.process.returncode, server.log()))
        check(not os.path.exists(server.base + ".run"), "its folder is left")
        # Nor is it news that it was quicker than what we find out.
        check("Broken pipe" not in server.log(), server.log())


def streams():
    """The standard streams are the command's, and nothing of ours is there."""
    server = command("sh", "-c", "read x; echo got $x; echo err >&2; umask; "
                     "ulimit -Sn; ls /proc/self/fd",
                     stdin=subprocess.PIPE)
    check(server.out() == "", "ours: " + server.out())
    server.process.stdin.write(b"a line\n")
    server.process.stdin.close()
    check(server.wait() == 0, server.log())
    nofile = subprocess.run(["sh", "-c", "umask; ulimit -Sn"],
                            capture_output=True, text=True, check=True).stdout
    check(server.out() == "got a line\n%s0\n1\n2\n3\n" % nofile, server.out())
    check("\nerr\n" in server.log(), server.log())


def arguments():
    """They reach it as they are, options of ours among them."""
    server = command("sh", "-c", 'printf "%s|" "$@"', "0", "-D", "--", "a b",
                     "", "--listen", "x")
    check(server.wait() == 0 and server.out() == "-D|--|a b||--listen|x|",
          server.out())


def beside():
    """In a group of its own; clients are served all the while."""
    server = command("sh", "-c", TRAP)
    up(server)
    ours, word = stat_of(server.pid), a_word("beside")
    stats = [(p, stat_of(p)) for p in descendants(server.pid)]
    mine = [p for p, s in stats if s and s[2] == str(p) and s[3] == ours[3]]
    check(len(mine) == 1, "groups in our session: %s" % mine)
    with connect(server.url) as c:
        out, status = c.run("p", "sh", "-c", "exit 3")
        check((out, status) == (b"", 3), "%r %s" % (out, status))
        c.start("q", "sh", "-c", "setsid sleep %s" % word)
        wait_for(lambda: with_word(word), LIMIT, "the sleeper")
        check(server.stop(signal.SIGTERM) == 5, server.log())
        check(server.out() == "up\ntold TERM\n", server.out())
        check("session 1: ended: the server is stopping" in server.log(),
              server.log())
        wait_for(lambda: not with_word(word), LIMIT, "its end")


def passed_on():
    """Signals that may mean to end are the command's first."""
    server = command("sh", "-c", TRAP)
    up(server)
    server.signal(signal.SIGHUP)
    up(server, "told HUP")
    with connect(server.url) as c:
        c.run("p", "true")
    server.signal(signal.SIGHUP)
    wait_for(lambda: server.out().count("HUP") == 2, LIMIT, "the second")
    check(server.stop(signal.SIGINT) == 6, server.log())
    # Its children as well, which a shell would not tell.
    word = a_word("group")
    server = command("sh", "-c", "sleep %s & echo up; wait" % word)
    up(server)
    check(server.stop(signal.SIGTERM) == 128 + 15, server.log())
    wait_for(lambda: not with_word(word), LIMIT, "the end of its child")


def stubborn():
    """A second signal kills, whoever does not want to end."""
    word = a_word("stubborn")
    server = command("sh", "-c", "trap '' TERM INT; echo up; "
                     "while :; do sleep %s; done" % word)
    up(server)
    with connect(server.url) as c:
        c.start("p", "sh", "-c", "trap '' TERM; echo up; sleep " + word)
        c.note("process/output")
        wait_for(lambda: len(with_word(word)) == 2, LIMIT, "sleepers")
        server.signal(signal.SIGTERM)
        wait_for(lambda: "passed on" in server.log(), LIMIT, "the first")
        with connect(server.url) as d:
            d.run("p", "true")                # nothing has ended
        check(server.stop(signal.SIGTERM) == 128 + 9, server.log())
        # It does not wait for the command to obey.
        check("stopping: Terminated" in server.log(), server.log())
        wait_for(lambda: not with_word(word), LIMIT, "the end of them all")


def its_orphans():
    """What the command leaves to us is not taken for a session's."""
    word = a_word("orphan")
    server = command("sh", "-c", "(setsid sleep %s &); %s" % (word, TRAP))
    up(server)
    wait_for(lambda: with_word(word), LIMIT, "the orphan")
    try:
        with connect(server.url) as c:
            out, _ = c.run("p", "sh", "-c", "echo $PPID")
            os.kill(int(out), signal.SIGKILL)
            wait_for(lambda: not is_alive(int(out)), LIMIT, "its end")
        with connect(server.url) as c:
            c.run("p", "true")
        check(server.stop(signal.SIGTERM) == 5, server.log())
        check(with_word(word), "it was killed")
    finally:
        for pid in with_word(word):
            os.kill(pid, signal.SIGKILL)


def refused():
    """What both would need: standard input."""
    for args in (["--listen", "stdio"], ["--listen", "ws://127.0.0.1:0",
                                         "--exit-on-stdin-close"]):
        r = subprocess.run([BUILD + "/execsrvd", *args, "--", "true"],
                           stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=LIMIT * 3)
        check(r.returncode == 2 and b"standard input" in r.stderr, "%r" % r)
    # A word that is no option needs the dashes.
    r = subprocess.run([BUILD + "/execsrvd", "--listen", "ws://127.0.0.1:0",
                        "true"], stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=LIMIT * 3)
    check(r.returncode == 2 and b"a command comes after" in r.stderr, "%r" % r)


def terminal():
    """On a terminal it is who reads there, and whom Ctrl-C is for."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(BUILD + "/execsrvd", [
            "execsrvd", "-o", "RuntimeDirectory=%s/terminal" % TMP, "-o",
            "LogLevel=error", "--listen", "ws://127.0.0.1:0", "--", "sh",
            "-c", "trap 'echo told INT; exit 9' INT; read x; echo got $x; "
            "while :; do sleep 0.05; done"])
    text = b""

    def until(word):
        nonlocal text
        while word not in text:
            try:
                text += os.read(fd, 4096)
            except OSError:
                raise AssertionError("%r not in %r" % (word, text)) from None

    os.write(fd, b"a line\n")
    until(b"got a line")
    os.write(fd, b"\x03")
    until(b"told INT")
    _, status = os.waitpid(pid, 0)
    check(os.waitstatus_to_exitcode(status) == 9, "%s %r" % (status, text))
    os.close(fd)


def quick_end():
    """A command that is gone before anybody connects, many times."""
    for n in range(int(20 / SCALE) or 1):
        server = command("sh", "-c", "exit %d" % n)
        check(server.wait() == n, server.log())


if __name__ == "__main__":
    main(statuses, streams, arguments, beside, passed_on, stubborn,
         its_orphans, refused, terminal, quick_end)
