"""935: users without a number in the server's user namespace; and root."""
import importlib
import os
import subprocess
import sys

import tokens
from client import (BUILD, Client, Closed, Server, TMP, check, main, say,
                    skip, wait_for, LIMIT, TRIES)

lib = importlib.import_module("2common")
USERNS = (sys.executable, os.path.join(os.path.dirname(__file__),
                                       "userns.py"))
DAEMON, OUTSIDER, NOBODY = 1, 23456, 65534
FEW = ("0 0 1000", "0 0 1000")
AND_NOBODY = ("0 0 1000;65534 65534 1",) * 2


def came_in(url, uid, **more):
    """The status of the upgrade of a client of that user."""
    with lib.as_uid(uid):
        try:
            client = Client(url, **more)
        except Closed as e:
            return str(e).split()[1]
    client.initialize()
    client.sock.close()
    return "101"


def ids_of(url, uid, **more):
    with lib.as_uid(uid):
        client = Client(url, **more)
    client.initialize()
    out = client.run("id", "id", "-u")[0]
    client.sock.close()
    return out.decode().strip()


def namespace(maps, *options, prefix=(), **more):
    """A server in a namespace with those maps; by TCP and a Unix socket."""
    return Server(*options, prefix=(*USERNS, *maps, *prefix),
                  listen=("ws://127.0.0.1:0", "unix:%s/sock%d" % (
                      TMP, Server.count)), **more)


def control(server, uid):
    """What execsrvctl says to a user: (exit code, output)."""
    for _ in range(TRIES):
        with lib.as_uid(uid):
            done = subprocess.run(
                [BUILD + "/execsrvctl", "--json", "sessions"], check=False,
                text=True,
                env={**os.environ, "EXECSRV_RUNTIME_DIR": server.run},
                capture_output=True, user=uid)
        if "not answer" not in done.stderr:
            break
    return done.returncode, done.stdout + done.stderr


def outsiders():
    """A root's server: who is in its map comes in, who is not does not."""
    token = tokens.new()
    server = namespace(FEW, tokens.option("ci", token, user="daemon"))
    for url in server.urls:
        check(came_in(url, DAEMON) == "101", "a user of the map: " + url)
        check(ids_of(url, DAEMON) == str(DAEMON), "as somebody else")
        for uid in (OUTSIDER, NOBODY):
            check(came_in(url, uid) == "401", "uid %d: %s" % (uid, url))
            check(ids_of(url, uid, token=token) == str(DAEMON),
                  "uid %d with a token: %s" % (uid, url))
    server.stop()
    server = namespace(FEW)
    for url in server.urls:
        for uid in (OUTSIDER, NOBODY):
            check(came_in(url, uid) == "403", "uid %d: %s" % (uid, url))
    check(server.log().count("refused: unknown user") == 4, server.log())
    server.stop()


def own_number():
    """A service of the user whose number everybody outside has, too."""
    token = tokens.new()
    server = namespace(AND_NOBODY, tokens.option("ci", token), prefix=(
        "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
        "--clear-groups"))
    url = server.urls[0]
    for uid in (OUTSIDER, NOBODY, DAEMON):
        check(came_in(url, uid) == "401", "uid %d" % uid)
    check(ids_of(url, OUTSIDER, token=token) == str(NOBODY), "by a token")
    # Into its run directory gets only who it is itself.
    check(control(server, NOBODY)[0] == 0, control(server, NOBODY))
    check(control(server, OUTSIDER)[0] != 0, control(server, OUTSIDER))
    server.stop()


def control_socket():
    """Whom a group lets in there is nobody's operator for all that."""
    server = namespace(AND_NOBODY, "ControlGroup=nogroup")
    os.chown(server.run, 0, 0)
    with lib.as_uid(DAEMON):
        client = Client(server.urls[1])
    client.initialize()
    wait_for(lambda: client.session[:4] in control(server, 0)[1], LIMIT,
             "root sees it")
    os.chmod(server.run + "/control.sock", 0o666)
    code, out = control(server, OUTSIDER)
    check(client.session[:4] not in out, "%d %s" % (code, out))
    client.sock.close()
    server.stop()


def root():
    """PermitRootSession local: by Unix sockets, and where --listen asks."""
    for permit, by_file, by_switch in (("local", "403", "101"),
                                       ("yes", "101", "101"),
                                       ("no", "403", "403")):
        path = "%s/root%d" % (TMP, Server.count)
        server = Server("Foreground=yes", "PermitRootSession=" + permit,
                        "Listen=ws://127.0.0.1:0", "Listen=unix:" + path,
                        listen=())
        url = server.line(LIMIT)
        check(came_in(url, 0) == by_file, "a file's TCP: " + permit)
        check(came_in("unix:" + path, 0) == by_switch, "Unix: " + permit)
        check(came_in(url, DAEMON) == "101", "another user: " + permit)
        server.stop()
        server = Server("PermitRootSession=" + permit)
        check(came_in(server.url, 0) == by_switch, "--listen: " + permit)
        server.stop()


if os.geteuid() != 0:
    skip("wants root")
if subprocess.run([*USERNS, *FEW, "true"], check=False).returncode != 0:
    say("left out: no user namespaces: only root's sessions")
    main(root)
else:
    main(outsiders, own_number, control_socket, root)
