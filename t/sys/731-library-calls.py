"""Every request of libexecsrv, to execsrvd and to the reference: the program
t/sys/731-library-calls.c does the work."""
import importlib
import os
import subprocess

from client import BUILD, LIMIT, TMP, Server, check, main, say
from upstream import Upstream, answer

servers = importlib.import_module("7reference").servers


def calls():
    upstream = Upstream(lambda request: request.send(answer(b"x" * 300000)))
    for name, url in servers(Server()):
        say("  " + name)
        folder = "%s/%s" % (TMP, name)
        os.mkdir(folder, 0o777)
        done = subprocess.run(
            [BUILD + "/t/731-library-calls", url, folder, upstream.url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=LIMIT * 6, check=False)
        check(done.returncode == 0 and done.stdout == b"fine\n",
              "%s: %s %r" % (name, done.returncode, done.stderr))


main(calls)
