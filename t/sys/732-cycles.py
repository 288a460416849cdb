"""Connect, use and close, again and again: memory and descriptors stay what
they were.  With sanitizers LeakSanitizer looks too.

CYCLES=10000 for a run of hours.
"""
import os
import subprocess

from client import BUILD, LIMIT, Server, check, main

CYCLES = int(os.environ.get("CYCLES", "1000"))


def cycles():
    done = subprocess.run(
        [BUILD + "/t/732-cycles", Server().url, str(CYCLES)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=LIMIT * 6 + CYCLES * 0.2, check=False)
    check(done.returncode == 0 and done.stdout == b"fine\n",
          "%s %r" % (done.returncode, done.stderr))


main(cycles)
