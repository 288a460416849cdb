"""817: where the credential for the registry comes from, how it changes, and
that nobody else ever sees it, nor the keys."""
import asyncio
import base64
import collections
import contextlib
import importlib
import json
import os
import pathlib
import re
import secrets
import subprocess
import time

lib = importlib.import_module("8common")
from client import check, descendants, say, LIMIT, SANITIZED  # noqa: E402

Fault, FOREVER = lib.Fault, lib.FOREVER
how = lib.harness.how
PIPE = subprocess.PIPE
LINE = ("--registration-bearer-stdin",)
FRAMES = ("--executor-credential-stdin",)


def by_stdin(rig, arguments, data=None, close=False, **more):
    program = rig.program(token=None, stdin=PIPE, arguments=arguments, **more)
    program.give = lambda data: give(program, data)
    if data is not None:
        give(program, data)
    if close:
        program.process.stdin.close()
    return program


def give(program, data):
    try:
        program.process.stdin.write(data)
        program.process.stdin.flush()
    except BrokenPipeError:
        pass


def frame(rig, **changes):
    """A line of JSON; what is None is left out."""
    whole = {"version": 1, "environment_id": rig.environment,
             "token": rig.token, "expires_at": int(time.time()) + 1000,
             **changes}
    return json.dumps({k: v for k, v in whole.items()
                       if v is not None}).encode() + b"\n"


# --- one line ----------------------------------------------------------------

async def a_line(rig):
    """The pipe may close or stay open."""
    for close in (False, True):
        await rig.new_registry()
        r = rig.registries[-1]
        program = by_stdin(rig, LINE, rig.token.encode() + b"\n", close,
                           url=r.url)
        await rig.linked(where=r, program=program)
        check(r.seen("register")[0].field("authorization") ==
              "Bearer " + rig.token, "the credential")
        await asyncio.sleep(0.3)
        check(program.status() is None, "it ended")


async def bad_lines(rig):
    """The line must be whole, one word, and not too long."""
    await rig.new_registry()
    for data in (b"", b"\n", b"token", b" \n", b"a b\n", b"a\tb\n",
                 b"x" * 16385 + b"\n", b"x\0y\n", b"\xff\xfe\n"):
        program = by_stdin(rig, LINE, data, close=True)
        status = await program.exited()
        check(status == 1 and program.log(), "%r: %d" % (data[:20], status))
    check(not rig.registry.requests, "a request was sent")


async def a_long_line(rig):
    """16 KiB are not too long."""
    rig.token = "x" * 16000
    await rig.new_registry()
    program = by_stdin(rig, LINE, rig.token.encode() + b"\n")
    await rig.linked(program=program)
    await rig.probe()


# --- lines of JSON -----------------------------------------------------------

async def rotation(rig):
    """A later line counts from the next request on; the end of the pipe is the
    end of the program."""
    await rig.new_registry()
    program = by_stdin(rig, FRAMES, frame(rig))
    await rig.linked(program=program)
    await rig.probe()
    old, rig.token = rig.token, "second-" + rig.token
    rig.registry.token = rig.token
    # What comes in two pieces is one line.
    line = frame(rig)
    program.give(line[:20])
    await asyncio.sleep(0.2)
    program.give(line[20:])

    async def works():
        return await how(rig.stream()) == "open"
    deadline = time.monotonic() + LIMIT
    while not await works():
        check(time.monotonic() < deadline, "the new one is not used")
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=1)
    check(rig.registry.seen("register")[-1].field("authorization") ==
          "Bearer " + rig.token, "the credential")
    check(old not in program.log(), "a credential in the log")
    await rig.probe()
    program.process.stdin.close()
    check(await program.exited() == 0, "status")


async def bad_frames(rig):
    """Exactly these members, of these types, for this environment."""
    await rig.new_registry()
    some = [{"version": 2}, {"version": "1"}, {"version": None},
            {"environment_id": "other"}, {"environment_id": 7},
            {"environment_id": None}, {"token": None}, {"token": 7},
            {"token": ""}, {"token": "a b"}, {"token": "a\n"},
            {"expires_at": None}, {"expires_at": "1795293600"},
            {"expires_at": int(time.time()) - 1}, {"expires_at": -1},
            {"more": True}]
    lines = [frame(rig, **s) for s in some] + [
        b"\n", b"{}\n", b"[]\n", b"{\n", frame(rig)[:-1], b"",
        b"\xff" + frame(rig)]
    for data in lines:
        if lib.reference and (b'"token": ""' in data or b'"a' in data):
            continue
        program = by_stdin(rig, FRAMES, data, close=True)
        status = await program.exited()
        check(status == 1 and program.log(), "%r: %d" % (data[:90], status))
        check(rig.token not in program.log(), "the token in the log")
    check(not rig.registry.requests, "a request was sent")


