"""execsrv_serve()."""
import asyncio
import importlib
import os
import signal
import socket
import subprocess

from client import (BUILD, LIMIT, TMP, a_word, check, connect, held_port,
                    is_alive, wait_for, with_word)

embed = importlib.import_module("75common")
lib = importlib.import_module("8common")

TREE = ("trap '' TERM HUP INT; setsid sleep %(w)s & (setsid sh -c 'sleep "
        "%(w)s & sleep %(w)s' &) ; sleep %(w)s")


def served(*orders, env=None):
    """A program with a server, and what that showed."""
    program = embed.Embedder(env)
    for order in orders:
        program.do(*order.split(" ", 1))
    return program, program.do("serve")


def tree(program):
    word = a_word("tree")
    program.do("start", TREE % {"w": word})
    wait_for(lambda: len(with_word(word)) == 4, LIMIT, "four sleepers")
    return word


# Cases of 8common, which need no loop.

async def an_address(rig):
    """On a free port, whoever comes; no folder; it ends as told."""
    os.mkdir(rig.dir + "/user")
    program, (url, ready) = served(env={
        "XDG_RUNTIME_DIR": rig.dir + "/user",
        "EXECSRV_RUNTIME_DIR": rig.dir + "/user/env"})
    check(url.startswith("ws://127.0.0.1:") and not url.endswith(":0") and
          ready == "ready 1", url)
    program.do("open 0")
    check(program.run("echo on; exit 7") == ("on", 7), "a command")
    word = tree(program)
    with connect(url) as other:
        check(other.run("p", "echo", "other")[0] == b"other\n", "another")
    check(not os.listdir(rig.dir + "/user"), "a folder")
    below = program.below()
    check(program.do("stop 20000") == ["status 0"], "it ends")
    wait_for(lambda: not with_word(word) and not any(map(is_alive, below)),
             LIMIT, "all of it ends")
    program.end()


async def addresses(rig):
    """As many as asked for, and those of a configuration."""
    path = rig.dir + "/socket"
    program, (url, named, ready) = served("listen ws://127.0.0.1:0",
                                          "listen unix:" + path)
    check(named == "unix:" + path and ready == "ready 1", named)
    program.do("open 1")
    check(program.run("echo on")[0] == "on", "by the path")
    program.do("stop 20000")
    check(not os.path.exists(path), "the socket stays")
    program.end()
    with open(rig.dir + "/conf", "w", encoding="ascii") as f:
        f.write("Listen unix:%s\nUmask 0077\n" % path)
    os.chmod(rig.dir + "/conf", 0o600)
    for order in ("file %s/conf" % rig.dir,
                  "config Listen unix:%s\\nUmask 0077" % path):
        program, (named, ready) = served(order)
        check(named == "unix:" + path and ready == "ready 1", named)
        program.do("open 0")
        check(program.run("umask")[0] == "0077", "its settings")
        program.end()


async def killed(rig):
    """SIGKILL to the program, or to the server."""
    for whom in "program", "server":
        program, _ = served()
        program.do("open 0")
        word = tree(program)
        below = program.below()
        server, = program.servers()
        os.kill(program.pid if whom == "program" else server, signal.SIGKILL)
        wait_for(lambda w=word, b=below: not with_word(w) and not any(
            map(is_alive, b)), LIMIT, "all are gone: " + whom)
        if whom == "server":
            why = program.fails("await")
            check(why == "the server was killed by signal 9", why)
            check(program.do("stop 20000") == ["status 137"], "its status")
            program.end()


async def stubborn(rig):
    """One that does not stop in time is killed."""
    program, _ = served()
    server, = program.servers()
    os.kill(server, signal.SIGSTOP)
    below = program.below()
    check(program.do("stop 100") == ["status 137"], "killed")
    wait_for(lambda: not any(map(is_alive, below)), LIMIT, "all of it")
    program.end()


