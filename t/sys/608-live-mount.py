"""608: sandboxed commands on a file system that is not local, but answers."""
import importlib
import os
import threading
import time

import fusefs

lib = importlib.import_module("2common")
box = importlib.import_module("6common")

if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
    lib.skip("wants root and /dev/fuse")
fusefs.own_mounts()
POINT = lib.temp_dir(0o755)
FILES = {"hello": b"#!/bin/sh\necho hello\n"}
fs = fusefs.FuseFs(POINT, FILES)


def starts(client, policy, how):
    """One command from there, or in there, which has its say."""
    argv = [POINT + "/hello"] if how == "program" else ["echo", "hello"]
    client.start("one", *argv, cwd=POINT if how == "cwd" else "/",
                 sandbox=policy, env={"PATH": box.PATH})
    out, code = client.output("one")
    lib.check((out, code) == (b"hello\n", 0),
              "%s: %r, exit code %s" % (how, out, code))


def cut(kind, server, how):
    """The connection is cut after it: the session is there to be resumed."""
    policy = box.read_only("/")
    with kind.client(server) as client:
        starts(client, policy, how)
        session = client.session
        client.drop()
    with resumed(kind, server, session) as client:
        lib.check(client.session == session, "%s: not resumed" % how)
        client.call("session/close")


def resumed(kind, server, session):
    """A client of it, as soon as the loss of the one before is noticed."""
    deadline = time.monotonic() + lib.LIMIT
    while True:
        try:
            return kind.client(server, resume=session)
        except lib.RpcError as e:
            lib.check(e.code == -32010 and time.monotonic() < deadline,
                      "resume: %s" % e)
        time.sleep(0.02)


def waits(kind, server):
    """It is cut while one is looked up, and another is waiting for that."""
    policy = box.read_only("/")
    fs.hold = threading.Event()
    with kind.client(server) as client:
        session = client.session
        for name in ("a", "b"):
            client.send("process/start", processId=name,
                        argv=["echo", name], cwd=box.uri(POINT), env={},
                        tty=False, pipeStdin=False, arg0=None,
                        sandbox=policy)
        lib.check(fs.asked.wait(lib.LIMIT), "nobody asks about the folder")
        client.drop()
    with resumed(kind, server, session) as client:
        fs.hold.set()
        starts(client, policy, "cwd")
    fs.hold = None


for kind in box.chosen():
    if kind.owner or kind.alone:
        continue
    with kind.server() as server:
        with kind.client(server) as client:
            if not box.can(kind, client):
                continue
        for _ in range(5):
            cut(kind, server, "cwd")
            cut(kind, server, "program")
            waits(kind, server)
        lib.check("died" not in server.text() and
                  "signal" not in server.text(),
                  "%s: %s" % (kind.name, server.text()[-2000:]))
fusefs.unmount(POINT)
box.finish()
