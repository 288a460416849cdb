"""823: "forward": another exec server serves the streams."""
import importlib

lib = importlib.import_module("8common")
import client  # noqa: E402
from client import check  # noqa: E402


def forward(rig, url):
    """The server wants to know who its client is: the uplink's user."""
    made = lib.Program(rig, rig.registry.url, rig.environment,
                       arguments=["--connect", url], token=rig.token,
                       command="forward", user=False,
                       options=["UplinkUser=" + lib.session_user()])
    rig.programs.append(made)
    return made


async def served_there(rig):
    """Commands run as that server runs them; two streams are two
    connections."""
    await rig.new_registry()
    server = client.Server()
    try:
        program = forward(rig, server.url)
        await rig.linked(program=program)
        a, b = await rig.session(), await rig.session()
        await rig.probe(a)
        await rig.probe(b)
        out, _ = await a.run("sh", "-c", "echo $PPID")
        check(int(out) in client.descendants(server.pid), "not there")
        out, _ = await b.run("head", "-c", "3000000", "/dev/zero")
        check(len(out) == 3000000, "%d bytes" % len(out))
        a.leave()
        await rig.probe(await rig.session(resume=a.session))
        await program.stop()
    finally:
        server.kill()


async def ends_there(rig):
    """When the server goes its streams are reset, and they are while it is
    away."""
    await rig.new_registry()
    server = client.Server()
    program = forward(rig, server.url)
    await rig.linked(program=program)
    s = await rig.session()
    server.kill()
    await lib.until(lambda: s.ended, what="the end of the stream")
    check(s.ended.how == "reset", "%s" % s.ended)
    s = rig.stream()
    try:
        await s.open()
        await lib.until(lambda: s.ended, what="a reset")
    except lib.harness.Ended:
        pass
    check(s.ended.how == "reset", "%s" % s.ended)
    check(program.status() is None, "it ended")
    check(rig.link is not None, "the websocket was lost")


lib.main(*map(lib.ours, (served_there, ends_there)))
