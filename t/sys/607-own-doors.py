"""607: sandboxed commands and the listeners of their server."""
import importlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading

lib = importlib.import_module("2common")
box = importlib.import_module("6common")

DOORS = os.path.join(lib.BUILD, "t", "6doors")
# What works without a sandbox, which shows that the probe would find it.
OPEN = ("tcp", "tcp-any", "tcp-mapped", "tcp6", "tcp6-any", "tcp-dissolved",
        "tcp-passed", "fast-open", "wash", "wide", "local", "local-link",
        "local-passed")

# Run in the sandbox: what still has to work.
SPEAK = r"""
import socket, sys
REQUEST = (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
           b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
for what in sys.argv[1:]:
    if what.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(what)
    else:
        s = socket.create_connection(("127.0.0.1", int(what)))
    s.sendall(REQUEST)
    print(s.recv(12).decode())
listener = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(listener.getsockname())
two = listener.accept()[0]
one.sendall(b"to ourselves")
print(two.recv(12).decode())
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
udp.connect(udp.getsockname())
udp.send(b"by datagram")
print(udp.recv(12).decode())
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
print(s.get_inheritable(), s.getblocking())
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
print(s.getblocking())
"""
SPOKEN = ["to ourselves", "by datagram", "False True", "False"]
UPGRADED = "HTTP/1.1 101"


def port_of(url):
    return url.rsplit(":", 1)[1]


def keys_of(server):
    path = server.unix[5:]
    link = path + ".link"
    if not os.path.exists(link):
        os.link(path, link)
    return ["port=" + port_of(server.url), "path=" + path, "link=" + link,
            *server.six]


def attack(kind, server, run, policy):
    """All of them, from a sandbox."""
    for _ in range(5):
        out = run(DOORS, *keys_of(server), box=policy, limit=60)[0]
        found = box.verdicts(out)
        # Of many refused at once a slow machine drops some unheard.
        if not any(why == "status 0" for _, why in found.values()):
            break
    lib.check(sorted(found) == sorted(box.names_of(DOORS)),
              "%s: not all was tried: %s" % (kind.name, out))
    for name, (verdict, why) in found.items():
        lib.check(verdict == "refused" or name == "tcp-dissolved" or
                  (name.startswith("tcp6") and not server.six),
                  "%s: %s: %s: %s" % (kind.name, name, verdict, why))
        # Told in so many words, not cut off.
        lib.check(not name.startswith("tcp") or verdict == "skipped" or
                  why == "status 403", "%s: %s: %s" % (kind.name, name, why))
    print("%-20s %s" % (kind.name, ", ".join(
        "%s: %s" % (name, why) for name, (_, why) in found.items())),
          flush=True)
    for who in (r"127\.0\.0\.1:\d+", "unix pid .*"):
        lib.check(lib.wait_until(lambda who=who: re.search(
            who + ": refused: it is in a sandbox", server.text()), 20),
            "%s: the log does not tell: %s" % (kind.name,
                                               server.text()[-2000:]))


def others_work(kind, server, run, policy, python):
    """Other servers, of whomever; listeners and datagrams of one's own."""
    with lib.Server(owner=kind.owner, prefix=kind.prefix) as other:
        plain = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(plain,), daemon=True).start()
        out, code, _ = run(python, "-I", "-c", SPEAK, port_of(other.url),
                           str(plain.getsockname()[1]), box=policy)
        lib.check(code == 0 and out.split("\n")[:-1] ==
                  [UPGRADED, "it is plain "] + SPOKEN,
                  "%s: others: %s %s" % (kind.name, code, out))
        plain.close()


def serve(listener):
    try:
        s = listener.accept()[0]
        s.recv(4096)
        s.sendall(b"it is plain ")
        s.close()
    except OSError:
        pass


def unconfined(kind, server, run):
    """A command without a sandbox is its user, who may connect."""
    out = run(DOORS, *keys_of(server), *OPEN)[0]
    for name, (verdict, why) in box.verdicts(out).items():
        lib.check(verdict == "ESCAPED" or (name == "local-passed" and
                                           "403" in why),
                  "%s: without a sandbox: %s: %s" % (kind.name, name, why))


def control(kind, server, run, policy):
    """The control socket answers its user, but not out of a sandbox."""
    argv = [os.path.join(lib.BUILD, "execsrvctl"), "status"]
    env = {"EXECSRV_RUNTIME_DIR": server.rundir}
    open_to = run(*argv, env=env)[1] == 0
    out, code, _ = run(*argv, env=env, box=policy)
    lib.check(code != 0, "%s: the control socket: %s" % (kind.name, out))
    if open_to and kind.alone:
        lib.check(lib.wait_until(lambda: "control: pid" in server.text()),
                  "%s: the log does not tell of it" % kind.name)


