"""993: a server that stops ends its uplinks after its sessions: how their
processes end, and what these say last, is still told."""
import asyncio
import base64
import importlib
import signal

lib = importlib.import_module("8common")
from client import LIMIT, check  # noqa: E402


@lib.ours
async def heard(rig):
    program = await rig.start(options=["TerminateGrace=600"])
    s = await rig.session()
    await s.start("p", "sh", "-c", "trap 'sleep 0.3; echo bye; exit 5' TERM; "
                  "echo ready; while :; do sleep 0.05; done")
    await s.note("process/output", "p")
    program.process.send_signal(signal.SIGTERM)
    ended = await s.note("process/exited", "p")
    check(ended["exitCode"] == 5, "%s" % ended)
    await s.note("process/closed", "p")
    said = b"".join(base64.b64decode(m["params"]["chunk"]) for m in s.notes
                    if m["method"] == "process/output" and
                    m["params"]["stream"] == "stdout")
    check(said == b"ready\nbye\n", "%s" % said)
    async with asyncio.timeout(LIMIT):
        while not s.ended:
            await asyncio.sleep(0.01)
    check(await program.exited() == 0, "status %s" % program.status())


lib.main(heard)
