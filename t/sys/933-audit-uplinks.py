"""933: what the audit log has of remote mode."""
import importlib
import os
import pwd
import signal

lib = importlib.import_module("8common")
audit = importlib.import_module("931-audit")
from client import check  # noqa: E402

UPLINK = {"uplink": 1, "name": "remote"}


async def event(path, name, **what):
    """The first of that name, and with all of that."""
    def found():
        return [d for d in audit.events(path, name)
                if all(d.get(k) == v for k, v in what.items())]
    return (await lib.until(found, what=name))[0]


async def registered(rig):
    """A registration, a session of a harness, and the loss of the process."""
    await rig.new_registry()
    path = rig.dir + "/audit"
    program = rig.program(options=["AuditLog=" + path])
    await rig.linked(program=program)
    where = {**UPLINK, "environment": rig.environment}
    d = await event(path, "uplink-registered")
    check(audit.without(d) == where, "%s" % d)
    s = await rig.session()
    d = await event(path, "session-opened")
    check(audit.without(d, "session", "peer") == {
        "identity": "remote:" + rig.environment,
        "uid": pwd.getpwnam(lib.session_user()).pw_uid,
        "client": "t/sys", "listener": "uplink:remote"}, "%s" % d)
    check(d["user"] == lib.session_user(), "%s" % d)
    s.leave()
    os.kill((await lib.until(program.uplink_pids, what="an uplink"))[0],
            signal.SIGKILL)
    d = await event(path, "uplink-lost")
    check(audit.without(d) == where, "%s" % d)
    await rig.linked(after=1, program=program)
    await lib.until(lambda: len(audit.events(path, "uplink-registered")) == 2,
                    what="another registration")


async def refused(rig):
    """One that is for good, with the reason."""
    await rig.new_registry()
    rig.registry.faults["register"] = [lib.Fault(400, b"")]
    path = rig.dir + "/audit"
    program = rig.program(options=["AuditLog=" + path])
    check(await program.exited() == 1, "it does not end")
    d = await event(path, "uplink-refused")
    check(audit.without(d) == {
        **UPLINK, "environment": rig.environment, "why": "status 400"},
        "%s" % d)
    check(audit.events(path)[-1]["event"] == "server-stopped", "its end")


lib.main(registered, refused)