def leaves_nothing(kind, server, client, run, policy):
    """What a command needs of its worker goes with it."""
    if os.geteuid() != 0:
        print("left out: nobody else sees the descriptors of a worker")
        return
    client.start("stay", "sleep", "1000", cwd="/", env={"PATH": box.PATH})
    worker = server.worker_of(server.pid_of(client, "stay"))

    def count():
        return len(os.listdir("/proc/%d/fd" % worker))
    before = count()
    for _ in range(20):
        run("true", box=policy)
    lib.check(lib.wait_until(lambda: count() <= before + 1),
              "%s: %d descriptors, before %d" % (kind.name, count(), before))
    client.call("process/terminate", processId="stay")


# Asks the server that listens there once it is told to.
LATER = r"""
import os, socket, sys, time
socket_path, answer = sys.argv[1:]
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
s = socket.socket(socket.AF_UNIX)
s.connect(socket_path)
s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
          b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
with open(answer + ".tmp", "wb") as f:
    f.write(s.recv(12))
os.rename(answer + ".tmp", answer)
"""


def after_a_crash(kind, place):
    """The master is gone, and what it had sandboxed is none of the next one's
    children: that lets it in no more than before."""
    python = lib.python_for(None if os.geteuid() != 0 else kind.uid)
    with box.session(kind) as (server, client), \
            kind.server() as later:
        for name, policy in (("boxed", box.workspace(place.ws, net=True)),
                             ("open", None)):
            client.start(name, python, "-I", "-c", LATER, later.unix[5:],
                         name + ".out", cwd=place.ws, sandbox=policy,
                         env={"PATH": box.PATH})
            lib.check(client.note(name, "process/output"), name + ": nothing")
        worker = server.worker_of(server.pid_of(client, "open"))
        os.kill(server.pid, signal.SIGKILL)
        lib.check(lib.wait_until(lambda: lib.stat_of(worker)[1] !=
                                 server.pid), "it is the master's yet")
        place.put(place.ws + "/go")
        for name, wanted in (("boxed", b"HTTP/1.1 403"),
                             ("open", b"HTTP/1.1 101")):
            path = pathlib.Path("%s/%s.out" % (place.ws, name))
            lib.check(lib.wait_until(path.exists) and path.read_bytes() ==
                      wanted, "%s: %s: not %s" % (kind.name, name, wanted))
        client.call("session/close")
        lib.check(lib.wait_until(lambda: not lib.lives(worker)),
                  "%s: the worker stays" % kind.name)


def supervised():
    """Where it cannot be done, it is not done without."""
    kind = next(box.chosen())
    supervised = (DOORS, "supervised", *kind.prefix)
    with lib.Server(owner=kind.owner, prefix=supervised) as server:
        with kind.client(server) as client:
            run = box.Runs(client)
            error = box.refused(run, "true", box=box.read_only("/", net=True))
            lib.check(error and "Device or resource busy" in error[1],
                      "under supervision: %s" % (error,))
            lib.check(run("true", box=box.read_only("/"))[1] == 0,
                      "under supervision: no sandbox without a network")

        def status():
            return subprocess.run(
                [os.path.join(lib.BUILD, "execsrvctl"), "status"], check=False,
                env=dict(os.environ, EXECSRV_RUNTIME_DIR=server.rundir),
                capture_output=True, text=True).stdout
        lib.check(lib.wait_until(
            lambda: "no network in it while we listen on ws: Device or "
            "resource busy" in status()), "status: " + status())


def has_six():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        return ("--listen", "ws://[::1]:0")
    except OSError:
        return ()


SIX = has_six()
for kind in box.chosen():
    with box.session(kind, *SIX) as (server, client):
        server.six = ["port6=" + port_of(
            server.child.stdout.readline().decode().strip())] if SIX else []
        run = box.Runs(client)
        if not box.can(kind, client):
            continue
        with box.Place(kind.uid) as place:
            policy = box.read_only("/", net=True)
            attack(kind, server, run, policy)
            others_work(kind, server, run, policy,
                        lib.python_for(None if os.geteuid() != 0 else
                                       kind.uid))
            unconfined(kind, server, run)
            control(kind, server, run, policy)
            leaves_nothing(kind, server, client, run, policy)
            if not kind.prefix:
                after_a_crash(kind, place)
if box.ran:
    supervised()
box.finish()