async def expiry(rig):
    """It goes on, and asks nothing, until there is another one."""
    await rig.new_registry()
    expires = int(time.time()) + 8
    program = by_stdin(rig, FRAMES,
                       frame(rig, expires_at=expires))
    await rig.linked(program=program)
    s = await rig.session()
    await asyncio.sleep(expires + 0.5 - time.time())
    before = len(rig.registry.requests)
    check(await how(rig.stream()) == "reset", "a stream opened")
    check(len(rig.registry.requests) == before, "a request was sent")
    await rig.probe(s)
    check(program.status() is None, "it ended")
    program.give(frame(rig))
    deadline = time.monotonic() + LIMIT
    while await how(rig.stream()) != "open":
        check(time.monotonic() < deadline, "the new one is not used")
        await asyncio.sleep(0.1)


@lib.ours
async def a_bad_line_later(rig):
    """It is left out; what there is stays."""
    await rig.new_registry()
    program = by_stdin(rig, FRAMES, frame(rig))
    await rig.linked(program=program)
    for line in (b"{}\n", frame(rig, environment_id="other", token="stolen"),
                 b"x" * 50000 + b"\n", frame(rig, expires_at=5)):
        program.give(line)
    await asyncio.sleep(0.5)
    await rig.probe()
    check(program.status() is None, "it ended")


async def exit_on_stdin_close(rig):
    """The end of standard input is that of the program, if asked for."""
    for words, env in ((["--exit-on-stdin-close"], {}),
                       ([], {"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE": "true"})):
        await rig.new_registry()
        r = rig.registries[-1]
        program = rig.program(url=r.url, stdin=PIPE, arguments=words, env=env)
        await rig.linked(where=r, program=program)
        give(program, b"this is read and ignored\n")
        await asyncio.sleep(0.3)
        check(program.status() is None, "it ended before")
        program.process.stdin.close()
        check(await program.exited() == 0, "status %s" % program.status())
    await rig.new_registry()
    r = rig.registries[-1]
    program = rig.program(url=r.url, stdin=PIPE, env={
        "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE": "false"})
    await rig.linked(where=r, program=program)
    program.process.stdin.close()
    await asyncio.sleep(0.5)
    check(program.status() is None, "it ended though told not to")


# --- a file ------------------------------------------------------------------

def options_with(rig, path):
    return ["Uplink=u", "RegistryUrl=" + rig.registry.url,
            "EnvironmentId=" + rig.environment, "CredentialFile=" + path]


def from_file(rig, path, **more):
    made = lib.Program(rig, None, options=options_with(rig, path), **more)
    rig.programs.append(made)
    return made


def write(path, text, mode=0o600):
    """As an administrator does: a new file in the place of the old one."""
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


@lib.ours
async def a_file(rig):
    """It is read again when the registry says no, with no end of tries."""
    await rig.new_registry()
    path = rig.dir + "/credential"
    write(path, rig.token + "\n")
    program = from_file(rig, path)
    await rig.linked(program=program)
    rig.token = "second-" + rig.token
    rig.registry.token = rig.token
    write(path, rig.token)
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=1, program=program)
    check([e.status for e in rig.registry.seen("register")] ==
          [200, 401, 200], "%s" % rig.registry.requests)
    await rig.probe()


@lib.ours
async def bad_files(rig):
    """Open to others, of others, no file, nothing in it."""
    await rig.new_registry()
    path = rig.dir + "/credential"
    bad = {}
    for mode in (0o640, 0o604, 0o660, 0o620, 0o602, 0o610):
        bad["%o" % mode] = lambda m=mode: write(path, rig.token + "\n", m)
    bad["empty"] = lambda: write(path, "")
    bad["two lines"] = lambda: write(path, "a\nb\n")
    bad["blanks"] = lambda: write(path, "a b\n")
    bad["long"] = lambda: write(path, "x" * 16385 + "\n")
    bad["missing"] = lambda: os.unlink(path)
    bad["folder"] = lambda: os.mkdir(path, 0o700)
    bad["fifo"] = lambda: os.rmdir(path) or os.mkfifo(path, 0o600)
    for what, make in bad.items():
        make()
        program = from_file(rig, path)
        check(await program.exited() == 78, "%s: %s" % (what, program.status()))
        check(path in program.log(), "%s: %s" % (what, program.log()))
    os.unlink(path)
    if os.getuid() == 0:
        write(path, rig.token + "\n")
        os.chown(path, lib.NOBODY, lib.NOBODY)
        program = from_file(rig, path)
        check(await program.exited() == 78, "another user's file")
    check(not rig.registry.requests, "a request was sent")


# --- who sees it -------------------------------------------------------------

