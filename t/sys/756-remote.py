"""execsrvctl as the harness of an environment, through its registry and
rendezvous, to execsrvd: whatever passes is waited for, the rest ends with one
line."""
import asyncio
import contextlib
import hashlib
import importlib
import os
import random
import socket
import struct
import time

import tokens

lib = importlib.import_module("8common")
proxy = importlib.import_module("8proxy")
from client import BUILD, LIMIT, check, say  # noqa: E402

Fault = lib.Fault


def url(rig, where=None):
    return "remote:%s@%s" % (rig.environment, (where or rig.registry).url)


async def start(rig, *argv, to=None, more=(), token=None, env=None, **how):
    clean = {k: v for k, v in os.environ.items()
             if not k.lower().endswith("_proxy")}
    return await asyncio.create_subprocess_exec(
        BUILD + "/execsrvctl", "run", "--url", to or url(rig), "--token-file",
        tokens.secret(token or rig.registry.harness_token), *more, "--", *argv,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**clean, **(env or {})}, **{"stdin": asyncio.subprocess.DEVNULL, **how})


async def run(rig, *argv, status=0, data=None, **how):
    if data is not None:
        how["stdin"] = asyncio.subprocess.PIPE
    child = await start(rig, *argv, **how)
    async with asyncio.timeout(LIMIT * 10):
        out, err = await child.communicate(data)
    check(child.returncode == status, "%s: %r" % (child.returncode, err))
    return out, err


async def refused(rig, *words, **how):
    out, err = await run(rig, "true", status=125, **how)
    check(out == b"" and err.count(b"\n") == 1, err)
    say("  " + err.decode().strip())
    for word in words:
        check(word.encode() in err, "%r: no %r" % (err, word))


async def works(rig):
    """There and back, much of it, and by a name that needs escapes."""
    rig.environment = "a b/@%ü"
    await rig.start()
    out, err = await run(rig, "sh", "-c", "echo on; echo err >&2; exit 7",
                         status=7)
    check((out, err) == (b"on\n", b"err\n"), (out, err))
    data = random.Random(1).randbytes(5 << 20)
    out, _ = await run(rig, "cat", data=data)
    check(hashlib.sha256(out).digest() == hashlib.sha256(data).digest(),
          "%d bytes came back of %d" % (len(out), len(data)))
    asked = rig.registry.seen("connect")[-1]
    check(asked.field("content-type") == "application/json", asked.fields)
    key = asked.json()["harness_public_key"]
    check(set(key) == {"suite", "x25519_public_key", "mlkem768_public_key"},
          list(key))
    claims = [e for e in rig.registry.upgrades() if "role=harness" in e.query]
    check(claims and not any(e.field("authorization") for e in claims),
          "the credential went to the rendezvous")
    # Another process, another key.
    await run(rig, "true")
    check(rig.registry.seen("connect")[-1].json()["harness_public_key"] != key,
          "the same key again")


async def passing(rig):
    """What passes: asked again, not too often, and as it was told."""
    await rig.start()
    refusals = rig.registry.faults["connect"]
    for fault in (Fault(409, {"error": {"code": "environment_offline"}}),
                  Fault(408), Fault(429, fields=["Retry-After: 2"]),
                  Fault(500), Fault(503), Fault(cut=True)):
        refusals.append(fault)
        before = len(rig.registry.seen("connect"))
        await run(rig, "true")
        seen = rig.registry.seen("connect")[before:]
        check(len(seen) == 2, "asked %d times" % len(seen))
        least = 2.0 if fault.status == 429 else 0.45
        check(seen[1].at - seen[0].at >= least, "asked too soon")
    # Not all in one: the pauses between leave little of the time that a
    # connection may take.
    for some in ((503, 401), (None,)):
        rig.registry.faults["harness"] = [
            Fault(n) if n else Fault(cut=True) for n in some]
        await run(rig, "true")
        check(not rig.registry.faults["harness"], "not all of them were met")
    # The executor is told no by the registry, once.
    said = []
    rig.registry.refuses = lambda body: len(said) < 1 and not said.append(1)
    await run(rig, "true")
    check(said, "the registry was not asked")


