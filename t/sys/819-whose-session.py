"""819: who runs a remote session, and that a session belongs to the environment
through which it came: nobody else finds it."""
import contextlib
import importlib
import os
import pwd

lib = importlib.import_module("8common")
import client  # noqa: E402
from client import RpcError, check  # noqa: E402

UNKNOWN = -32600
IS_ROOT = os.getuid() == 0


@contextlib.contextmanager
def as_session_user():
    """What is connected in here is that user's."""
    if not IS_ROOT:
        yield
        return
    os.seteuid(lib.NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def local(address, resume=None):
    """A local client who is the same user as remote sessions are."""
    with as_session_user():
        c = client.Client(address, upgrade=False)
    c.upgrade()
    try:
        return c.initialize(resume)
    except BaseException:
        c.close()
        raise


async def cannot(rig, session, environment=None, where=None):
    """It looks as if there were no such session."""
    s = await rig.stream(environment, where).open()
    try:
        await s.initialize(session)
    except RpcError as e:
        check(e.code == UNKNOWN, "%s" % e)
        unknown = e
    else:
        raise AssertionError("resumed by somebody else")
    s.leave()
    s = await rig.stream(environment, where).open()
    try:
        await s.initialize("01234567-89ab-4def-8123-456789abcdef")
    except RpcError as e:
        check(e.code == unknown.code and e.text.replace(
            "01234567-89ab-4def-8123-456789abcdef", session) == unknown.text,
            "%s is not %s" % (e, unknown))
    s.leave()


def cannot_locally(address, session):
    try:
        local(address, session).close()
    except RpcError as e:
        check(e.code == UNKNOWN, "%s" % e)
    else:
        raise AssertionError("resumed locally")


@lib.ours
async def sessions_apart(rig):
    """Of two environments and of local clients, all one user's: attached,
    detached, with a process and without."""
    await rig.new_registry()
    address = "unix:%s/socket" % rig.dir
    program = rig.program(listen=[address], options=[
        "Uplink=other", "RegistryUrl=" + rig.registry.url,
        "EnvironmentId=env-other"])
    await rig.linked(program=program)
    await rig.linked("env-other")
    for busy in (True, False):
        a = await rig.session()
        b = await rig.session(environment="env-other")
        c = local(address)
        if busy:
            for s in (a, b):
                await s.start("p", "sleep", "600")
            c.start("p", "sleep", "600")
        for attached in (True, False):
            if not attached:
                a.leave()
                b.leave()
                c.close()
            await cannot(rig, a.session, "env-other")
            await cannot(rig, b.session)
            await cannot(rig, c.session)
            await cannot(rig, c.session, "env-other")
            cannot_locally(address, a.session)
            cannot_locally(address, b.session)
        # They are all there for whom they belong to.
        (await rig.session(resume=a.session)).leave()
        (await rig.session(resume=b.session, environment="env-other")).leave()
        client.wait_for(lambda c=c: resumes(address, c.session),
                        client.LIMIT, "resumed")


@lib.ours
async def one_name_twice(rig):
    """Of environments of one name at two registries."""
    first, second = await rig.new_registry(), await rig.new_registry()
    program = rig.program(options=[
        "Uplink=other", "RegistryUrl=" + second.url,
        "EnvironmentId=" + rig.environment])
    for where in (first, second):
        await rig.linked(program=program, where=where)
    for busy in (True, False):
        s = await rig.session(where=first)
        if busy:
            await s.start("p", "sleep", "600")
        await cannot(rig, s.session, where=second)
        s.leave()
        await cannot(rig, s.session, where=second)
        (await rig.session(resume=s.session, where=first)).leave()


def resumes(address, session):
    try:
        local(address, session).close()
    except RpcError as e:
        check(e.code == -32010, "%s" % e)
        return False
    return True


@lib.ours
async def other_harness(rig):
    """A session is not bound to a harness, or to a registration."""
    await rig.start()
    s = await rig.session()
    await s.start("p", "sleep", "600")
    s.leave()
    other = lib.harness.Party(rig.noise)
    (await rig.session(resume=s.session, party=other)).leave()
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=1)
    await rig.probe(await rig.session(resume=s.session, party=other))


