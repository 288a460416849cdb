"""810: an executor registers, is connected, and serves harnesses."""
import asyncio
import base64
import hashlib
import importlib
import os
import re

lib = importlib.import_module("8common")
frames = importlib.import_module("8frames")
from client import check, LIMIT  # noqa: E402

SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"


async def a_command(rig):
    """Output on both streams and a status, through everything."""
    await rig.start()
    s = await rig.session()
    check(re.fullmatch(r"[0-9a-f-]{36}", s.session), "a session id")
    await s.start("p", "sh", "-c", "printf out; printf err >&2; exit 7")
    await s.note("process/closed", "p")
    seen = {m["params"]["stream"]: base64.b64decode(m["params"]["chunk"])
            for m in s.notes if m["method"] == "process/output"}
    check(seen == {"stdout": b"out", "stderr": b"err"}, "output: %s" % seen)
    check((await s.note("process/exited", "p"))["exitCode"] == 7, "status")


async def the_registration(rig):
    """Path, headers and body of the registration."""
    await rig.start()
    entry, = [e for e in rig.registry.requests if e.method == "POST"]
    check(entry.path == "/cloud/environment/%s/register" % rig.environment,
          entry.path)
    check(entry.field("authorization") == "Bearer " + rig.token, "credential")
    check(entry.field("content-type") == "application/json", "content type")
    check(entry.field("accept") == "*/*", "accept")
    body = entry.json()
    key = body.pop("executor_public_key")
    check(body == {"security_profile": "noise_hybrid_ik_v1"}, "%s" % body)
    check(key.pop("suite") == SUITE, "suite")
    for name, size in (("x25519_public_key", 32),
                       ("mlkem768_public_key", 1184)):
        text = key.pop(name)
        raw = base64.b64decode(text, validate=True)
        check(len(raw) == size and base64.b64encode(raw).decode() == text,
              "%s: %d bytes" % (name, len(raw)))
    check(not key, "more: %s" % key)


@lib.own_registry
async def the_upgrade(rig):
    """The URL as it was given, and nothing of ours besides."""
    await rig.start()
    entry, = rig.registry.upgrades()
    check(re.fullmatch("/rendezvous/%s\\?role=environment&sig=[0-9a-f]+" %
                       rig.environment, entry.target), entry.target)
    check(entry.field("sec-websocket-version") == "13", "version")
    check(entry.field("host") == rig.registry.url[7:], "host")
    for name in ("authorization", "origin", "sec-websocket-protocol",
                 "sec-websocket-extensions", "cookie"):
        check(entry.field(name) is None, "%s: %s" % (name, entry.field(name)))
    check(rig.token.encode() not in entry.head, "the credential is in it")
    check(lib.reference or entry.field("x-execsrv-relay") == "flow", "flow")


async def the_validation(rig):
    """What is asked about a harness, once, before it is answered."""
    await rig.start()
    s = await rig.session()
    entry, = rig.registry.seen("validate")
    check(entry.path == "/cloud/environment/%s/validate" % rig.environment,
          entry.path)
    check(entry.field("authorization") == "Bearer " + rig.token, "credential")
    check(entry.field("x-codex-noise-stream-id") == s.name.decode(),
          "the stream id: %s" % entry.field("x-codex-noise-stream-id"))
    check(entry.json() == {
        "executor_registration_id": s.bundle["executor_registration_id"],
        "harness_public_key": s.party.public,
        "harness_key_authorization": s.bundle["harness_key_authorization"]},
        "%s" % entry.json())


async def streams_side_by_side(rig):
    """Forty at once with the same names, nothing mixed."""
    await rig.start()
    await rig.probe()
    # 32 at most may wait for the registry.
    streams = [await rig.session(party=lib.harness.Party(rig.noise))
               for _ in range(40)]
    check(len({s.session for s in streams}) == 40, "sessions of their own")
    got = await asyncio.gather(*(
        s.run("sh", "-c", "for i in 1 2 3 4 5; do echo %d $i; done" % n,
              process="same") for n, s in enumerate(streams)))
    for n, (out, status) in enumerate(got):
        wanted = "".join("%d %d\n" % (n, i) for i in range(1, 6)).encode()
        check((out, status) == (wanted, 0), "stream %d: %r" % (n, out))


