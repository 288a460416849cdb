"""The reference server beside ours: the stock program that t/stock fetches."""
import atexit
import os
import subprocess
import sys

from client import LIMIT, TMP, check, say

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../stock"))
import rig                      # noqa: E402  (it is found there)


class Reference:
    """`codex exec-server` on a port of its own."""

    def __init__(self, path):
        home = TMP + "/codex"
        os.makedirs(home, exist_ok=True)
        self.process = subprocess.Popen(
            [path, "exec-server", "--listen", "ws://127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=TMP,
            env={**os.environ, "HOME": home, "CODEX_HOME": home})
        atexit.register(self.kill)
        self.url = self.process.stdout.readline().decode().strip()
        check(self.url.startswith("ws://"), "the reference says %r" % self.url)

    def kill(self):
        self.process.kill()
        self.process.wait(LIMIT)
        self.process.stdout.close()


def program():
    """The stock program, or None, which is said."""
    try:
        return rig.find_client()
    except rig.Skip as why:
        say("  left out: the reference: %s" % why)
        return None


def servers(ours):
    """(name, URL) of ours and, if it is there, the reference."""
    found = [("execsrvd", ours.url)]
    path = program()
    if path is not None:
        found.append(("reference", Reference(path).url))
    return found