@lib.ours
async def runs_as(rig):
    """The user's ids, groups and environment; nothing of the daemon's."""
    await rig.start()
    entry = pwd.getpwnam(lib.session_user())
    s = await rig.session()
    policy = {"inherit": "all", "ignoreDefaultExcludes": True, "exclude": [],
              "set": {}, "includeOnly": []}
    out, _ = await s.run("sh", "-c", "id -u; id -g; id -G; echo $HOME $USER",
                         envPolicy=policy)
    uid, gid, groups, rest = out.decode().split("\n")[:4]
    check((int(uid), int(gid)) == (entry.pw_uid, entry.pw_gid),
          "%s" % out)
    if IS_ROOT:
        wanted = set(os.getgrouplist(entry.pw_name, entry.pw_gid))
        check({int(g) for g in groups.split()} == wanted, groups)
        check(rest == "%s %s" % (entry.pw_dir, entry.pw_name), rest)


async def ends(rig, says, **how):
    program = rig.program(user=False, **how)
    check(await program.exited() == 78, "status %s" % program.status())
    check(says in program.log(), program.log())
    check(not rig.registry.requests, "a request was sent")


@lib.ours
async def a_user_is_needed(rig):
    """A daemon that runs as root says so before it asks anybody."""
    if not IS_ROOT:
        return lib.say("left out: not root")
    await rig.new_registry()
    await ends(rig, "RemoteUser")
    await ends(rig, "nobody-of-that-name",
               options=["RemoteUser=nobody-of-that-name"])
    root = pwd.getpwuid(0).pw_name
    for permit in ("local", "no"):
        await ends(rig, "PermitRootSession", options=[
            "RemoteUser=" + root, "PermitRootSession=" + permit])


@lib.ours
async def root_if_permitted(rig):
    """PermitRootSession yes is what it takes."""
    if not IS_ROOT:
        return lib.say("left out: not root")
    await rig.new_registry()
    program = rig.program(user=False, options=[
        "RemoteUser=" + pwd.getpwuid(0).pw_name, "PermitRootSession=yes"])
    await rig.linked(program=program)
    out, _ = await (await rig.session()).run("id", "-u")
    check(out == b"0\n", "%r" % out)


@lib.ours
async def users_of_blocks(rig):
    """Each environment may have a user of its own."""
    if not IS_ROOT:
        return lib.say("left out: not root")
    await rig.new_registry()
    names = [p.pw_name for p in pwd.getpwall()
             if p.pw_uid not in (0, lib.NOBODY)][:1] or \
        [lib.session_user()]
    program = rig.program(options=[
        "Uplink=other", "RegistryUrl=" + rig.registry.url,
        "EnvironmentId=env-other", "RemoteUser=" + names[0]])
    await rig.linked(program=program)
    await rig.linked("env-other")
    for environment, name in ((None, lib.session_user()),
                              ("env-other", names[0])):
        s = await rig.session(environment=environment)
        out, _ = await s.run("id", "-u")
        check(int(out) == pwd.getpwnam(name).pw_uid, "%r is not %s" %
              (out, name))


@lib.ours
async def not_root(rig):
    """Without root it is whoever started it, and only he."""
    if not IS_ROOT:
        return lib.say("left out: not root")
    await rig.new_registry()
    prefix = ["setpriv", "--reuid", str(lib.NOBODY), "--regid",
              str(lib.NOBODY), "--clear-groups", "--"]
    program = rig.program(user=False, prefix=prefix)
    await rig.linked(program=program)
    out, _ = await (await rig.session()).run("id", "-u")
    check(int(out) == lib.NOBODY, "%r" % out)
    before = len(rig.registry.requests)
    other = rig.program("e", user=False, prefix=prefix, options=[
        "RemoteUser=" + pwd.getpwuid(0).pw_name])
    check(await other.exited() == 78, "status %s" % other.status())
    check(len(rig.registry.requests) == before, "a request was sent")


lib.main(sessions_apart, one_name_twice, other_harness, runs_as,
         a_user_is_needed, root_if_permitted, users_of_blocks, not_root, at_once=2)
