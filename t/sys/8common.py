"""What the tests of remote mode share: executors that dial out to a registry
of the test's own, and harnesses.

A case is a coroutine that gets a Rig. main() runs cases, each with a registry
of its own, side by side as far as asked for.

    python3 t/sys/8NN-title.py [--reference PATH] [CASE...]

runs some of them, with "PATH exec-server" instead of execsrvd if asked so:
those marked with @ours are left out then."""
import argparse
import asyncio
import contextlib
import importlib
import json
import os
import pwd
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from client import (BUILD, LIMIT, SKIP, SLOW, TMP, TRIES, TooSlow, check,
                    children, descendants, in_time, is_alive, say)

registry = importlib.import_module("8registry")
harness = importlib.import_module("8harness")
hubfront = importlib.import_module("8hubfront")
Fault = registry.Fault
# RENDEZVOUS=hub: execsrv-hub instead of the test's own registry.
HUB = os.environ.get("RENDEZVOUS") == "hub"
Registry = hubfront.HubFront if HUB else registry.Registry
FOREVER = registry.FOREVER
NOBODY = 65534
reference = None


async def until(condition, seconds=LIMIT, what="it"):
    """Wait for a condition; its value when true."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < deadline, "not in %g s: %s" % (seconds, what))
        await asyncio.sleep(0.005)


# All servers of all cases are in one loop, and others have little time for an
# answer: so nothing that takes long is done there.
async def aside(fn, *args, **how):
    """The result of a function that waits for other processes."""
    return await asyncio.to_thread(fn, *args, **how)


async def numbers(last):
    """The numbers from 1 on, a line for each."""
    return await aside(subprocess.check_output, ["seq", str(last)])


class Pulse:
    """When the loop stood still: its servers answered nobody then."""
    BEAT = 0.1          # seconds
    LONG = 1.0          # what somebody may take for a server that is gone

    def __init__(self):
        self.pauses = []        # (end, seconds)

    async def run(self):
        while True:
            began = time.monotonic()
            await asyncio.sleep(self.BEAT)
            now = time.monotonic()
            if now - began > self.BEAT + self.LONG:
                self.pauses.append((now, now - began))

    def longest(self, since):
        return max((n for end, n in self.pauses if end > since), default=0)


pulse = Pulse()


def ours(case):
    """Only execsrvd does so."""
    case.ours = True
    return case


def own_registry(case):
    """A hub does not do so: any ids of environments, more than 128 streams."""
    case.own_registry = True
    return case


def slow(case):
    """Takes minutes: with SLOW=1 only."""
    case.slow = True
    return case


def session_user():
    """Whom remote sessions run as: nobody if we are root."""
    return pwd.getpwuid(NOBODY if os.getuid() == 0 else os.getuid()).pw_name


class Program:
    """An executor. Its log has what it said on both outputs."""

    def __init__(self, rig, url, *environments, options=(), arguments=(),
                 env=None, token=None, stdin=subprocess.DEVNULL,
                 listen=(), user=True, prefix=(), command=None):
        Program.count += 1
        self.dir = "%s/program%d" % (rig.dir, Program.count)
        self.run_dir = self.dir + "/run"
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o777 if prefix else 0o755)
        self.log_path = self.dir + "/log"
        if reference:
            argv = [reference, "exec-server"]
        else:
            argv = [BUILD + "/execsrvd", *([command] if command else []),
                    "-D", "-o", "RuntimeDirectory=" + self.run_dir]
            if user and os.getuid() == 0:
                argv += ["-o", "RemoteUser=" + session_user()]
            for option in options:
                argv += ["-o", option]
            for address in listen:
                argv += ["--listen", address]
        if url:
            argv += ["--remote", url]
        for name in environments:
            argv += ["--environment-id", name]
        argv += arguments
        clean = {k: v for k, v in os.environ.items()
                 if "CODEX" not in k and not k.lower().endswith("_proxy")}
        clean.update(HOME=self.dir, CODEX_HOME=self.dir, NO_COLOR="1",
                     RUST_LOG="warn",
                     EXECSRV_RUNTIME_DIR=self.run_dir)
        if token:
            clean["CODEX_API_KEY"] = token
        clean.update(env or {})
        self.began = time.monotonic()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*prefix, *argv], stdin=stdin, stdout=log, stderr=log,
                env=clean, cwd=self.dir)
        self.pid = self.process.pid
        self.all = set()

    count = 0

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def status(self):
        return self.process.poll()

    async def exited(self, seconds=LIMIT):
        """The exit status of one that ends by itself."""
        await until(lambda: self.process.poll() is not None, seconds,
                    "the program ends")
        return self.process.returncode

    def named(self, name):
        """Its processes of that name."""
        out = []
        for pid in descendants(self.pid):
            with contextlib.suppress(OSError):
                with open("/proc/%d/comm" % pid, encoding="ascii") as f:
                    if f.read().strip() == name[:15] and is_alive(pid):
                        out.append(pid)
        return out

    def uplink_pids(self):
        """Of its uplinks, without what these have started."""
        mine = self.named("execsrv-uplink")
        return sorted(set(mine) & set(children(self.pid)))

    async def ctl(self, *words):
        """execsrvctl: (status, output); again if it was not answered. The loop
        goes on meanwhile."""
        for _ in range(TRIES):
            child = await asyncio.create_subprocess_exec(
                BUILD + "/execsrvctl", *words, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env={**os.environ, "EXECSRV_RUNTIME_DIR": self.run_dir})
            async with asyncio.timeout(LIMIT):
                out, _ = await child.communicate()
            if child.returncode == 0 or b"not answer" not in out:
                break
        return child.returncode, out.decode()

    async def uplinks(self):
        """The rows of "execsrvctl uplinks"."""
        deadline = time.monotonic() + LIMIT
        while True:
            status, text = await self.ctl("uplinks", "--json")
            if status == 0:
                return json.loads(text)
            # It begins, or stands still.
            check(time.monotonic() < deadline and self.status() is None,
                  "uplinks: %d %s" % (status, text))
            await asyncio.sleep(0.05)

    async def uplink(self, environment=None):
        rows = await self.uplinks()
        for row in rows:
            if environment in (None, row["environment"]):
                return row
        raise AssertionError("%s is not among %s" % (environment, rows))

    async def state(self, wanted, environment=None, seconds=LIMIT,
                    that=lambda row: True):
        """Wait for a state of an uplink and a claim about its row; the row."""
        deadline = time.monotonic() + seconds
        while True:
            row = None
            with contextlib.suppress(AssertionError):
                row = await self.uplink(environment)
            if row and row["state"] == wanted and that(row):
                return row
            check(time.monotonic() < deadline,
                  "not %s in %g s but %s" % (wanted, seconds, row))
            await asyncio.sleep(0.05)

    async def stop(self, sig=signal.SIGTERM):
        """End it if it runs: with 0, and with all its processes. The seconds
        it took."""
        began = time.monotonic()
        if self.process.poll() is not None:
            return 0
        below = descendants(self.pid)
        self.process.send_signal(sig)
        try:
            await until(lambda: self.process.poll() is not None, LIMIT,
                        "the program ends after a signal")
            check(self.process.returncode == 0,
                  "stopped with status %s" % self.process.returncode)
            took = time.monotonic() - began
            await until(lambda: not any(is_alive(p) for p in below), LIMIT,
                        "its processes are gone")
            return took
        finally:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            if self.process.stdin:
                with contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()


class Rig:
    """What a case works with."""

    def __init__(self, name):
        self.name = name
        self.dir = tempfile.mkdtemp(dir=TMP)
        os.chmod(self.dir, 0o755)
        self.token = "executor-" + secrets.token_hex(12)
        self.environment = "env-" + secrets.token_hex(4)
        self.registries, self.programs = [], []
        self.registry = None
        self.noise = None

    async def new_registry(self, **how):
        """Another one; the first is self.registry."""
        made = await Registry(self.token, **how).start()
        self.registries.append(made)
        self.registry = self.registry or made
        return made

    def program(self, *environments, url=None, **how):
        """Start an executor."""
        how.setdefault("token", self.token)
        made = Program(self, url or self.registry.url,
                       *(environments or [self.environment]), **how)
        self.programs.append(made)
        return made

    async def start(self, faults=None, **how):
        """A registry, an executor, and a websocket between them."""
        if self.registry is None:
            await self.new_registry()
        self.registry.faults.update(faults or {})
        made = self.program(**how)
        await self.linked(program=made)
        return made

    async def linked(self, environment=None, after=0, seconds=LIMIT,
                     program=None, where=None):
        """The executor's websocket, when it was connected that often."""
        name = environment or self.environment
        where = where or self.registry

        def found():
            check(program is None or program.status() is None,
                  "the executor ended")
            return where.linked(name, after)
        return await until(found, seconds, "the executor is connected")

    @property
    def link(self):
        return self.registry.linked(self.environment)

    def stream(self, environment=None, where=None, kind=harness.Stream,
               **how):
        """A stream that is not open yet."""
        if self.noise is None:
            self.noise = harness.Noise()
            self.party = harness.Party(self.noise)
        how.setdefault("party", self.party)
        return kind(where or self.registry, self.noise,
                    environment or self.environment, **how)

    async def session(self, resume=None, **how):
        """An open stream with a session."""
        if resume:
            return await harness.resumed(lambda: self.stream(**how), resume)
        return await (await self.stream(**how).open()).initialize()

    async def probe(self, stream=None):
        """All is well: a stream runs a command."""
        mine = stream or await self.session()
        got = await mine.run("echo", "hello")
        check(got == (b"hello\n", 0), "probe: %r %s" % got)
        if stream is None:
            mine.leave()

    def deliver(self, data):
        """A message of the rendezvous, whoever sent it."""
        self.registry.deliver(self.environment, data)

    async def close(self):
        """All ends as it should."""
        try:
            for made in self.programs:
                await made.stop()
                secrets_ = [self.token, *(a for r in self.registries
                                          for a in r.allowed)]
                check(not any(s in made.log() for s in secrets_ if len(s) > 9),
                      "a secret is in the log")
            for made in self.registries:
                check(not made.complaints,
                      "complaints: %s" % made.complaints[:5])
        finally:
            for made in self.programs:
                if made.process.poll() is None:
                    made.process.kill()
                    made.process.wait()
            for made in self.registries:
                await made.over()
            if self.noise:
                self.noise.close()


