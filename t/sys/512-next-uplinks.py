"""512: the master is killed: its uplinks keep their websockets, streams and
registrations, and the next one adopts them."""
import asyncio
import contextlib
import importlib
import os
import shutil
import signal
import subprocess

lib = importlib.import_module("8common")
from client import (BUILD, LIMIT, check, children, is_alive,
                    stat_of)  # noqa: E402


class Next(lib.Program):
    """A program in the place of another one: the same run directory."""

    def __init__(self, rig, former, *environments, options=(), **how):
        super().__init__(rig, rig.registry.url,
                         *(environments or [rig.environment]),
                         options=["RuntimeDirectory=" + former.run_dir,
                                  *options],
                         **{"token": rig.token, **how})
        self.run_dir = former.run_dir
        rig.programs.append(self)


def kill(rig, program):
    """As the OOM killer does it."""
    program.process.kill()
    program.process.wait()
    rig.programs.remove(program)


def comm_of(pid):
    with contextlib.suppress(OSError):
        with open("/proc/%d/comm" % pid, encoding="ascii") as f:
            return f.read().strip()
    return None


def registrations(rig):
    return len(rig.registry.seen("register"))


def links(rig):
    return len(rig.registry.environment(rig.environment).links)


async def uplink_of(program):
    return (await lib.until(program.uplink_pids, what="an uplink"))[0]


async def adopted(program):
    await lib.until(lambda: " is adopted" in program.log(),
                    what="the uplink is adopted")


async def streams(rig):
    """Nobody's stream ends, new ones come, nothing is registered anew."""
    program = await rig.start()
    s, cat = await rig.session(), await rig.session()
    await cat.start("cat", "cat", pipeStdin=True)
    await s.start("p", "sh", "-c", "i=0; while [ $i -lt 300 ]; do echo $i; "
                  "i=$((i+1)); sleep 0.01; done; exit 7")
    uplink = await uplink_of(program)
    kill(rig, program)
    await rig.probe(s)              # without a master as well
    # One that begins now waits for the next master.
    waiting = asyncio.create_task(rig.session())
    await lib.until(lambda: s.frames["data"] > 5, what="output")
    program = Next(rig, program)
    await adopted(program)
    new = await waiting
    await rig.probe(new)
    await rig.probe(cat)
    check((await s.note("process/exited", "p"))["exitCode"] == 7, "status")
    check(registrations(rig) == 1 and links(rig) == 1,
          "%d registrations, %d websockets" % (registrations(rig),
                                               links(rig)))
    row = await program.state("connected")
    check(row["streams"] == 3 and row["restarts"] == 0, "%s" % row)
    # It is the master that counts now: its end is the uplink's.
    check(is_alive(uplink), "another uplink")
    await program.stop()
    await lib.until(lambda: not is_alive(uplink), what="it is gone")


async def again_and_again(rig):
    """Each next one dies as well: soon, or when all is adopted."""
    program = await rig.start()
    s = await rig.session()
    uplink = await uplink_of(program)
    for n in range(6):
        kill(rig, program)
        program = Next(rig, program)
        if n % 2:
            await adopted(program)
        await rig.probe(s)
    await adopted(program)
    await program.state("connected")
    check(is_alive(uplink) and registrations(rig) == 1, "it began anew")
    await rig.probe(s)
    await rig.probe()


async def detached(rig):
    """A session that is resumed at the next master, through the same uplink."""
    program = await rig.start()
    s = await rig.session()
    await s.start("p", "cat", pipeStdin=True)
    kill(rig, program)
    s.leave()
    program = Next(rig, program)
    s = await rig.session(resume=s.session)
    await rig.probe(s)
    check(registrations(rig) == 1, "registered anew")


async def registers_later(rig):
    """Its registration is void while there is no master: the next one sees to
    another."""
    program = await rig.start()
    uplink = await uplink_of(program)
    kill(rig, program)
    rig.registry.faults["upgrade"] = [lib.Fault(403)]
    rig.link.cut()
    await lib.until(lambda: not rig.registry.faults["upgrade"],
                    what="it is refused")
    program = Next(rig, program)
    await adopted(program)
    await rig.linked(after=1, program=program)
    check(is_alive(uplink) and registrations(rig) == 2,
          "%d registrations" % registrations(rig))
    await rig.probe()


async def others_settings(rig):
    """One that is not wanted any more, or not as it was, ends."""
    program = await rig.start()
    uplink = await uplink_of(program)
    kill(rig, program)
    program = Next(rig, program, "env-other")
    await rig.linked("env-other", program=program)
    await lib.until(lambda: not is_alive(uplink), what="it is gone")


async def stands_still(rig):
    """One that does not come is ended, and another one is started."""
    program = await rig.start()
    uplink = await uplink_of(program)
    kill(rig, program)
    os.kill(uplink, signal.SIGSTOP)
    program = Next(rig, program)
    row = await program.state("awaited")
    check(row["streams"] == 0, "%s" % row)
    await rig.linked(after=1, program=program, seconds=2 * LIMIT)
    check(not is_alive(uplink), "the old one is there")
    await rig.probe()


