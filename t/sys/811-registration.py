"""811: every way in which a registration can fail: what is tried again, with
which pauses, and what ends it."""
import asyncio
import importlib
import time

lib = importlib.import_module("8common")
from client import (check, in_time, rss, say, SANITIZED,  # noqa: E402
                    SCALE)

Fault, FOREVER = lib.Fault, lib.FOREVER
PAUSES = [1, 1, 2, 4, 5, 5]
# The reference repeats these two only.
REPEATED = {"registration_conflict": 503,
            "authentication_service_unavailable": 502}


def asked(r):
    return r.seen("register")


def pauses_of(n):
    """The reference waits for half a second only at first."""
    return [0.5 if lib.reference else PAUSES[0], *PAUSES[1:n]]


def is_polite(times):
    """The pauses of the specification, each up to half longer; never more
    than one request a second."""
    gaps = [b - a for a, b in zip(times, times[1:])]
    for gap, pause in zip(gaps, pauses_of(len(PAUSES))):
        in_time(pause - 0.02 <= gap <= 1.5 * pause + 0.5 * SCALE,
                "pauses %s" % gaps)
    return gaps


def tried_again(name, fault, count=3):
    """Three failures, then it works."""
    async def case(rig):
        await rig.new_registry()
        pauses = pauses_of(count)
        rig.registry.faults["register"] = [fault() for _ in pauses]
        program = rig.program()
        await rig.linked(seconds=sum(pauses) * 1.5 + 40, program=program)
        times = [e.ended or e.at for e in asked(rig.registry)]
        check(len(times) == len(pauses) + 1, "%d requests" % len(times))
        starts = [e.at for e in asked(rig.registry)]
        for ended, start, pause in zip(times, starts[1:], pauses):
            in_time(pause - 0.02 <= start - ended <=
                    1.5 * pause + 0.5 * SCALE, "a pause of %.2f s, not %g" %
                    (start - ended, pause))
        await rig.probe()
    case.__name__ = "again_" + name
    return case


def given_up(name, fault, patch=None, says="", tries=1):
    """It ends with status 1, after so many requests at most."""
    async def case(rig):
        await rig.new_registry()
        rig.registry.faults["register"] = [fault] if fault else []
        rig.registry.patch = patch or {}
        program = rig.program()
        status = await program.exited()
        check(status == 1, "status %d" % status)
        check(says in program.log(), "%r is not in what it says" % says)
        times = [e.at for e in asked(rig.registry)]
        check(1 <= len(times) <= tries, "%d requests" % len(times))
        check(all(b - a >= 1 for a, b in zip(times, times[1:])),
              "too fast: %s" % times)
        check(not rig.registry.upgrades(), "it connected")
    case.__name__ = "ends_" + name
    return case


def either(name, fault=None, patch=None):
    """It ends with status 1 or goes on at the usual pace; it never connects
    and nobody else is asked."""
    async def case(rig):
        await rig.new_registry()
        other = await rig.new_registry()
        rig.registry.faults["register"] = [fault(other)] if fault else []
        rig.registry.patch = patch or {}
        program = rig.program()
        await lib.until(lambda: program.status() is not None or
                        len(asked(rig.registry)) > 3, lib.LIMIT,
                        "it ends or goes on")
        check(program.status() in (None, 1), "status %s" % program.status())
        say("%s: %s" % (name, "goes on" if program.status() is None
                        else "ends"))
        is_polite([e.at for e in asked(rig.registry)])
        check(not rig.registry.upgrades(), "it connected")
        check(not other.requests, "somebody else was asked")
    case.__name__ = "either_" + name
    return case


def error(status, code="some_code", fields=(), times=1):
    return Fault(status, {"error": {"code": code, "message": "no"}}, fields,
                 times=times)


def redirect(status):
    return lambda other: Fault(status, b"", [
        "Location: %s/cloud/environment/x/register" % other.url],
        times=FOREVER)


def words(body, status=200):
    return lambda other: Fault(status, body, times=FOREVER)


# --- transport ---------------------------------------------------------------

@lib.ours
async def nobody_listens(rig):
    """The registry is not there yet."""
    await rig.new_registry()
    await rig.registry.stop()
    program = rig.program()
    await asyncio.sleep(1.2)
    check(program.status() is None, "it ended")
    if not lib.reference:
        await lib.until(lambda: "registry %s: Connection refused" %
                        rig.registry.url in program.log(), what="the reason")
    await rig.registry.start()
    await rig.linked(program=program)
    await rig.probe()


@lib.ours
async def no_such_name(rig):
    """Names that do not exist are looked for again."""
    await rig.new_registry()
    program = rig.program(url="https://registry.invalid/")
    await asyncio.sleep(4)
    check(program.status() is None, "it ended")
    row = await program.uplink()
    check(row["state"] in ("waiting", "registering"), "%s" % row)
    in_time(2 <= row["attempts"] <= 6, "%s" % row)
    check("registry https://registry.invalid:443: host not found" in
          program.log(), program.log())


