"""The reference, for tests of clients that talk to both."""
import contextlib
import glob
import os
import shutil
import subprocess

from client import BUILD, TMP, check


@contextlib.contextmanager
def reference():
    """Its URL while it runs, or None: it is not here."""
    program = os.environ.get("REFERENCE") or next(iter(glob.glob(
        os.environ.get("STOCK_DIR", BUILD + "/stock") + "/node_modules/"
        "@openai/*/vendor/*/bin/codex")), None) or shutil.which("codex")
    if program is None:
        print("left out: no reference here")
        yield None
        return
    home = TMP + "/home"
    os.makedirs(home + "/.codex")
    process = subprocess.Popen(
        [program, "exec-server", "--listen", "ws://127.0.0.1:0"],
        env={**os.environ, "HOME": home, "CODEX_HOME": home + "/.codex"},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    try:
        url = process.stdout.readline().decode().strip()
        check(url.startswith("ws://"), url)
        yield url
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
