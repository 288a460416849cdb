"""MessageRate slows a client and fails nothing; DefaultSandbox is for whom asks
for none."""
import base64
import os
import shutil
import tempfile
import time

import client as lib
from client import Client, Closed, RpcError, Server, check, connect

RATE = 20
CLIENTS = 20


def message_rate():
    """Three seconds' worth of requests: all answered, not at once."""
    server = Server("MessageRate=%d" % RATE)
    try:
        with connect(server.url) as client:
            client.start("p", "sleep", "1000")
            began = time.monotonic()
            ids = [client.request("process/read", {
                "processId": "p", "afterSeq": 0, "waitMs": 0})
                for _ in range(3 * RATE)]
            for n in ids:
                client.answer(n, 30 * lib.SCALE)
            took = time.monotonic() - began
            # The burst is one second's; what is left takes two.
            check(took > 1.5, "%d requests took %.2f s" % (len(ids), took))
        # It is per session: the next one begins anew.
        lib.probe(server.url)
    finally:
        server.stop()
    # And nobody is slowed without it.
    server = Server()
    try:
        with connect(server.url) as client:
            client.start("p", "sleep", "1000")
            for n in [client.request("process/read", {
                    "processId": "p", "afterSeq": 0, "waitMs": 0})
                    for _ in range(2000)]:
                client.answer(n)
    finally:
        server.stop()


def many_at_once():
    """Those that were let in at the same time are one and the rest."""
    server = Server("MaxSessionsPerUser=1")
    clients = [Client(server.url) for _ in range(CLIENTS)]
    numbers = [c.request("initialize", {"clientName": "t/sys"})
               for c in clients]
    left = []
    for c, n in zip(clients, numbers):
        try:
            c.answer(n)
            left.append(c)
        except RpcError as e:
            check("too many sessions" in str(e), "refused: %s" % e)
    lib.say("  %d of %d were let in" % (len(left), CLIENTS))

    def are_open():
        for c in left:
            try:
                c.pump()
            except Closed as e:
                check(e.code == 1001, "closed: %s" % e)
        return [c for c in left if not c.ended]

    try:
        lib.wait_for(lambda: len(are_open()) == 1, lib.LIMIT, "only one")
        last = are_open()[0]
        last.send({"method": "initialized", "params": {}})
        last.run("p", "true")
        lib.wait_for(lambda: server.log().count(
            ": ended: too many sessions") == len(left) - 1, lib.LIMIT,
            "told why")
    finally:
        for c in clients:
            c.close()
        server.stop()


def command(client, name, folder, script, sandbox=None):
    """The status of a script in a folder."""
    client.notes.clear()
    client.start(name, "sh", "-c", script, cwd="file://" + folder,
                 **({"sandbox": sandbox} if sandbox else {}))
    while True:
        client.until(lambda: client.notes)
        m = client.notes.popleft()
        if m["method"] == "process/exited" and \
                m["params"]["processId"] == name:
            return m["params"]["exitCode"]


def write(client, path, sandbox=None):
    """Whether fs/writeFile does it."""
    params = {"path": "file://" + path,
              "dataBase64": base64.b64encode(b"x").decode()}
    if sandbox:
        params["sandbox"] = sandbox
    try:
        client.call("fs/writeFile", params)
        return True
    except lib.RpcError:
        return False


FULL = {"type": "danger-full-access"}


def default_sandbox():
    home = tempfile.mkdtemp(dir="/var/tmp")
    work = os.path.join(home, "work")
    other = tempfile.mkdtemp(dir="/var/tmp")    # not /tmp, which may be written
    os.mkdir(work)
    os.environ["HOME"] = home
    touch = "echo x >%s" % os.path.join(other, "f")
    try:
        server = Server("DefaultSandbox=read-only")
        with connect(server.url) as c:
            if command(c, "try", work, "exit 7") != 7:
                lib.skip("no sandbox can be made here: " + server.log())
            check(command(c, "a", work, "echo x >f") != 0, "it is read-only")
            check(command(c, "b", work, "echo x >f", FULL) == 0,
                  "the client's choice counts")
            check(not write(c, work + "/g"), "file calls as well")
            check(write(c, work + "/g", FULL), "unless they say otherwise")
            c.call("fs/readFile", {"path": "file://" + work + "/g"})
        server.stop()
        server = Server("DefaultSandbox=workspace-write")
        with connect(server.url) as c:
            check(command(c, "a", work, "echo x >h") == 0, "the workspace")
            check(command(c, "b", work, touch) != 0, "outside of it")
            check(write(c, home + "/i"), "a file call, in the home folder")
            check(not write(c, other + "/i"), "a file call, outside")
        server.stop()
        server = Server()
        with connect(server.url) as c:
            check(command(c, "a", work, touch) == 0, "none by default")
        server.stop()
    finally:
        for top in (home, other):
            shutil.rmtree(top)


lib.main(message_rate, many_at_once, default_sandbox)