# How far a rendezvous gets before it ends a connection.
ACCEPTED, GREETED, ASKED, HALF, UPGRADED, CLAIMED, OVER = range(7)
NEXT_PAUSE = 0.75       # the longest before a second attempt


class Breaking:
    """A rendezvous that ends each connection after some step: with a reset, or
    as one that leaves, or its half only."""

    def __init__(self, step, resets):
        self.step, self.resets = step, resets
        self.ended = None

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "%s://127.0.0.1:%d/x" % (
            "wss" if self.step == GREETED else "ws",
            self.server.sockets[0].getsockname()[1])
        return self

    async def steps(self, reader, writer):
        if self.step == ACCEPTED:
            return
        if self.step == GREETED:        # by TLS
            await reader.read(100)
            return
        head = await reader.readuntil(b"\r\n\r\n")
        if self.step == HALF:
            writer.write(b"HTTP/1.1 101 Switch")
        elif self.step > HALF:
            writer.write(lib.registry.upgraded(head))
        if self.step > UPGRADED:
            await reader.readexactly(2)
        if self.step == OVER:
            writer.write_eof()

    async def serve(self, reader, writer):
        if self.resets:
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await self.steps(reader, writer)
            await writer.drain()
        self.ended = time.monotonic()
        with contextlib.suppress(OSError):
            if self.step == OVER:
                await reader.read()
        writer.transport.abort()


async def lost(rig):
    """However a rendezvous ends a connection before there is a stream, that is
    noticed at once, and not when some time limit is over."""
    await rig.start()
    admit = rig.registry.admit
    for step in range(OVER + 1):
        for resets in (False, True)[:1 if step == OVER else 2]:
            other = await Breaking(step, resets).start()

            def once(*how, other=other):
                rig.registry.admit = admit
                return {**admit(*how), "url": other.url}

            rig.registry.admit = once
            before = len(rig.registry.seen("connect"))
            await run(rig, "true")
            other.server.close()
            seen = rig.registry.seen("connect")[before:]
            check(len(seen) == 2 and other.ended, "asked %d times" % len(seen))
            took = seen[1].at - other.ended
            lib.in_time(took < NEXT_PAUSE + 1, "step %d, resets %d: asked "
                        "again after %.2f s" % (step, resets, took))


async def for_good(rig):
    """What does not pass is said at once, and what takes too long in the
    end."""
    await rig.start()
    await refused(rig, "HTTP 401", "unauthorized", token="another")
    for fault, word in ((Fault(403), "HTTP 403"), (Fault(404), "HTTP 404"),
                        (Fault(409, {"error": {"code": "other"}}), "other"),
                        (Fault(200, b"{}"), "no valid answer"),
                        (Fault(302, fields=["Location: /"]), "HTTP 302")):
        rig.registry.faults["connect"].append(fault)
        before = len(rig.registry.seen("connect"))
        await refused(rig, word)
        check(len(rig.registry.seen("connect")) == before + 1, "asked again")
    rig.registry.faults["connect"].append(
        Fault(409, {"error": {"code": "environment_offline"}},
              times=lib.FOREVER))
    await refused(rig, "environment_offline")
    rig.registry.faults["connect"].clear()
    await refused(rig, "registry", to="remote:e@http://192.0.2.1")
    for bad in "remote:", "remote:e", "remote:@http://127.0.0.1", \
            "remote:e@", "remote:e@ftp://127.0.0.1", "remote:..@" + \
            rig.registry.url, "remote:e@http://127.0.0.1/?x":
        await refused(rig, to=bad)


async def bad_bundles(rig):
    """Whatever is wrong with the registry's answer: nothing comes of it."""
    await rig.start()
    admit = rig.registry.admit

    def other(name, value):
        def changed(*how):
            bundle = admit(*how)
            if isinstance(value, dict):
                bundle[name] = {**bundle[name], **value}
            else:
                bundle[name] = value
            return bundle
        return changed

    key = "executor_public_key"
    for change in (other("environment_id", "another"),
                   other("security_profile", "none"),
                   other("harness_key_authorization", ""),
                   other("harness_key_authorization", "x" * 4097),
                   other("executor_registration_id", None),
                   other(key, None), other(key, {"suite": "other"}),
                   other(key, {"x25519_public_key": "AAAA"}),
                   other(key, {"mlkem768_public_key": "A" * 1580})):
        rig.registry.admit = change
        await refused(rig, "no valid answer")
    # One that reads well, and fits nobody: the executor refuses.
    rig.registry.admit = other(key, {"x25519_public_key": "A" * 43 + "="})
    await refused(rig, "the stream failed")
    rig.registry.admit = other("url", "http://127.0.0.1")
    await refused(rig, "rendezvous")
    rig.registry.admit = admit
    await run(rig, "true")