left_out = []


async def run_once(case, gate, left):
    """Whether a case passes; None: too slow, and so many tries are left."""
    async with gate:
        rig = Rig(case.__name__)
        began = time.monotonic()
        try:
            try:
                await case(rig)
            finally:
                failed = sys.exc_info()[0] is not None
                with contextlib.suppress(AssertionError) if failed \
                        else contextlib.nullcontext():
                    await rig.close()
        except hubfront.OwnRegistryOnly as e:
            say("%s: with the test's own registry only (%s)" %
                (case.__name__, e))
            left_out.append(case.__name__)
            return True
        except Exception as e:
            # After its next beat.
            await asyncio.sleep(2 * pulse.BEAT)
            still = pulse.longest(began)
            if still:
                say("%s: its servers stood still for %.1f s" %
                    (case.__name__, still))
            if left and (isinstance(e, TooSlow) or still):
                say("%s again: %s" % (case.__name__, e))
                return None
            for made in rig.registries:
                for e in made.requests[-20:]:
                    print("    %7.3f %s %s %s" % (e.at - began, e.method,
                                                  e.target, e.status))
            for made in rig.programs:
                print("--- log of program %d:\n%s" %
                      (made.pid, made.log()[-3000:]))
            print("FAIL %s" % case.__name__)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            return False
        say("%s (%.2f s)" % (case.__name__, time.monotonic() - began))
        return True


async def run(case, gate):
    """Whether it passes at last."""
    for left in reversed(range(TRIES)):
        got = await run_once(case, gate, left)
        if got is not None:
            break
    return got


def main(*cases, at_once=1):
    global reference
    parser = argparse.ArgumentParser()
    parser.add_argument("--reference", default=None)
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    reference = args.reference
    chosen = [c for c in cases if
              (c.__name__ in args.cases if args.cases else
               SLOW or not getattr(c, "slow", False)) and
              not (reference and getattr(c, "ours", False)) and
              not (HUB and getattr(c, "own_registry", False))]

    async def everything():
        gate = asyncio.Semaphore(at_once)
        beat = asyncio.create_task(pulse.run())
        try:
            return await asyncio.gather(*(run(c, gate) for c in chosen))
        finally:
            beat.cancel()

    results = asyncio.run(everything())
    if not results:
        print("no case for this one")
        sys.exit(SKIP)
    sys.exit(0 if all(results) else 1)