async def errors(rig):
    """What is wrong is said: by us, by it, or by the system."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for orders, wanted in (
                (["config Nonsense yes"], '/dev/fd/3:1: unknown keyword'),
                (["config LogLevel warning\\nUmask 999"], "/dev/fd/3:2"),
                (["file %s/none" % rig.dir], "none: No such file"),
                (["config #", "file /x"], "exclude each other"),
                (["listen ws://127.0.0.1:%d" % port], "in use"),
                (["listen ws://192.0.2.1:0"], "not a loopback address"),
                (["listen http://127.0.0.1:0"], "neither ws:// nor unix:"),
                (["listen stdio"], "neither ws:// nor unix:"),
                (["listen ws://127.0.0.1"], "no port"),
                (["config #"], "nothing to listen on"),
                (["registry http://127.0.0.1:1"], "given together"),
                (["credential x"], "need a registry"),
                (["registry http://127.0.0.1:1", "environment e",
                  "credential a b"], "printable ASCII without")):
            program = embed.Embedder()
            for order in orders:
                program.do(*order.split(" ", 1))
            why = program.fails("serve")
            check(wanted in why, "%s: %s" % (orders, why))
            wait_for(lambda p=program: not p.below(), LIMIT,
                     "%s: nothing runs" % orders)
            program.end()
    program = embed.Embedder({"EXECSRVD": rig.dir + "/none"})
    why = program.fails("serve")
    check("none: No such file" in why, why)
    program.end()


async def a_control_socket(rig):
    """Where one is wanted, the operator's commands work; its settings are read
    again as they were."""
    folder = rig.dir + "/control"
    program, _ = served("control " + folder,
                        "config Listen ws://127.0.0.1:0\\nUmask 077\\n"
                        "PermitRootSession yes")
    program.do("open 0")

    def ctl(command):
        code = 4
        while code == 4:            # the daemon stood still
            done = subprocess.run(
                [BUILD + "/execsrvctl", "-R", folder, command],
                capture_output=True, timeout=LIMIT, check=False)
            code = done.returncode
        check(code == 0, "%s: %s" % (command, done.stderr))
        return done.stdout
    # It hears of a session when that has begun.
    wait_for(lambda: b"libexecsrv" in ctl("sessions"), LIMIT, "a session")
    ctl("reload")
    program.do("open 0")
    check(program.run("umask")[0] == "0077", "its settings")
    program.end()
    check(not os.path.exists(folder), "it stays")


async def many_lines(rig):
    """A log that nobody reads holds up nothing; later it goes on."""
    program, (url, _) = served("config LogLevel debug\\n"
                               "PermitRootSession yes\\nListen "
                               "ws://127.0.0.1:0")
    for _ in range(300):
        with connect(url) as c:
            c.call("environment/status", {})
    program.do("open 0")
    check(program.run("echo on")[0] == "on", "it serves")
    lines = program.tell("stop", "20000")
    check(lines[-2:] == ["status 0", "ok"], "%s" % lines[-2:])
    check(sum(n.startswith("log ") for n in lines) > 100, "its log")
    check(all(n.split(" ", 3)[2].endswith(":") for n in lines[:-2]),
          "%s" % lines[:5])
    program.end()


def remote(rig, *orders):
    """A program that is to register."""
    program = embed.Embedder({k: "" for k in os.environ
                              if k.lower().endswith("_proxy")})
    for order in ("registry " + rig.registry.url,
                  "environment " + rig.environment,
                  "config RemoteUser " + lib.session_user() if
                  os.getuid() == 0 else "config #", *orders):
        program.do(*order.split(" ", 1))
    return program


async def registered(rig):
    """An environment under a program: the credential comes by standard input,
    a session runs commands, the end of the program is that of all."""
    await rig.new_registry()
    program = remote(rig, "credential " + rig.token)
    shown = await asyncio.to_thread(program.do, "serve")
    check(shown[-1] == "ready 1" and shown[0].startswith("registration "),
          "%s" % shown)
    await asyncio.to_thread(program.do, "until", "connected")
    await rig.probe()
    below = program.below()
    for pid in below:
        for name in "cmdline", "environ":
            try:
                with open("/proc/%d/%s" % (pid, name), "rb") as f:
                    check(rig.token.encode() not in f.read(), "it is seen")
            except (PermissionError, FileNotFoundError, ProcessLookupError):
                pass                # not ours to see, or ended meanwhile
    os.kill(program.pid, signal.SIGKILL)
    await lib.until(lambda: not any(map(is_alive, below)), LIMIT, "all")


async def another_credential(rig):
    """The first is refused: the state says so, another one is taken."""
    await rig.new_registry()
    program = remote(rig, "credential wrong-" + rig.token[:8], "patience -1")
    await asyncio.to_thread(program.do, "serve")
    await asyncio.to_thread(program.do, "until", "waiting: authentication")
    program.do("renew", rig.token)
    await asyncio.to_thread(program.do, "until", "connected")
    check("Invalid" in program.fails("renew", "with blanks"), "no credential")
    await rig.probe()
    await asyncio.to_thread(program.end)


async def not_registered(rig):
    """Not in time, and not at all: what it waits for, and why it ended."""
    port, kept = held_port()
    rig.registry = type("Nobody", (), {"url": "http://127.0.0.1:%d" % port})
    program = remote(rig, "credential x", "patience 1500")
    with kept:
        why = await asyncio.to_thread(program.fails, "serve")
    lib.in_time("no answer from the registry" in why, why)
    check("was not ready within" in why, why)
    program.end()
    rig.registry = None
    await rig.new_registry()
    program = remote(rig, "credential wrong")
    why = await asyncio.to_thread(program.fails, "serve")
    check("status 1" in why and "refused" in why, why)
    program.end()


lib.main(an_address, addresses, killed, stubborn, errors, a_control_socket,
         many_lines, registered, another_credential, not_registered)
