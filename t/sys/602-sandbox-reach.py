"""602: attacks of commands on processes, the network, the kernel and
terminals."""
import contextlib
import ctypes
import importlib
import os
import socket
import sys
import time

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib = box.lib

# Root's files in /proc are root's, where it is not a /proc of its own and where
# files are free. It can look up numbers and do no harm.
OF_ROOT = {"fds"}
FREE_TO_ROOT = {"fds", "oom", "refs", "core_filter"}
# What an ordinary command may not do to its worker.
ON_WORKER = ("kill_0 stop stop_thread queue stop_group stop_by_fd attach "
             "seize read_memory write_memory mem environ maps auxv stack fds "
             "fd_1 exe cwd root ns_mnt get_fd enter advise kcmp limit oom "
             "refs core_filter control").split()
# Nor a sandboxed one, whomever it sees.
SLOWING = ["priority", "idle", "affinity", "ionice"]
TERMINAL = ["tiocsti", "tiocsti_high", "tioclinux", "other_terminals"]
ALL = ["stop_all", "kill_all"]


def abi():
    """The version of Landlock; 0 without it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, libc.syscall(444, None, 0, 1))


DATAGRAMS = ["datagram", "datagram_raw", "datagram_pair",
             "datagram_raw_pair"]


@contextlib.contextmanager
def host_things(place):
    """
    Sockets, a segment and a file of this machine: (keys), first those that
    namespaces do not take away.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x65780000 + os.getpid() % 0xffff
    segment = libc.shmget(key, 4096, 0o1666)
    if segment == -1:
        tried.lacking["shm_of_host"] = "no segment can be made"
    name = "execsrv-602-%d" % os.getpid()
    shm = "/dev/shm/" + name
    with open(shm, "w", encoding="ascii") as f:
        f.write("host\n")
    os.chmod(shm, 0o666)
    with socket.socket(socket.AF_UNIX) as s, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as takes:
        s.bind("\0" + name)
        s.listen()
        takes.bind(place.out + "/datagrams")
        os.chmod(place.out + "/datagrams", 0o777)
        takes.setblocking(False)
        try:
            yield ["abstract=" + name,
                   "datagram=" + place.out + "/datagrams",
                   "devshm=" + shm] + (
                       ["shm=%d" % key] if segment != -1 else [])
            try:
                lib.check(False, "a datagram came: %r" % takes.recv(100))
            except BlockingIOError:
                pass
        finally:
            os.unlink(shm)
            if segment != -1:
                libc.shmctl(segment, 0, None)


def attack(what, kind, run, policy, *keys, names=(), but=(), allowed=(),
           **more):
    options = ["-x", ",".join(but)] if but else []
    out, code, _ = run(box.REACH, *options, *keys, *names, box=policy,
                       limit=120, **more)
    what = "%s: %s" % (kind.name, what)
    lib.check(code in (0, 1), "%s: %s %s" % (what, code, out))
    found, refused = tried.judge(
        what, out, keys, names, but,
        ["the network is on"] if "net=on" in keys else [])
    escaped = [n for n in found if found[n][0] == "ESCAPED"]
    bad = {n: found[n][1] for n in escaped if n not in allowed}
    lib.check(not bad, "%s: %s" % (what, bad))
    print("%-36s %3d of %3d refused%s" % (
        what, len(refused), len(found),
        ", known " + " ".join(escaped) if escaped else ""), flush=True)
    return len(refused)


def keys_of(server, net, *pids):
    out = ["net=" + net, "pid=" + ",".join(map(str, pids)),
           "port=" + server.url.rsplit(":", 1)[1].strip("/"),
           "listener=" + server.unix[5:]]
    for name in os.listdir(server.rundir):
        if name.endswith(".sock"):
            out.append("control=" + os.path.join(server.rundir, name))
    return out


def worker_of(server, client):
    client.start("sleeper", "sleep", "1000", env={"PATH": box.PATH})
    pid = server.pid_of(client, "sleeper")
    return server.worker_of(pid)


def everything(kind, server, run, worker):
    """What a sandboxed command can try, with the network off and on."""
    pids = (worker, server.pid) if kind.alone else (1,)
    allowed = OF_ROOT if kind.alone and kind.inside == 0 else ()
    with box.Place(kind.uid, git=False) as place, \
            host_things(place) as things:
        # Without namespaces they are those of the machine.
        if kind.alone:
            things = things[:2]
        count = attack("network off", kind, run, box.workspace(place.ws),
                       *keys_of(server, "off", *pids), *things,
                       but=TERMINAL + ALL, allowed=allowed)
        but = TERMINAL + ALL + ["listener"]
        if kind.alone:
            but.append("control")
        if abi() < 6:
            but.append("abstract")
        attack("network on", kind, run, box.workspace(place.ws, net=True),
               *keys_of(server, "on", *pids), *things, but=but,
               allowed=allowed)
        attack("files free, network off", kind, run,
               box.sandbox(cwd=place.ws),
               *keys_of(server, "off", worker, server.pid), *things[:2],
               names=ON_WORKER + SLOWING + ["tcp_connect", "tcp_bind", "udp_send",
                                  "listener", "control", "netlink",
                                  "unshare_user", "uring"] + DATAGRAMS,
               allowed=FREE_TO_ROOT if kind.inside == 0 else ())
        terminal(kind, run, place)
    return count


