"""984: uplinks that answer what they were not asked.

The daemon runs with 984-liar.c in the place of execsrv-uplink; there is no
registry.
"""
import importlib
import os
import shutil

import tokens
from client import BUILD, LIMIT, TMP, Server, check, main, say, wait_for

ask = importlib.import_module("7common").ask

SAID = 7                # streams, when a liar has said all of it
# What it says, and the states in which that may leave it.
CASES = {"refused-then-not": "waiting", "registered-then-not": "registered",
         "for-ever": "registering", "denied": "registering"}


def programs():
    folder = TMP + "/liars"
    os.mkdir(folder, 0o755)
    for name in ("execsrvd", "execsrv-worker"):
        shutil.copy("%s/%s" % (BUILD, name), folder)
    shutil.copy(BUILD + "/t/984-liar", folder + "/execsrv-uplink")
    return os.path.relpath(folder, BUILD) + "/execsrvd"


def configuration():
    path, secret = TMP + "/conf", tokens.secret("x")
    with open(path, "w", encoding="ascii") as f:
        if os.geteuid() == 0:
            f.write("RemoteUser nobody\n")
        for name in CASES:
            f.write("Uplink %s\n\tRegistryUrl http://127.0.0.1:9\n"
                    "\tEnvironmentId %s\n\tCredentialFile %s\n" % (
                        name, name, secret))
    return path


def unasked():
    """Of what is not an answer to a question nothing comes."""
    server = Server(program=programs(), args=("-f", configuration()))

    def said():
        rows = {r["environment"]: r for r in ask(server, "uplinks")}
        return all(r["streams"] == SAID for r in rows.values()) and rows
    rows = wait_for(said, LIMIT, "all is said")
    check(set(rows) == set(CASES), "%s" % rows)
    for name, state in CASES.items():
        row = rows[name]
        check(row["state"] == state, "%s: %s" % (name, row))
        check(row["restarts"] == 0, "%s: %s" % (name, row))
        say("  %s: %s" % (name, row["state"]))
    # The file is not read as often as it likes.
    check(2 <= rows["denied"]["in"] <= 9, "%s" % rows["denied"])
    check(server.process.poll() is None, "the master ended")
    server.stop()


main(unasked)
