"""620: a needle in the environment, the command line, the credential on standard
input and each file with secrets: in whose memory is it, when there is one
process of every kind?"""
import asyncio
import base64
import contextlib
import hashlib
import importlib
import os
import pathlib
import pwd
import secrets
import subprocess

lib = importlib.import_module("8common")
box = importlib.import_module("6common")
client = importlib.import_module("client")
from client import (check, children, connect, descendants, dial,  # noqa: E402
                    skip, wait_for, LIMIT, SANITIZED)

USER = pwd.getpwuid(lib.NOBODY).pw_name


# --- looking -----------------------------------------------------------------

def memory(pid):
    """All that can be read of a process, piece by piece."""
    with contextlib.suppress(OSError), \
            open("/proc/%d/maps" % pid, encoding="ascii",
                 errors="replace") as maps, \
            open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for line in maps:
            where, rights = line.split()[:2]
            begin, end = (int(n, 16) for n in where.split("-"))
            # A sanitizer reserves terabytes, which hold nothing of ours.
            if rights[0] != "r" or "[v" in line or end - begin > 1 << 32:
                continue
            while begin < end:
                with contextlib.suppress(OSError):
                    mem.seek(begin)
                    yield mem.read(min(end - begin, 1 << 22))
                begin += 1 << 22


def holds(pid, needles):
    """The names of those that are in its memory."""
    out = set()
    for piece in memory(pid):
        out |= {name for name, text in needles.items()
                if text.encode() in piece}
    return out


def comm(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path("/proc", str(pid), "comm").read_text().strip()
    return ""


def is_reader(pid):
    with contextlib.suppress(OSError):
        return "\nSeccomp:\t2" in pathlib.Path("/proc", str(pid),
                                               "status").read_text()
    return False


# --- one process of each kind ------------------------------------------------

def inherits(c, variable, text):
    """Whether a command has that text in a variable of its server's."""
    c.start("env", "sh", "-c", "printf %s $" + variable +
            " | sha256sum", env={}, envPolicy={
        "inherit": "all", "ignoreDefaultExcludes": True, "exclude": [],
        "set": {}, "includeOnly": []})
    said = b""
    while True:
        m = c.until(lambda: c.notes and c.notes.popleft())
        if m["method"] == "process/output":
            said += base64.b64decode(m["params"]["chunk"])
        if m["method"] == "process/closed":
            break
    return said.split()[0].decode() == hashlib.sha256(
        text.encode()).hexdigest()


def use(c):
    """Let a session have agents, holders and an http process."""
    c.call("fs/readFile", {"path": "file:///etc/passwd"})
    c.call("fs/readFile", {"path": "file:///etc/passwd",
                           "sandbox": box.sandbox(box.at("/etc", "read"),
                                                  cwd="/etc")})
    c.start("confined", "sleep", "1000", cwd="file:///etc",
            sandbox=box.sandbox(box.at("/", "read"), cwd="/etc"))
    with contextlib.suppress(client.RpcError):
        c.call("http/request", {"requestId": "r", "method": "GET",
                                "url": "http://127.0.0.1:1/"})


def below(worker):
    """Who serves a session: agents and holders, and what speaks HTTP."""
    names = [comm(p) for p in descendants(worker) if p != worker]
    return names.count("execsrv-worker"), names.count("execsrv-http")


def look(program, needles, door):
    pid = program.pid
    with connect("unix:%s/root" % door) as mine, \
            connect("unix:%s/other" % door) as other, \
            dial("unix:%s/metrics" % door):
        # First: its copies must not be in what begins later.
        text = needles["environment"]
        check(inherits(mine, "AN_API_KEY", text), "root's command has it")
        check(not inherits(other, "AN_API_KEY", text), "others' commands")
        use(mine)
        use(other)
        workers = [int(c.run("who", "sh", "-c", "echo $PPID")[0])
                   for c in (mine, other)]
        wait_for(lambda: all(below(w)[0] >= 2 and below(w)[1] == 1
                             for w in workers), LIMIT,
                 "agents, holders and http: %s" % [below(w) for w in workers])
        if not SANITIZED:
            wait_for(lambda: [p for p in children(pid) if is_reader(p) and
                              comm(p) == "execsrv-worker"], LIMIT, "a reader")
        uplinks = program.uplink_pids()
        check(uplinks and len([p for p in children(pid)
                               if comm(p) == "execsrv-worker"]) > 4,
              "template, spare workers, uplink")
        may = {"environment": {pid, workers[0]}, "argument": {pid},
               "stdin": {pid, *uplinks}, "bearer": {pid}, "tokens": {pid}}
        seen = []
        for p in descendants(pid):
            for name in sorted(holds(p, needles)):
                if p not in may[name]:
                    seen.append("%s in %d (%s, of %s)" % (
                        name, p, comm(p), (client.stat_of(p) or "??")[1]))
        # The search finds what is there.
        check("environment" in holds(pid, needles), "the master's own")
        check("environment" in holds(workers[0], needles), "root's session")
        check("stdin" in holds(uplinks[0], needles), "the uplink's")
        check(not seen, "\n".join(["seen:", *seen]))


async def needles(rig):
    """Each secret is where it is needed, and nowhere else."""
    needle = {name: "needle-%s-%s" % (name, secrets.token_hex(12)) for name in
              ("environment", "argument", "stdin", "bearer", "tokens")}
    rig.token = needle["stdin"]
    await rig.new_registry()
    door = rig.dir + "/doors"
    os.mkdir(door)
    os.chmod(door, 0o755)
    files = {"bearer": needle["bearer"] * 2, "tokens": "# %s\n" %
             needle["tokens"],
             "conf": "MetricsListen unix:%s/metrics\n"
             "BearerSecretFile %s/bearer\nTokenFile %s/tokens\nTokenUser %s\n"
             "Match Listener unix:%s/other\n\tSessionUser %s\n" %
             (door, rig.dir, rig.dir, USER, door, USER)}
    for name, text in files.items():
        path = pathlib.Path(rig.dir, name)
        path.touch(0o600)
        path.write_text(text, encoding="ascii")
    program = rig.program(
        token=None, stdin=subprocess.PIPE, env={
            "AN_API_KEY": needle["environment"]},
        arguments=("--registration-bearer-stdin", "-f", rig.dir + "/conf",
                   "-o", "PidFile=%s/%s" % (rig.dir, needle["argument"])),
        listen=["unix:%s/root" % door, "unix:%s/other" % door])
    program.process.stdin.write(rig.token.encode() + b"\n")
    program.process.stdin.flush()
    await rig.linked(program=program)
    await asyncio.to_thread(look, program, needle, door)


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root")
    lib.main(needles)