def terminal(kind, run, place):
    with contextlib.ExitStack() as stack:
        ours = []
        for _ in range(3):
            for fd in os.openpty():
                stack.callback(os.close, fd)
                ours.append(fd)
        attack("terminal", kind, run, box.workspace(place.ws), "net=off",
               names=TERMINAL, tty=True)
        if kind.alone:
            return
        out, code, _ = run("sh", "-c", "tty; ls /dev/pts; ls /dev", tty=True,
                           box=box.workspace(place.ws))
        names = out.split()
        lib.check(code == 0 and names[0] == "/dev/pts/0",
                  "%s: tty: %s" % (kind.name, out))
        lib.check(names[1:3] == ["0", "ptmx"], "%s: /dev/pts: %s" % (
            kind.name, out))
        lib.check(set(names[3:]) == {
            "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr",
            "stdin", "stdout", "tty", "urandom", "zero"}, "%s: /dev: %s" % (
                kind.name, names[3:]))


def own_proc(kind, run, worker):
    """Only what is of the sandbox is in /proc."""
    with box.Place(kind.uid, git=False) as place:
        script = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm | tr '\\0' ' '"
        out, _, _ = run("sh", "-c", script, box=box.workspace(place.ws))
        lib.check("execsrv" not in out and "1000" not in out,
                  "%s: /proc shows %s" % (kind.name, out))


def signals_to_all(kind, client, run):
    """To all that it sees: a command of the same user beside it is not hit."""
    if kind.alone and abi() < 6:
        return                          # Landlock has no say in signals
    client.start("witness", "sh", "-c", "trap 'echo hit' URG CONT; echo on; "
                 "read x; echo $x; cat", env={"PATH": box.PATH}, pipeStdin=True)
    lib.check(client.note("witness", "process/output"), "no witness")
    with box.Place(kind.uid, git=False) as place:
        attack("signals to all", kind, run, box.workspace(place.ws),
               names=ALL)
    # What was sent to it before, it says before it goes on.
    client.call("process/write", processId="witness", writeId=None,
                chunk=box.b64(b"after\n"))
    client.call("process/closeStdin", processId="witness")
    lib.check(client.note("witness", "process/closed"), "the witness lives")
    chunks = client.call("process/read", processId="witness", afterSeq=None,
                         maxBytes=None, waitMs=0)["chunks"]
    said = b"".join(box.unb64(c["chunk"]) for c in chunks).decode()
    lib.check(said == "on\nafter\n", "%s: others were signalled: %r" % (
        kind.name, said))


def stop_all(kind, server, client, run):
    """One stops all that he can, all the time, while others are started."""
    with box.Place(kind.uid, git=False) as place:
        policy = box.workspace(place.ws)
        client.start("stopper", "sh", "-c",
                     "echo on; while :; do kill -STOP -1; done", cwd="/",
                     sandbox=policy, env={"PATH": box.PATH})
        lib.check(client.note("stopper", "process/output"), "no stopper")
        # The last cannot be ended by itself if it was stopped.
        began = time.monotonic()
        for n in range(50):
            client.start("s%d" % n, "true", cwd="/", sandbox=policy,
                         env={"PATH": box.PATH})
        took = time.monotonic() - began
        for n in range(50):
            if abi() >= 6:
                lib.check(client.note("s%d" % n, "process/closed"),
                          "%s: a command was stopped by another" % kind.name)
            else:
                client.call("process/terminate", processId="s%d" % n)
        client.call("process/terminate", processId="stopper")
        lib.check(client.note("stopper", "process/closed"),
                  "%s: the stopper lives" % kind.name)
        status = lib.stat_of(worker_pid(server, client))
        lib.check(status and status[0] not in "Tt", "the worker was stopped")
        print("%-36s 50 starts took %.2f s" % (kind.name + ": stopper", took),
              flush=True)


def worker_pid(server, client):
    pid = server.pid_of(client, "sleeper")
    return server.worker_of(pid)


def ordinary(kind, server, run, worker):
    """
    A command without a sandbox, of another user than the master: it is that
    user, but its worker is more.
    """
    attack("no sandbox", kind, run, None,
           *keys_of(server, "off", worker, server.pid), names=ON_WORKER,
           # Everybody may look at sessions of his own.
           allowed=("control",) if os.geteuid() == 0 else ())


tried = box.Tried(box.REACH)
total = 0
for kind in box.chosen():
    with box.session(kind) as (server, client):
        run = box.Runs(client)
        if not box.can(kind, client):
            continue
        worker = worker_of(server, client)
        total += everything(kind, server, run, worker)
        if not kind.alone:
            own_proc(kind, run, worker)
        signals_to_all(kind, client, run)
        stop_all(kind, server, client, run)
        if kind.inside != 0 and kind.owner is None and os.geteuid() == 0:
            ordinary(kind, server, run, worker)
        lib.check(lib.lives(worker) and lib.lives(server.pid),
                  "%s: something died" % kind.name)
print("%d attacks were refused" % total)
tried.finish()
box.finish()