async def much_output(rig):
    """5 MiB come whole, in order, in records that are not too big."""
    await rig.start()
    s = await rig.session()
    path = rig.dir + "/big"
    data = os.urandom(5 << 20)
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o644)
    out, status = await s.run("cat", path, seconds=3 * LIMIT)
    check(status == 0 and hashlib.sha256(out).digest() ==
          hashlib.sha256(data).digest(), "%d bytes came" % len(out))
    seqs = sorted(m["params"]["seq"] for m in s.notes)
    check(seqs == list(range(1, len(seqs) + 1)), "events have numbers")


async def big_messages(rig):
    """4 MiB in one message, up and down, and so cut into many records."""
    await rig.start()
    s = await rig.session()
    data = os.urandom(3 << 20)
    path = rig.dir + "/folder"
    os.mkdir(path)
    os.chmod(path, 0o777)
    uri = "file://" + path + "/file"
    await s.call("fs/writeFile", {
        "path": uri, "dataBase64": base64.b64encode(data).decode()})
    before = s.frames["data"]
    got = await s.call("fs/readFile", {"path": uri})
    check(base64.b64decode(got["dataBase64"]) == data, "the same again")
    check(s.frames["data"] - before >= len(data) * 4 // 3 // 61440, "records")
    check(s.largest == 61456, "the biggest has %d bytes" % s.largest)


async def odd_records(rig):
    """Records of one byte, none, several messages, parts of a length."""
    await rig.start()
    s = await rig.session()
    s.record = 1
    await rig.probe(s)
    s.record = 7
    s.send(s.seal(b""))
    await rig.probe(s)

    def message(n):
        return b"".join(lib.harness.cut(
            b'{"id":%d,"method":"environment/info","params":{}}' % n))
    s.send(s.seal(message(9001) + message(9002) + message(9003)[:2]))
    s.send(s.seal(b""))
    s.send(s.seal(message(9003)[2:5]))
    s.send(s.seal(message(9003)[5:]))
    await lib.until(lambda: len(s.orphans) == 3, what="three answers")
    check({m["id"] for m in s.orphans} == {9001, 9002, 9003}, "%s" % s.orphans)


async def two_executors(rig):
    """Two environments at one registry: harnesses reach the right one."""
    await rig.start()
    other = "env-" + "other"
    rig.program(other)
    await rig.linked(other)
    a, b = await rig.session(), await rig.session(environment=other)
    check(a.bundle["executor_public_key"] != b.bundle["executor_public_key"],
          "keys of their own")
    await asyncio.gather(rig.probe(a), rig.probe(b))


@lib.own_registry
async def names_that_need_care(rig):
    """An environment id is one segment of the path whatever is in it, and the
    URL may have a path of its own and slashes at its end."""
    await rig.new_registry()
    rig.environment = "a b%c?d#e/f\u00e4"
    program = rig.program(url=rig.registry.url + "/base/path//")
    await rig.linked(program=program)
    entry, = rig.registry.seen("register")
    check(entry.target.startswith(
        "/base/path/cloud/environment/a%20b%25c%3Fd%23e%2Ff%C3%A4/"),
        entry.target)
    await rig.probe()


names_that_need_care = lib.ours(names_that_need_care)


async def the_key_stays(rig):
    """One identity for all of a program's life, and one registration."""
    await rig.start()
    first = rig.registry.environment(rig.environment).key
    rig.link.cut()
    await rig.linked(after=1)
    check(len(rig.registry.seen("register")) == 1, "registered again")
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=2)
    check(rig.registry.environment(rig.environment).keys == [first] * 2,
          "the same key")
    await rig.probe()


async def it_stops(rig):
    """SIGTERM ends it soon, with its processes."""
    program = await rig.start()
    s = await rig.session()
    await s.start("p", "sleep", "600")
    pids = lib.descendants(program.pid)
    took = await program.stop()
    lib.in_time(took < 5, "that took %.1f s" % took)
    check(not any(lib.is_alive(p) for p in pids), "some are left")


lib.main(a_command, the_registration, the_upgrade, the_validation,
         streams_side_by_side, much_output, big_messages, odd_records,
         two_executors, names_that_need_care, the_key_stays, it_stops,
         at_once=2)