@lib.ours
async def not_in_the_environment(rig):
    """CODEX_API_KEY is in the environment of no process, ours or not, and not
    in arguments or logs."""
    program = await rig.start(listen=["unix:%s/socket" % rig.dir],
                              options=["LogLevel=debug"])
    s = await rig.session()
    everything = {"inherit": "all", "ignoreDefaultExcludes": True,
                  "exclude": [], "set": {}, "includeOnly": []}
    out, _ = await s.run("sh", "-c", "env; tr '\\0' '\\n' </proc/$$/environ",
                         envPolicy=everything)
    check(b"PATH" in out and rig.token.encode() not in out, "a command has it")
    await s.start("p", "sleep", "600")
    seen = 0
    for pid in [program.pid, *descendants(program.pid)]:
        for name in ("environ", "cmdline"):
            try:
                data = pathlib.Path("/proc", str(pid), name).read_bytes()
            except PermissionError:
                check(os.getuid() != 0, "%s of %d" % (name, pid))
            except (FileNotFoundError, ProcessLookupError):
                continue  # a spare worker has left meanwhile
            else:
                check(rig.token.encode() not in data,
                      "%s of %d" % (name, pid))
            seen += 1
    check(seen > 15, "only %d files seen" % seen)


def holds(pid, needles):
    """How often some bytes are in the memory of a process; without those that
    are not, and nothing if it ended."""
    found = collections.Counter()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
            open("/proc/%d/maps" % pid, encoding="ascii") as maps, \
            open("/proc/%d/mem" % pid, "rb") as mem:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if not match or "[v" in line:
                continue
            begin, end = (int(x, 16) for x in match.groups())
            try:
                mem.seek(begin)
                data = mem.read(end - begin)
            except OSError:
                continue
            for name, needle in needles.items():
                found[name] += data.count(needle)
    return +found


@lib.ours
async def not_in_memory(rig):
    """Of our processes only the master and the uplink have the credential, the
    keys and what harnesses show; workers have none of them."""
    if os.getuid() != 0 or SANITIZED:
        return say("left out: memory can be read by root only, and not if "
                   "measured")
    program = await rig.start()
    streams = [await rig.session() for _ in range(3)]
    for s in streams:
        await s.run("true")
    key = rig.registry.environment(rig.environment).key
    needles = {
        "token": rig.token.encode(),
        "X25519 key": base64.b64decode(key["x25519_public_key"]),
        "ML-KEM key": base64.b64decode(key["mlkem768_public_key"])[:32],
        "authorization":
            streams[0].bundle["harness_key_authorization"].encode()}
    uplink, = program.uplink_pids()
    got = holds(uplink, needles)
    check({"token", "X25519 key", "ML-KEM key"} <= set(got),
          "the uplink has only %s: does this test look?" % got)
    check("token" in holds(program.pid, needles), "the master has no token?")
    await lib.until(lambda: len(descendants(program.pid)) > 11,
                    what="more than 10 workers")
    workers = set(descendants(program.pid)) - {uplink}
    for pid in workers:
        got = holds(pid, needles)
        check(not got, "%d has %s" % (pid, got))


@lib.ours
async def not_in_buffers(rig):
    """Requests leave nothing of the credential behind: it is where the uplink
    keeps it, and nowhere else."""
    if os.getuid() != 0 or SANITIZED:
        return say("left out: memory can be read by root only, and not if "
                   "measured")
    rig.token = "executor-" + secrets.token_hex(2048)
    program = await rig.start()
    for _ in range(3):
        await rig.session()
    uplink, = program.uplink_pids()
    needles = {"token": rig.token[-40:].encode()}
    await lib.until(lambda: holds(uplink, needles)["token"] == 1,
                    what="one copy of the token")


@lib.ours
async def only_where_it_is_safe(rig):
    """CODEX_API_KEY goes to this machine or by https."""
    await rig.new_registry()
    for url in ("http://192.0.2.1", "http://localhost.example.org",
                "http://127.0.0.1.example.org", "http://127.0.0.2x/",
                "http://[2001:db8::1]/"):
        program = rig.program(url=url)
        check(await program.exited() == 1, "%s: %s" % (url, program.status()))
    for url in ("http://localhost:%d", "http://127.0.0.1:%d",
                "http://LOCALHOST:%d"):
        program = rig.program(url=url % rig.registry.port)
        before = len(rig.registry.requests)
        await lib.until(lambda b=before: len(rig.registry.requests) > b,
                        what=url)


lib.main(a_line, bad_lines, a_long_line, rotation, bad_frames, expiry,
         a_bad_line_later, exit_on_stdin_close, a_file, bad_files,
         not_in_the_environment, not_in_memory, not_in_buffers,
         only_where_it_is_safe, at_once=3)
