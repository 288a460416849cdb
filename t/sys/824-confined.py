"""824: the process that talks to the network can do little else."""
import importlib
import os
import pathlib
import stat

lib = importlib.import_module("8common")
from client import check, descendants, in_groups, SANITIZED  # noqa: E402


def status_of(pid):
    text = pathlib.Path("/proc", str(pid), "status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines()
                if ":\t" in line)


async def few_rights(rig):
    """A user of its own, no capabilities, a filter of system calls, nobody may
    look at it; nothing in its environment."""
    program = await rig.start()
    await rig.probe()
    pids = program.named("execsrv-uplink")
    check(pids, "no uplink")
    for pid in pids:
        # One of them confines itself while the other is at work already.
        await lib.until(lambda p=pid: status_of(p)["Seccomp"].strip() == "2" or
                        SANITIZED and status_of(p)["NoNewPrivs"].strip() ==
                        "1", what="a filter")
        s = status_of(pid)
        uids = {int(u) for u in s["Uid"].split()}
        check(len(uids) == 1, "%s" % uids)
        if os.getuid() == 0:
            check(uids & {0, lib.NOBODY} == set(), "runs as %s" % uids)
            check(len(set(s["Gid"].split())) == 1 and
                  s["Gid"].split()[0] != "0", s["Gid"])
            check(s["Groups"].strip() == "", s["Groups"])
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            check(int(s[name], 16) == 0, "%s: %s" % (name, s[name]))
        check(s["NoNewPrivs"].strip() == "1", "new privileges")
        if not SANITIZED:
            check(s["Seccomp"].strip() == "2", "no filter")
        # What is not dumpable is root's.
        owner = os.stat("/proc/%d/environ" % pid).st_uid
        check(owner == 0, "others may look at it")
        if os.getuid() != 0:
            continue
        data = pathlib.Path("/proc", str(pid), "environ").read_bytes()
        names = {e.split(b"=")[0] for e in data.split(b"\0") if e}
        check(not names - {b"TZ", b"ASAN_OPTIONS", b"UBSAN_OPTIONS",
                           b"LSAN_OPTIONS", b"SSL_CERT_FILE"},
              "%s" % names)
        limits = pathlib.Path("/proc", str(pid), "limits").read_text()
        core, = [x for x in limits.splitlines() if x.startswith("Max core")]
        check(core.split()[4:6] == ["0", "0"] or SANITIZED, core)


async def few_descriptors(rig):
    """Nothing of the master's: no listener, no session, no file."""
    if os.getuid() != 0:
        return lib.say("left out: descriptors are for root to see")
    program = await rig.start(listen=["ws://127.0.0.1:0"])
    s = await rig.session()
    await s.start("p", "sleep", "600")
    for pid in program.named("execsrv-uplink"):
        listening = {line.split()[9] for line in open(
            "/proc/net/tcp", encoding="ascii").readlines()[1:]
            if line.split()[3] == "0A"}
        for fd in os.listdir("/proc/%d/fd" % pid):
            path = "/proc/%d/fd/%s" % (pid, fd)
            try:
                target, mode = os.readlink(path), os.stat(path).st_mode
            except FileNotFoundError:
                continue        # closed meanwhile
            check(not stat.S_ISREG(mode) or target == program.log_path,
                  "a file: " + target)
            check(not stat.S_ISDIR(mode), target)
            if target.startswith("socket:["):
                check(target[8:-1] not in listening, "a listener")


async def nobody_is_left(rig):
    """Its processes go with it, and with the daemon if no other is awaited."""
    program = await rig.start(options=["OrphanTtl=0"])
    below = descendants(program.pid)
    os.kill(program.pid, 9)
    program.process.wait()
    await lib.until(lambda: not any(lib.is_alive(p) for p in below),
                    what="all are gone")


in_groups()
lib.main(*map(lib.ours, (few_rights, few_descriptors, nobody_is_left)))