COUNT = 300000


def harnesses(rig):
    return [s for s in rig.registry.streams.values()
            if getattr(s, "role", None) == "harness"]


async def drops(rig):
    """The rendezvous drops both, again and again, while a command talks."""
    await rig.start()
    child = await start(
        rig, "sh", "-c", "i=0; while [ $i -lt 300 ]; do seq $((i * 1000 + 1)) "
        "$((i * 1000 + 1000)); i=$((i + 1)); sleep 0.02; done; exit 7")
    out = b""
    cuts = 0
    while piece := await child.stdout.read(65536):
        out += piece
        if cuts < 4 and len(out) > 200000 * (cuts + 1):
            cuts += 1
            # Ours, or the executor's, which then comes back by itself.
            for link in harnesses(rig) if cuts % 2 else [rig.link]:
                if link:
                    link.cut()
    err = await child.stderr.read()
    check(await child.wait() == 7 and err == b"", err)
    want = await lib.numbers(COUNT)
    check(out == want, "%d bytes of %d" % (len(out), len(want)))
    check(cuts >= 3, "hardly a fault")
    asked = len(rig.registry.seen("connect"))
    say("  %d cuts, asked %d times" % (cuts, asked))
    check(asked > 2, "asked %d times" % asked)


async def verified(rig):
    """Registry and rendezvous with TLS, and who is trusted."""
    ca = await lib.aside(proxy.Certificates, rig.dir + "/ca")
    where = await rig.new_registry(tls=await lib.aside(ca.context, "good"),
                                   name="localhost")
    program = rig.program(env={"SSL_CERT_FILE": ca.ca})
    await rig.linked(program=program)
    await run(rig, "true", more=["--ca-file", ca.ca])
    before = len(where.requests)
    await refused(rig, "certificate")
    check(len(where.requests) == before, "it was told something")


async def other_proxy(rig):
    """A proxy of a kind that there is not for us, on either way."""
    why = "not http://HOST:PORT, and others are not supported"
    ca = await lib.aside(proxy.Certificates, rig.dir + "/ca")
    where = await rig.new_registry(tls=await lib.aside(ca.context, "good"))
    await refused(rig, why, more=["--ca-file", ca.ca],
                  env={"https_proxy": "socks5://u:s3cret@127.0.0.1:1"})
    check(not where.requests, "it was told something")
    await refused(rig, why, to="wss://192.0.2.1:1",
                  env={"all_proxy": "socks5h://127.0.0.1:1"})


# Of 31 MB: what sockets, execsrv-reach and execsrvctl hold.
UNREAD_MAX = 12 << 20


async def slow_reader(rig):
    """Who takes nothing is not sent anything; nothing is lost."""
    await rig.start()
    child = await start(rig, "seq", "4000000")
    taken, since = 0, time.monotonic()
    async with asyncio.timeout(LIMIT):
        # Nothing more goes to it, though there is more.
        while not taken or time.monotonic() - since < 1:
            now = sum(link.taken for link in harnesses(rig))
            if now != taken:
                taken, since = now, time.monotonic()
            await asyncio.sleep(0.05)
    say("  %d KiB were taken unread" % (taken >> 10))
    check(0 < taken < UNREAD_MAX, "%d bytes were taken unread" % taken)
    out, err = await child.communicate()
    check(child.returncode == 0 and err == b"", err)
    check(out == await lib.numbers(4000000), "%d bytes" % len(out))
    check(len(rig.registry.seen("connect")) == 1, "it was lost")


# Most of their time they wait.
lib.main(passing, lost, for_good, drops, works, bad_bundles, verified,
         other_proxy, slow_reader, at_once=4)
