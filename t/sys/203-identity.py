"""203: whose session it is."""
import contextlib
import grp
import importlib
import os
import pwd
import random
import socket
import struct
import sys
import time

lib = importlib.import_module("2common")

LOOK = ("import os, json; print(json.dumps([os.getresuid(), os.getresgid(), "
        "sorted(os.getgroups()), os.getcwd(), os.stat('/proc/self').st_uid]))")
SHOW = ["/bin/sh", "-c", 'echo "$HOME,$SHELL,$USER,$LOGNAME,$PATH,$SECRET"']
POLICY = {"inherit": "all", "ignoreDefaultExcludes": True, "exclude": [],
          "set": {}, "includeOnly": []}


def status_of(url, uid, resume=None):
    """The HTTP status that a client of that user gets."""
    try:
        lib.Client(url, uid=uid, resume=resume).drop()
        return 101
    except ConnectionError as e:
        words = str(e).split()
        if words[:2] == ["upgrade", "refused:"]:
            return int(words[2])
        raise


def check_session(url, uid, what, want_env):
    import json
    with lib.Client(url, uid=uid) as client:
        client.start("look", lib.python_for(uid), "-I", "-c", LOOK)
        text, code = client.output("look")
        lib.check(code == 0, "%s: %r" % (what, text))
        uids, gids, groups, _, shown = json.loads(text)
        try:
            entry = pwd.getpwuid(uid)
            gid = entry.pw_gid
            want = sorted(set(os.getgrouplist(entry.pw_name, gid)))
        except KeyError:
            gid, want = uid, []
        if uid == 0:
            want = sorted(os.getgroups())
        lib.check(uids == [uid] * 3, "%s: uids %s" % (what, uids))
        lib.check(gids == [gid] * 3, "%s: gids %s" % (what, gids))
        lib.check(sorted(set(groups) | {gid}) == sorted(set(want) | {gid}),
                  "%s: groups %s, not %s" % (what, groups, want))
        lib.check(shown == uid, "%s: /proc shows %s" % (what, shown))
        client.start("env", *SHOW, envPolicy=POLICY)
        text, _ = client.output("env")
        home, shell, user, logname, path, secret = \
            text.decode().strip().split(",")
        for name, got in (("HOME", home), ("SHELL", shell), ("USER", user)):
            if want_env:
                lib.check(got == want_env[name], "%s: %s is %r, not %r" % (
                    what, name, got, want_env[name]))
        if uid != 0:
            lib.check(logname == user, "%s: LOGNAME %r" % (what, logname))
            lib.check(secret == "", "%s: root's environment shows" % what)
            lib.check("/bin" in path, "%s: PATH %r" % (what, path))
        info = client.call("environment/info")
        where = want_env["HOME"] if want_env else os.getcwd()
        if uid != 0 and not os.path.isdir(where):
            where = "/"
        # The worker's own cwd and user are what the client is told.
        client.start("sleep", "sleep", "1000", env={"PATH": "/usr/bin:/bin"})
        pid = client.pid_of("sleep")
        worker = lib.stat_of(pid)[1]
        lib.check(os.stat("/proc/%d" % pid).st_uid == uid,
                  "%s: the process belongs to somebody else" % what)
        status = lib.read_proc(worker, "status").decode()
        row = [l for l in status.splitlines() if l.startswith("Uid:")][0]
        real, effective, saved, files = [int(n) for n in row.split()[1:]]
        lib.check(effective == files == uid and real == saved,
                  "%s: the worker: %s" % (what, row))
        maps = lib.read_proc(worker, "maps").decode()
        lib.check("libc" in maps and "libnss_" not in maps,
                  "%s: the worker has a name service" % what)
        # A user's commands must not be able to signal it.
        lib.check(real == uid if uid == 0 else 0x7fc00000 < real < 2 ** 31,
                  "%s: the worker: %s" % (what, row))
        if uid != 0:
            for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                row = [l for l in status.splitlines()
                       if l.startswith(key)][0]
                lib.check(int(row.split()[1], 16) == 0,
                          "%s: the worker: %s" % (what, row))
            cwd = os.readlink("/proc/%d/cwd" % worker)
            lib.check(cwd == where, "%s: cwd %s, not %s" % (what, cwd,
                                                           where))
        return info