@lib.ours
async def no_answer(rig):
    """10 s for an answer, however slowly it comes; then a pause."""
    await rig.new_registry()
    slow = [b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"] + \
        [b" "] * 1000
    rig.registry.faults["register"] = [
        Fault(hang=True), Fault(pieces=slow, pause=0.25)]
    program = rig.program()
    await rig.linked(seconds=40, program=program)
    first, second, third = asked(rig.registry)
    in_time(9.5 < first.ended - first.at < 10.5 + SCALE,
            "%.1f s" % (first.ended - first.at))
    in_time(0.98 <= second.at - first.ended < 1.25 + SCALE,
            "a pause of %.2f s" % (second.at - first.ended))
    in_time(10.9 < third.at - second.at < 12.5 + SCALE,
            "%.1f s" % (third.at - second.at))


@lib.ours
async def too_much(rig):
    """An answer without end is not read on."""
    await rig.new_registry()
    piece = b"x" * (1 << 20)
    fault = Fault(pieces=[b"HTTP/1.1 200 OK\r\nContent-Type: "
                          b"application/json\r\n\r\n"] + [piece] * 1000)
    rig.registry.faults["register"] = [fault]
    program = rig.program()
    await lib.until(lambda: asked(rig.registry), what="a request")
    uplink, = program.uplink_pids()
    most = 0
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        most = max(most, rss(uplink))
        await asyncio.sleep(0.02)
    check(SANITIZED or most < 24 << 20, "%d MiB" % (most >> 20))
    await rig.linked(program=program)
    await rig.probe()


async def unknown_members(rig):
    """What is not known in an answer is ignored, even if it is long."""
    await rig.new_registry()
    rig.registry.patch = {"transport_policy": {"a": [1, None, "x" * 50000]},
                          "later": True}
    rig.program()
    await rig.linked()
    await rig.probe()


# --- pace --------------------------------------------------------------------

@lib.ours
async def for_ever(rig):
    """The pauses grow to 5 s and stay so."""
    await rig.new_registry()
    rig.registry.faults["register"] = [error(500, times=FOREVER)]
    program = rig.program()
    await lib.until(lambda: len(asked(rig.registry)) == 7, 60, "7 requests")
    is_polite([e.at for e in asked(rig.registry)])
    row = await program.state("waiting", that=lambda r: r["attempts"] >= 7)
    in_time(row["attempts"] == 7, "%s" % row)
    check("500" in row["trouble"], "%s" % row)
    rig.registry.faults["register"] = []
    await rig.linked(program=program)
    row = await program.state("connected")
    check(row["trouble"] in (None, ""), "%s" % row)


def retry_after(name, value, at_least, at_most):
    async def case(rig):
        await rig.new_registry()
        rig.registry.faults["register"] = [
            error(429, fields=["Retry-After: " + value])]
        program = rig.program()
        await rig.linked(program=program)
        first, second = asked(rig.registry)
        in_time(at_least - 0.02 <= second.at - first.at <= at_most + SCALE,
                "%.2f s" % (second.at - first.at))
    case.__name__ = "retry_after_" + name
    return lib.ours(case)


@lib.ours
async def retry_after_days(rig):
    """It waits, says so, and ends at once when told to."""
    await rig.new_registry()
    rig.registry.faults["register"] = [
        error(503, fields=["Retry-After: 864000"], times=FOREVER)]
    program = rig.program()
    await program.state("waiting")
    await asyncio.sleep(3)
    check(len(asked(rig.registry)) == 1, "it did not wait")
    took = await program.stop()
    in_time(took < 5, "%.1f s" % took)


@lib.ours
async def competitors(rig):
    """Random parts of the pauses differ between processes."""
    await rig.new_registry()
    rig.registry.faults["register"] = [error(503, times=FOREVER)]
    for n in range(4):
        rig.program("env-%d" % n)

    def times():
        by = {}
        for e in asked(rig.registry):
            by.setdefault(e.path, []).append(e.at)
        return by.values() if len(by) == 4 and all(
            len(t) > 1 for t in by.values()) else None
    gaps = sorted(t[1] - t[0] for t in await lib.until(
        times, what="two requests of each"))
    in_time(gaps[-1] - gaps[0] > 0.005, "they go in step: %s" % gaps)


# --- refused for good --------------------------------------------------------

@lib.ours
async def refused_beside_listeners(rig):
    """With local listeners the daemon goes on, and says how it is."""
    await rig.new_registry()
    rig.registry.faults["register"] = [error(404, times=FOREVER)]
    program = rig.program(listen=["unix:%s/socket" % rig.dir])
    row = await program.state("refused")
    check("404" in row["trouble"], "%s" % row)
    status, text = await program.ctl("uplinks")
    check("refused" in text and rig.environment in text, text)
    await asyncio.sleep(2)
    check(len(asked(rig.registry)) == 1, "asked again")
    check(program.status() is None, "it ended")
    await program.stop()


@lib.ours
async def refused_later(rig):
    """The registration expires, and then it is refused for good."""
    program = await rig.start()
    rig.registry.faults["register"] = [error(410, times=FOREVER)]
    rig.registry.expire()
    rig.link.cut()
    check(await program.exited() == 1, "status")
    check("410" in program.log(), "the status is in what it says")


@lib.ours
async def failures_later(rig):
    """The registration expires while the registry is in trouble: the sessions
    wait for it."""
    program = await rig.start()
    s = await rig.session()
    await s.start("p", "sleep", "600")
    rig.registry.faults["register"] = [error(500), Fault(cut=True)]
    rig.registry.expire()
    rig.link.cut()
    await rig.linked(after=1, program=program)
    s = await rig.session(resume=s.session)
    got = await s.call("process/read", {
        "processId": "p", "afterSeq": None, "maxBytes": 1, "waitMs": 0})
    check(not got["exited"], "the process ended")


# --- the command line --------------------------------------------------------

WRONG = {
    "no_url": ["--environment-id", "e"],
    "empty_url": ["--remote", " ", "--environment-id", "e"],
    "no_id": ["--remote", "URL"],
    "empty_id": ["--remote", "URL", "--environment-id", " "],
    "dots": ["--remote", "URL", "--environment-id", ".."],
    "dot": ["--remote", "URL", "--environment-id", "."],
    "scheme": ["--remote", "ftp://127.0.0.1/", "--environment-id", "e"],
    "no_host": ["--remote", "http:///", "--environment-id", "e"],
    "no_scheme": ["--remote", "127.0.0.1:1", "--environment-id", "e"],
    "password": ["--remote", "http://us3r:s3cret@127.0.0.1:1/",
                 "--environment-id", "e"],
    "broken_password": ["--remote", "http://us3r:s3cret/@127.0.0.1:1/",
                        "--environment-id", "e"],
    "forward_password": ["-o", "Uplink=x", "-o", "RegistryUrl=URL", "-o",
                         "EnvironmentId=e", "-o",
                         "Forward=ws://us3r:s3cret@127.0.0.1:1/"],
    "clear_text": ["--remote", "http://192.0.2.1/", "--environment-id", "e"],
}


async def command_line(rig):
    """What cannot be is refused at the start, before any request."""
    await rig.new_registry()
    for name, words_ in WRONG.items():
        if lib.reference and name in (
                "dots", "dot", "password", "broken_password",
                "forward_password", "scheme", "no_scheme", "no_host",
                "no_url"):
            continue
        program = lib.Program(rig, None, token=rig.token, arguments=[
            w.replace("URL", rig.registry.url) for w in words_])
        rig.programs.append(program)
        status = await program.exited()
        check(status not in (0, -6, -11) and program.log(),
              "%s: status %d, %r" % (name, status, program.log()))
        check("s3cret" not in program.log() and "us3r" not in program.log(),
              "%s: a password is in the log" % name)
        check("password" not in name or "//...@127.0.0.1:1/" in
              program.log(), "%s: %s" % (name, program.log()))
    program = rig.program(token=None)
    check(await program.exited() == 1, "without a credential")
    check(not rig.registry.requests, "a request was sent")


AGAIN = {
    "%s" % code: lambda code=code: error(REPEATED[code], code)
    for code in REPEATED}
AGAIN_OURS = {
    "408": lambda: error(408), "429": lambda: error(429),
    "500": lambda: error(500), "502": lambda: error(502),
    "503": lambda: Fault(503, b"<html>"), "504": lambda: Fault(504),
    "cut": lambda: Fault(cut=True),
    "closed": lambda: Fault(raw=b""),
    "half": lambda: Fault(raw=b"HTTP/1.1 200 OK\r\n"
                          b"Content-Length: 100\r\n\r\n{"),
    "not_http": lambda: Fault(raw=b"SSH-2.0-x\r\n\r\n")}

lib.main(
    no_answer, for_ever,
    *(tried_again(n, f) for n, f in AGAIN.items()),
    *(lib.ours(tried_again(n, f)) for n, f in AGAIN_OURS.items()),
    *(given_up("%d" % s, error(s, times=FOREVER), says="%d" % s)
      for s in (400, 404, 405, 409, 410, 422)),
    *(given_up("%d" % s, error(s, times=FOREVER), says="%d" % s, tries=3)
      for s in (401, 403)),
    given_up("other_environment", None, {"environment_id": "someone-else"}),
    given_up("other_profile", None, {"security_profile": "none"}),
    *(either("redirect_%d" % s, redirect(s)) for s in (301, 302, 307)),
    either("not_json", words(b"<html>")),
    either("empty", words(b"")),
    either("a_list", words(b"[1]")),
    *(either("without_" + m, patch={m: None}) for m in
      ("url", "environment_id", "security_profile",
       "executor_registration_id")),
    *(either("wrong_" + m, patch={m: v}) for m, v in
      (("url", 7), ("environment_id", {}), ("security_profile", True),
       ("executor_registration_id", []))),
    nobody_listens, no_such_name, too_much, unknown_members,
    retry_after("3", "3", 3, 4.5), retry_after("0", "0", 1, 1.3),
    retry_after("date", "Fri, 31 Dec 1999 23:59:59 GMT", 1, 1.3),
    retry_after("words", "-5 soon", 1, 1.3),
    retry_after_days, competitors, refused_beside_listeners, refused_later,
    failures_later, command_line, at_once=8)
