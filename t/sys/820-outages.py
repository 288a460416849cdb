"""820: local clients do not notice what becomes of the registry, and neither
does whoever stops the daemon."""
import asyncio
import importlib
import socket
import time

lib = importlib.import_module("8common")
proxies = importlib.import_module("8proxy")
import client  # noqa: E402
from client import check, cpu, say, SCALE  # noqa: E402

Fault, FOREVER = lib.Fault, lib.FOREVER


def latency(url, seconds):
    """Of a local client meanwhile: the longest, in seconds."""
    worst, until = 0, time.monotonic() + seconds
    with client.connect(url) as c:
        while time.monotonic() < until:
            began = time.monotonic()
            c.call("environment/info")
            worst = max(worst, time.monotonic() - began)
            time.sleep(0.01)
    client.probe(url)
    return worst


class Silent:
    """Accepts connections and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]


async def local_sessions(rig):
    """Each kind of outage, with a local client at work."""
    await rig.new_registry()
    r, silent = rig.registry, Silent()
    address = "unix:%s/socket" % rig.dir
    program = rig.program(listen=[address], options=[
        "Uplink=silent", "RegistryUrl=https://127.0.0.1:%d" % silent.port,
        "EnvironmentId=e"])
    await rig.linked()
    for what, faults in (("hangs", [Fault(hang=True, times=FOREVER)]),
                         ("errors", [Fault(500, times=FOREVER)]),
                         ("cuts", [Fault(cut=True, times=FOREVER)])):
        r.faults["register"] = faults
        r.expire()
        if rig.link:
            rig.link.cut()
        for _ in range(lib.TRIES):
            used = cpu(program.pid)
            worst = await asyncio.to_thread(latency, address, 2.5)
            say("%s: %.1f ms" % (what, 1000 * worst))
            check(cpu(program.pid) - used < 1, "the master is busy")
            if worst < 0.1 * SCALE:
                break
        lib.in_time(worst < 0.1 * SCALE, "%s: %.0f ms" % (what, 1000 * worst))
    check(program.status() is None, "it ended")


async def refused_for_good(rig):
    """A local client of a daemon that no registry wants."""
    await rig.new_registry()
    rig.registry.faults["register"] = [Fault(404, times=FOREVER)]
    address = "unix:%s/socket" % rig.dir
    program = rig.program(listen=[address])
    await program.state("refused")
    await asyncio.to_thread(latency, address, 0.5)


def stops(name, prepare):
    """SIGTERM ends it in 5 s, with all its processes, whatever hangs."""
    async def case(rig):
        await rig.new_registry()
        program = await prepare(rig)
        took = await program.stop()
        say("%s: %.2f s" % (name, took))
        lib.in_time(took < 5 * SCALE, "%.2f s" % took)
    case.__name__ = "stops_" + name
    return case


async def registering(rig):
    rig.registry.faults["register"] = [Fault(hang=True)]
    program = rig.program()
    await lib.until(lambda: rig.registry.seen("register"), what="a request")
    return program


async def upgrading(rig):
    rig.registry.faults["upgrade"] = [Fault(hang=True)]
    program = rig.program()
    await lib.until(rig.registry.upgrades, what="an upgrade")
    return program


async def validating(rig):
    program = await rig.start()
    rig.registry.faults["validate"] = [Fault(hang=True)]
    rig.stream().begin()
    await lib.until(lambda: rig.registry.seen("validate"), what="a question")
    return program


async def waiting(rig):
    rig.registry.faults["register"] = [Fault(500, times=FOREVER)]
    program = rig.program()
    await lib.until(lambda: len(rig.registry.seen("register")) > 1,
                    what="two requests")
    return program


async def silence(rig):
    rig.silent = Silent()
    program = rig.program(url="https://127.0.0.1:%d" % rig.silent.port)
    rig.silent.socket.settimeout(client.LIMIT)
    rig.silent.peer = rig.silent.socket.accept()
    return program


async def proxy(rig):
    rig.proxy = await proxies.Proxy().start()
    rig.proxy.hangs = True
    program = rig.program(url="https://192.0.2.1/",
                          env={"https_proxy": rig.proxy.url})
    await lib.until(lambda: rig.proxy.targets, what="CONNECT")
    return program


async def nobody_reads(rig):
    program = await rig.start()
    s = await rig.session()
    await s.start("p", "cat", "/dev/zero")
    rig.link.reads.clear()
    await asyncio.sleep(0.5)
    return program


lib.main(*map(lib.ours, (
    local_sessions, refused_for_good, stops("registering", registering),
    stops("upgrading", upgrading), stops("validating", validating),
    stops("waiting", waiting), stops("silence", silence),
    stops("proxy", proxy), stops("nobody_reads", nobody_reads))), at_once=2)
