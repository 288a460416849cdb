"""816: the process that talks to the network dies, by any signal and again and
again: it costs a connection, not a session, and no key."""
import asyncio
import importlib
import os
import random
import signal

lib = importlib.import_module("8common")
drops = importlib.import_module("815-drops")
Fault = importlib.import_module("8registry").Fault
from client import (LIMIT, SCALE, check, children, cpu, fds,
                    zombies)  # noqa: E402


async def uplink_of(program, before=None):
    """Its process, another one than before."""
    def found():
        return [p for p in program.uplink_pids() if p != before]
    return (await lib.until(found, what="an uplink"))[0]


async def killed(rig):
    """Under output; the session is resumed at the next one, which has the same
    public key and registers anew."""
    program = await rig.start(options=drops.KEPT)
    reader, session = await drops.begin(rig, rig.environment, "sh", "-c",
                                        drops.WRITER)
    s = await rig.session(resume=session)
    s.keeps_notes, s.on_note = False, reader.on_note
    await reader.catch_up(s)
    for n, sig in enumerate((signal.SIGKILL, signal.SIGABRT,
                             signal.SIGKILL), 1):
        pid = await uplink_of(program)
        os.kill(pid, sig)
        await lib.until(lambda s=s: s.ended, what="the stream's end")
        await rig.linked(after=n, seconds=2 * LIMIT, program=program)
        s = await rig.session(resume=session)
        s.keeps_notes, s.on_note = False, reader.on_note
        before = reader.line
        await reader.catch_up(s)
        await lib.until(lambda b=before: reader.line > b + 20, what="lines")
    keys = rig.registry.environment(rig.environment).keys
    check(len(keys) == 4 and all(k == keys[0] for k in keys),
          "%d registrations, keys change" % len(keys))
    s.leave()
    await drops.finish(rig, rig.environment, reader, session)


async def others(rig):
    """Local sessions do not notice, nor do those of another environment."""
    await rig.new_registry()
    program = rig.program(options=[
        "Uplink=other", "RegistryUrl=" + rig.registry.url,
        "EnvironmentId=env-other"], listen=["unix:%s/socket" % rig.dir])
    await rig.linked()
    await rig.linked("env-other")
    a, b = await rig.session(), await rig.session(environment="env-other")
    await a.start("cat", "cat", pipeStdin=True)
    await b.start("cat", "cat", pipeStdin=True)
    os.kill(program.uplink_pids()[0], signal.SIGKILL)
    await lib.until(lambda: a.ended or b.ended, what="the end of one")
    check(not (a.ended and b.ended), "the end of both")
    stays = b if a.ended else a
    await rig.probe(stays)
    await rig.linked(a.environment if a.ended else b.environment, after=1)
    await rig.probe(stays)


async def again_and_again(rig):
    """It is started with growing pauses, and comes back when that ends."""
    program = await rig.start()
    # Only root may look at a process that is not dumpable.
    before = fds(program.pid) if os.getuid() == 0 else 0
    last = None
    for n in range(5):
        last = await uplink_of(program, last)
        os.kill(last, signal.SIGKILL)
    used = cpu(program.pid)
    await asyncio.sleep(1)
    check(cpu(program.pid) - used < 0.2 * SCALE, "the master is busy")
    times = [e.at for e in rig.registry.seen("register")]
    lib.in_time(all(b - a > 0.4 for a, b in zip(times, times[1:])),
                "registers too often: %s" % times)
    await rig.linked(after=len(rig.registry.environment(rig.environment)
                               .links) if rig.link is None else 0,
                     seconds=2 * LIMIT)
    await program.state("connected", seconds=2 * LIMIT)
    await rig.probe()
    await lib.until(lambda: before == 0 or fds(program.pid) <= before + 2,
                    what="descriptors as before")
    check(not zombies(program.pid), "zombies")


async def forgotten(rig):
    """Its streams are none of the next one's."""
    program = await rig.start()
    await rig.session()
    await program.state("connected", that=lambda row: row["streams"] == 1)
    rig.registry.faults["register"] = [Fault(hang=True)]
    os.kill(await uplink_of(program), signal.SIGKILL)
    row = await program.state("registering")
    check(row["streams"] == 0, row)


async def its_resolver(rig):
    """Who finds hosts for it dies: streams go on and new ones come, since it
    knows the registry; when nobody is left it begins anew."""
    await rig.new_registry(name="localhost")
    program = await rig.start()
    s = await rig.session()
    await s.start("cat", "cat", pipeStdin=True)
    pid = await uplink_of(program)
    resolver, = children(pid)
    os.kill(resolver, signal.SIGKILL)
    await lib.until(lambda: "the resolver process died" in program.log(),
                    what="the log")
    await rig.probe(s)
    # Longer than an answer is taken for fresh.
    await asyncio.sleep(11)
    other = await rig.session()
    await rig.probe(other)
    await rig.probe(s)
    check(await uplink_of(program) == pid, "another uplink")
    other.leave()
    s.leave()
    await rig.linked(after=1, seconds=2 * LIMIT, program=program)
    check(children(await uplink_of(program, pid)), "no resolver")
    await rig.probe(await rig.session(resume=s.session))


async def stopped(rig):
    """One that stands still does not hold up the end."""
    program = await rig.start()
    await rig.session()
    os.kill(await uplink_of(program), signal.SIGSTOP)
    took = await program.stop()
    lib.in_time(took < 5, "%.1f s" % took)


async def in_the_middle(rig):
    """At any moment of a handshake, or of a registration."""
    program = await rig.start()
    s = await rig.session()
    for n in range(1, 6):
        pid = await uplink_of(program)
        streams = [rig.stream() for _ in range(8)]
        for stream in streams:
            stream.begin()
        await asyncio.sleep(random.random() * 0.01)
        os.kill(pid, signal.SIGKILL)
        await rig.linked(after=n, seconds=2 * LIMIT, program=program)
    await rig.probe(await rig.session(resume=s.session))


if __name__ == "__main__":
    lib.main(*map(lib.ours, (killed, others, again_and_again, forgotten,
                             its_resolver, stopped, in_the_middle)), at_once=3)
