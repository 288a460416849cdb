"""825: what execsrvctl tells of remote mode: "uplinks" and "status"."""
import asyncio
import importlib
import json
import time

lib = importlib.import_module("8common")
from client import check, LIMIT, SCALE  # noqa: E402

Fault, FOREVER = lib.Fault, lib.FOREVER


async def is_ready(program):
    status = 4
    while status == 4:          # the daemon stood still
        status, text = await program.ctl("status", "--json")
    check(status == 0, text)
    rows = json.loads(text)
    row = rows[0] if isinstance(rows, list) else rows
    return row["ready"]


async def before_it_is_connected(rig):
    """The registry lets wait, then fails, then the rendezvous does."""
    await rig.new_registry()
    r = rig.registry
    registers, upgrades = asyncio.Event(), asyncio.Event()
    r.faults["register"] = [
        Fault(500, gate=registers,
              fields=["Retry-After: %d" % (6 * SCALE)]), Fault(cut=True)]
    r.faults["upgrade"] = [Fault(500, gate=upgrades), Fault(500)]
    program = rig.program(listen=["unix:%s/socket" % rig.dir],
                          options=["ReadyUplinks=any"])
    row = await program.state("registering")
    check(row["attempts"] == 1 and not row["trouble"], "%s" % row)
    check(await is_ready(program) is False, "ready")
    registers.set()
    row = await program.state("waiting")
    check("500" in row["trouble"] and row["attempts"] == 1, "%s" % row)
    row = await program.state("connecting")
    check(await is_ready(program) is True, "not ready")
    check(not row["trouble"] or "500" not in row["trouble"], "%s" % row)
    upgrades.set()
    row = await program.state("connected")
    check(not row["trouble"] and row["restarts"] == 0, "%s" % row)


async def streams_and_bytes(rig):
    """They are counted, and there is no secret in any of it."""
    program = await rig.start()
    row = await program.state("connected")
    check((row["streams"], row["environment"], row["transport"]) ==
          (0, rig.environment, "noise"), "%s" % row)
    check(row["pid"] == program.uplink_pids()[0], "%s" % row)
    some = [await rig.session() for _ in range(5)]
    await some[0].run("head", "-c", "1000000", "/dev/zero")

    async def counts(n, out=-1):
        deadline = time.monotonic() + LIMIT
        while True:
            row = await program.uplink()
            if row["streams"] == n and row["out"] > out:
                return row
            check(time.monotonic() < deadline, "%s" % row)
            await asyncio.sleep(0.05)
    row = await counts(5, out=1300000)
    check(1000 < row["in"] < row["out"], "%s" % row)
    for s in some[:3]:
        s.leave()
    await counts(2)
    rig.link.cut()
    await counts(0)
    await rig.linked(after=1)
    status, text = await program.ctl("uplinks")
    check(status == 0 and rig.environment in text, text)
    _, more = await program.ctl("status", "--json")
    _, sessions = await program.ctl("sessions", "--json")
    check(rig.environment in sessions or "remote" in sessions, sessions)
    for secret in (rig.token, some[0].bundle["harness_key_authorization"]):
        check(secret not in text + more + sessions, "a secret")


async def several(rig):
    """A row for each block of the configuration, in its order."""
    await rig.new_registry()
    program = rig.program(options=[
        word for n in range(3) for word in (
            "Uplink=label-%d" % n, "RegistryUrl=" + rig.registry.url,
            "EnvironmentId=env-%d" % n)])
    await rig.linked(program=program)
    while None in (pids := [r["pid"] for r in await program.uplinks()]) or \
            0 in pids:
        await asyncio.sleep(0.05)       # they are still being started
    rows = await program.uplinks()
    check([r["environment"] for r in rows] ==
          ["env-0", "env-1", "env-2", rig.environment], "%s" % rows)
    check([r["name"] for r in rows][:3] ==
          ["label-0", "label-1", "label-2"], "%s" % rows)
    check(len({r["pid"] for r in rows}) == 4, "%s" % rows)


async def twice(rig):
    """Two blocks of one name, or about one environment, end nothing but the
    start; the registry hears of none."""
    await rig.new_registry()
    url = rig.registry.url
    big = url.replace("http:", "HTTP:").replace("localhost", "LOCALHOST")
    again = "Uplink b: the RegistryUrl and EnvironmentId of Uplink a"

    def blocks(*rows):
        return [w for name, where, env in rows for w in (
            "Uplink=" + name, "RegistryUrl=" + where, "EnvironmentId=" + env)]
    for rows, why in (
            ([("a", url, "e"), ("b", url, "e")], again),
            ([("a", url, "e"), ("b", big + "///", "e")], again),
            ([("a", url + "/p/q", "e"), ("b", url + "/p/q/", "e")], again),
            ([("a", "https://h", "e"), ("b", "https://H:443/", "e")], again),
            ([("a", url, "e"), ("a", url, "f")],
             "Uplink a: two blocks have that name"),
            ([("remote", url, "e")],
             "Uplink remote: two blocks have that name")):
        program = rig.program(options=blocks(*rows))
        check(await program.exited() == 78, "%s: status" % rows)
        check(why in program.log(), "%s: %s" % (rows, program.log()))
    check(not rig.registry.requests, "a request was sent")
    program = rig.program(options=blocks(
        ("a", url, "e"), ("b", url, "f"), ("c", url + "/e", "f"),
        ("d", url + "/E", "f"), ("A", url, "E")))
    await rig.linked(program=program)


async def none(rig):
    """A daemon without any has an empty table, and is ready."""
    program = lib.Program(rig, None, listen=["unix:%s/socket" % rig.dir])
    rig.programs.append(program)

    async def answers():
        return (await program.ctl("status"))[0] == 0
    while not await answers():
        check(program.status() is None, "it ended")
    check(await program.uplinks() == [], "rows")
    check(await is_ready(program) is True, "not ready")


lib.main(*map(lib.ours, (before_it_is_connected, streams_and_bytes, several,
                         twice, none)), at_once=2)