def env_of(uid):
    entry = pwd.getpwuid(uid)
    return {"HOME": entry.pw_dir, "SHELL": entry.pw_shell,
            "USER": entry.pw_name}


def other_user():
    """A user of the data base with groups of its own, if there is one."""
    best = None
    for entry in pwd.getpwall():
        if entry.pw_uid in (0, lib.NOBODY) or entry.pw_uid >= 60000:
            continue
        groups = [g for g in grp.getgrall() if entry.pw_name in g.gr_mem]
        if best is None or groups:
            best = entry.pw_uid
    return best


def unknown_user():
    taken = {e.pw_uid for e in pwd.getpwall()}
    return next(u for u in range(23000, 24000) if u not in taken)


# --- what happens when -------------------------------------------------------

def root_master():
    print("a root master", flush=True)
    other, unknown = other_user(), unknown_user()
    with lib.Server(unix=True, env={"SECRET": "of root"}) as server:
        for url in (server.url, server.unix):
            kind = url.split(":")[0]
            check_session(url, lib.NOBODY, kind + " nobody",
                          env_of(lib.NOBODY))
            check_session(url, other, kind + " user", env_of(other))
            check_session(url, 0, kind + " root", None)
        # Who is in no data base: the socket tells a group, TCP does not.
        check_unknown(server, unknown)
        check_resume(server, lib.NOBODY, other)
        check_resume(server, lib.NOBODY, 0)
        hasty(server, lib.NOBODY, 500)


def check_unknown(server, uid):
    """A uid without a user: never root, and in no group but its client's."""
    for url in (server.url, server.unix):
        try:
            with lib.Client(url, uid=uid) as client:
                client.start("id", "/bin/sh", "-c", "id -u; id -G")
                text, _ = client.output("id")
                lib.check(text.split() == [b"%d" % uid, b"%d" % os.getegid()],
                          "an unknown uid runs as %r" % text)
        except ConnectionError:
            lib.check(url == server.url, "an unknown uid is not served")


def refusal(url, uid, resume):
    """The error for a resume, and how the connection looks after it."""
    began = time.monotonic()
    client = None
    try:
        client = lib.Client(url, uid=uid, resume=resume)
        client.drop()
        return "resumed", 0
    except lib.RpcError as e:
        return str(e), time.monotonic() - began
    except ConnectionError as e:
        return str(e), time.monotonic() - began


def check_resume(server, owner, thief):
    """Another's session looks exactly like one that never was."""
    unknown = "%032x" % random.getrandbits(128)
    for state in ("attached", "detached", "released"):
        client = lib.Client(server.url, uid=owner)
        session = client.session
        if state != "released":
            client.start("p", "sleep", "1000", env={"PATH": os.environ["PATH"]})
        if state != "attached":
            client.drop()
            word = "detached"
            lib.wait_until(lambda: server.text().count(word))
        for url in (server.url, server.unix):
            theirs = refusal(url, thief, session)[0]
            nobodys = refusal(url, thief, unknown)[0]
            lib.check(theirs.replace(session, "X") ==
                      nobodys.replace(unknown, "X"),
                      "%s: a foreign session: %s, an unknown one: %s" % (
                          state, theirs, nobodys))
        # Its owner comes back all the same.
        if state == "attached":
            lib.check(client.call("environment/status"),
                      "the owner was disturbed")
            client.drop()
        deadline = time.monotonic() + lib.LIMIT * lib.SCALE
        while True:
            try:
                with lib.Client(server.url, uid=owner,
                                resume=session) as again:
                    lib.check(again.session == session, "another session")
                break
            except lib.RpcError as e:
                if e.code != -32010 or time.monotonic() > deadline:
                    lib.fail("%s: the owner cannot resume: %s" % (state, e))
                    break


