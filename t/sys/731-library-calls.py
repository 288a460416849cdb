"""Every request of libexecsrv, to execsrvd and to the reference: the program
t/sys/731-library-calls.c does the work."""
import importlib
import os
import subprocess

from client import BUILD, LIMIT, TMP, Server, check, main, say
from upstream import Upstream, answer

reference = importlib.import_module("7reference")


def run(name, url, *command):
    say("  " + name)
    upstream = Upstream(lambda request: request.send(answer(b"x" * 300000)))
    folder = "%s/%s" % (TMP, name)
    os.mkdir(folder, 0o777)
    done = subprocess.run(
        [BUILD + "/t/731-library-calls", url, folder, upstream.url, *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT * 6,
        check=False)
    check(done.returncode == 0 and done.stdout == b"fine\n",
          "%s: %s %r" % (name, done.returncode, done.stderr))


def calls():
    for name, url in reference.servers(Server()):
        run(name, url)


def spawned():
    """A server of one's own, by its standard input and output."""
    run("spawned", "spawn:", BUILD + "/execsrvd", "--listen", "stdio")
    program = reference.program()
    if program is not None:
        run("spawned reference", "spawn:", program, "exec-server", "--listen",
            "stdio")


main(calls, spawned)