async def it_died(rig):
    """One that died meanwhile is started again."""
    program = await rig.start()
    uplink = await uplink_of(program)
    kill(rig, program)
    os.kill(uplink, signal.SIGKILL)
    await lib.until(lambda: not is_alive(uplink), what="it is gone")
    program = Next(rig, program)
    await rig.linked(after=1, program=program)
    await rig.probe()


async def nobody_comes(rig):
    """After OrphanTtl it ends; at once if that is 0."""
    for ttl in "1", "0":
        program = await rig.start(options=["OrphanTtl=" + ttl])
        uplink = await uplink_of(program)
        kill(rig, program)
        await lib.until(lambda p=uplink: not is_alive(p), what="it is gone")


async def cannot_start(rig):
    """A master that cannot start leaves it to the next one."""
    program = await rig.start()
    uplink = await uplink_of(program)
    s = await rig.session()
    kill(rig, program)
    for address in "unix:/nonexistent/x", None:
        bad = Next(rig, program, listen=[address] if address else [],
                   token=rig.token if address else "with blank")
        check(await bad.exited() != 0, "it starts")
        rig.programs.remove(bad)
    program = Next(rig, program)
    await adopted(program)
    await rig.probe(s)
    check(is_alive(uplink) and registrations(rig) == 1, "it began anew")


async def upgraded(rig):
    """The same program goes on as another one."""
    program = await rig.start()
    s = await rig.session()
    uplink = await uplink_of(program)
    for n in range(1, 4):
        status, said = await program.ctl("upgrade")
        check(status == 0, said)
        await lib.until(lambda n=n: program.log().count(" is adopted") == n,
                        what="the uplink is adopted")
        await rig.probe(s)
    await rig.probe()
    row = await program.state("connected")
    check(row["restarts"] == 0 and is_alive(uplink), "another uplink")
    check(registrations(rig) == 1 and links(rig) == 1, "it began anew")
    # The credential, which is in no variable any more, is there.
    os.kill(uplink, signal.SIGKILL)
    await rig.linked(after=1, program=program)
    await program.stop()
    # One that is read from standard input is not.
    program = rig.program(token=None, stdin=subprocess.PIPE,
                          arguments=["--registration-bearer-stdin"])
    program.process.stdin.write(rig.token.encode() + b"\n")
    program.process.stdin.flush()
    await rig.linked(after=2, program=program)
    status, said = await program.ctl("upgrade")
    check(status != 0 and "standard input" in said, said)
    await rig.probe()


class Background(lib.Program):
    """One in the background, with a monitor; its credential is in the
    environment, which it wipes."""

    def __init__(self, rig, variable):
        self.work = rig.dir + "/background"
        os.mkdir(self.work)
        self.run_dir, self.log_path = self.work + "/run", self.work + "/log"
        with open(self.work + "/conf", "w", encoding="ascii") as f:
            f.write("\n".join([
                "RuntimeDirectory " + self.run_dir, "LogTo " + self.log_path,
                "PidFile %s/pid" % self.work,
                "RemoteUser " + lib.session_user(), "Uplink one",
                "RegistryUrl " + rig.registry.url,
                "EnvironmentId " + rig.environment, ""]))
        env = {k: v for k, v in os.environ.items() if "CODEX" not in k}
        subprocess.run([BUILD + "/execsrvd", "-f", self.work + "/conf"],
                       check=True, stdin=subprocess.DEVNULL, timeout=LIMIT,
                       env={**env, variable: rig.token})
        self.monitor = int(stat_of(self.pid)[1])

    @property
    def pid(self):
        """Of the master now; 0: there is none yet."""
        with contextlib.suppress(OSError):
            with open(self.work + "/pid", encoding="ascii") as f:
                return int(f.read() or 0)
        return 0

    def status(self):
        return None if is_alive(self.monitor) else 1

    async def killed(self):
        before = self.pid
        os.kill(before, signal.SIGKILL)
        await lib.until(lambda: self.pid not in (0, before),
                        what="a new master")


async def monitored(rig):
    """A new master that its monitor starts has the credential, too."""
    await rig.new_registry()
    for variable in ("CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN",
                     "CODEX_API_KEY"):
        program = Background(rig, variable)
        try:
            await rig.linked(after=links(rig))
            s = await rig.session()
            before = registrations(rig)
            for _ in range(2):
                await program.killed()
                await program.state("connected")
                await rig.probe(s)
            check(registrations(rig) == before, "registered anew")
            # And registers with it, when that is wanted.
            for pid in children(program.monitor):
                if comm_of(pid) == "execsrv-uplink":
                    os.kill(pid, signal.SIGKILL)
            await rig.linked(after=links(rig))
            await rig.probe()
            with open("/proc/%d/environ" % program.pid, "rb") as f:
                check(rig.token.encode() not in f.read(), "it is shown")
            check(rig.token not in program.log(), "it is in the log")
        finally:
            for pid in program.pid, program.monitor:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        await lib.until(lambda p=program: not is_alive(p.monitor),
                        what="it ends")
        shutil.rmtree(program.work)


if __name__ == "__main__":
    lib.main(streams, upgraded, again_and_again, detached, registers_later,
             others_settings, stands_still, it_died, nobody_comes,
             cannot_start, monitored, at_once=3)