UPGRADE = (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
           b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
HELLO = b'{"id":1,"method":"initialize","params":{"clientName":"t"}}'
READY = b'{"method":"initialized"}'


def frame(data):
    head = b"\x81" + (bytes([0x80 | len(data)]) if len(data) < 126 else
                      bytes([0x80 | 126]) + struct.pack(">H", len(data)))
    return head + b"\0\0\0\0" + data


def hasty(server, uid, rounds):
    """
    Clients that ask for a session, run something and are gone before they
    are looked at: their sockets then show uid 0 (TIME-WAIT, orphans).
    """
    folder = lib.temp_dir(0o777)
    os.chmod(folder, 0o777)
    host, port = server.url[5:].split(":")
    begins = server.text().count("started:")
    for n in range(rounds):
        start = ('{"id":2,"method":"process/start","params":{"processId":"p",'
                 '"argv":["/bin/sh","-c",": >%s/%d"],"cwd":"file:///tmp",'
                 '"env":{},"tty":false,"pipeStdin":false,"arg0":null}}'
                 % (folder, n)).encode()
        with lib.as_uid(uid), socket.socket() as s:
            s.connect((host, int(port)))
            with contextlib.suppress(OSError):
                if n % 5:               # else: nothing is said
                    s.sendall(UPGRADE + frame(HELLO) + frame(READY) +
                              frame(start))
                if n % 7 == 0 and n % 5:
                    s.recv(1)           # it has been let in
                if n % 3 == 1:
                    s.shutdown(socket.SHUT_WR)
                elif n % 3 == 2 and n % 2:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
    # All of them are settled when one more has been served to its end.
    with lib.Client(server.url, uid=uid) as client:
        client.start("p", "/bin/true")
        client.output("p")
    quiet = lambda: not [
        w for w in server.workers()
        if b"\nState:\tR" in lib.read_proc(w, "status")]
    lib.wait_until(quiet, 10)
    files = os.listdir(folder)
    for name in files:
        owner = os.stat(os.path.join(folder, name)).st_uid
        lib.check(owner == uid, "a hasty client ran as uid %d" % owner)
    print("%d hasty clients: %d commands ran, %d sessions" % (
        rounds, len(files), server.text().count("started:") - begins))


def no_root():
    print("PermitRootSession no", flush=True)
    with lib.Server("-o", "PermitRootSession=no", unix=True) as server:
        for url in (server.url, server.unix):
            lib.check(status_of(url, 0) == 403, "root is served")
            lib.check(status_of(url, lib.NOBODY) == 101,
                      "others are not served")


def own_master():
    """A master without rights serves its own user only."""
    print("a master without rights", flush=True)
    other = other_user()
    with lib.Server(unix=True, owner=lib.NOBODY, prefix=(
            "setpriv", "--reuid", str(lib.NOBODY), "--regid",
            str(lib.NOBODY), "--clear-groups")) as server:
        for uid, want in ((lib.NOBODY, 101), (0, 403), (other, 403)):
            got = status_of(server.url, uid)
            lib.check(got == want, "tcp: uid %d gets %d" % (uid, got))
        lib.check(status_of(server.unix, lib.NOBODY) == 101,
                  "unix: the owner is not served")
        # The socket's mode keeps others out; root is told.
        lib.check(status_of(server.unix, 0) == 403, "unix: root is served")
        try:
            status_of(server.unix, other)
            lib.fail("unix: another user may connect")
        except PermissionError:
            pass
        client = lib.Client(server.url, uid=lib.NOBODY)
        for uid in (0, other):
            got = status_of(server.url, uid, resume=client.session)
            lib.check(got == 403, "a foreign resume gets %d" % got)
        client.drop()


if os.geteuid() == 0:
    # They stay with root.
    os.setgroups([0, 1, 4711])
root_master()
no_root()
own_master()
lib.finish()
