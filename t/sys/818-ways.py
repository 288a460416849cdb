"""818: proxies and certificates: the way to the registry and the rendezvous."""
import asyncio
import importlib

lib = importlib.import_module("8common")
proxies = importlib.import_module("8proxy")
from client import check, say  # noqa: E402

CA = None


async def certificates(rig):
    return await lib.aside(proxies.Certificates, rig.dir + "/ca")


# --- TLS ---------------------------------------------------------------------

async def trusted(rig):
    """https and wss with a certificate of an authority that we name."""
    ca = await certificates(rig)
    await rig.new_registry(tls=await lib.aside(ca.context, "good"))
    await rig.start(options=["UplinkCaFile=" + ca.ca])
    check(rig.registry.url.startswith("https:"), "TLS")
    await rig.probe()
    s = await rig.session()
    out, _ = await s.run("head", "-c", "3000000", "/dev/zero")
    check(len(out) == 3000000, "%d bytes" % len(out))
    rig.link.cut()
    await rig.linked(after=1)
    await rig.probe()


async def by_name(rig):
    """The name of the host counts, and each of its addresses is tried."""
    ca = await certificates(rig)
    await rig.new_registry(
        tls=await lib.aside(ca.context, "name", alt="DNS:localhost"),
        name="localhost")
    await rig.start(options=["UplinkCaFile=" + ca.ca])
    await rig.probe()


def refused(name, make, trust=True):
    """No request is sent, and the row says why."""
    async def case(rig):
        ca = await certificates(rig)
        await rig.new_registry(tls=await lib.aside(make, ca))
        program = rig.program(options=["UplinkCaFile=" + ca.ca]
                              if trust else [])
        row = await program.state("waiting")
        await asyncio.sleep(2)
        check(not rig.registry.requests, "a request was sent")
        check(program.status() is None, "it ended")
        say("%s: %s" % (name, row["trouble"]))
        check(row["trouble"], "%s" % row)
        await lib.until(lambda: "certificate" in program.log().lower(),
                        what="a word about it in the log")
    case.__name__ = "refused_" + name
    return case


async def bad_rendezvous(rig):
    """The registry is trusted, the rendezvous that it names is not."""
    ca = await certificates(rig)
    await rig.new_registry(tls=await lib.aside(ca.context, "good"))
    other = await rig.new_registry(tls=await lib.aside(ca.own, "self"))
    rig.registry.patch = {"url": "wss://127.0.0.1:%d/x?sig=y" % other.port}
    program = rig.program(options=["UplinkCaFile=" + ca.ca])
    await lib.until(lambda: rig.registry.seen("register"), what="a request")
    await asyncio.sleep(2.5)
    check(not other.requests, "a request was sent")
    check(program.status() is None, "it ended")


async def no_such_file(rig):
    """A file of certificates that is not there, or is none."""
    await rig.new_registry()
    nothing = rig.dir + "/nothing"
    with open(nothing, "w", encoding="ascii") as f:
        f.write("not a certificate\n")
    for path in (rig.dir + "/missing", nothing):
        program = rig.program(url="https://127.0.0.1:%d" % rig.registry.port,
                              options=["UplinkCaFile=" + path])
        check(await program.exited() == 78, "%s" % program.status())
        check(path in program.log(), "the log does not name it")
    check(not rig.registry.requests, "a request was sent")


async def plain_port(rig):
    """https to a port that speaks http, and the reverse."""
    ca = await certificates(rig)
    clear = await rig.new_registry()
    secure = await rig.new_registry(tls=await lib.aside(ca.context, "good"))
    some = [rig.program(url="https://127.0.0.1:%d" % clear.port),
            rig.program(url="http://127.0.0.1:%d" % secure.port)]
    await asyncio.sleep(2)
    check(not clear.requests and not secure.requests, "a request was sent")
    check(all(p.status() is None for p in some), "one ended")


# --- proxies -----------------------------------------------------------------

async def with_proxy(rig, env, secret=None, tls=True, **how):
    """(proxy, program) with the variables, where %s is the proxy's URL."""
    proxy = await proxies.Proxy(secret).start()
    rig.proxies.append(proxy)
    if tls:
        ca = await certificates(rig)
        await rig.new_registry(tls=await lib.aside(ca.context, "good"), **how)
        options = ["UplinkCaFile=" + ca.ca]
    else:
        await rig.new_registry(**how)
        options = []
    return proxy, rig.program(options=options, env={
        k: v.replace("%s", proxy.url) for k, v in env.items()})


def goes_through(name, env, secret=None, tls=True):
    async def case(rig):
        proxy, program = await with_proxy(rig, env, secret, tls)
        await rig.linked(program=program)
        await rig.probe()
        here = "127.0.0.1:%d" % rig.registry.port
        check(len(proxy.targets) >= 3 and set(proxy.targets) == {here},
              "%s, %s" % (proxy.targets, proxy.other))
        check(not proxy.other, "%s" % proxy.other)
        # All that came to the registry came that way.
        check(len(proxy.targets) >= len({e.peer for e in
                                         rig.registry.requests}), "around it")
        if tls:
            check(rig.token.encode() not in proxy.bytes, "it saw the token")
        if secret:
            check(secret not in program.log() and secret.split(":")[1] not in
                  program.log(), "its password is in the log")
    case.__name__ = "through_" + name
    return case


def goes_around(what, env, **how):
    async def case(rig):
        proxy, program = await with_proxy(rig, env, **how)
        await rig.linked(program=program)
        await rig.probe()
        check(not proxy.targets and not proxy.other, "it was asked")
    case.__name__ = "around_" + what
    return case


def bad_proxy(name, prepare, secret=None):
    """No way through: it waits, and nothing goes around it."""
    async def case(rig):
        proxy, program = await with_proxy(rig, {"https_proxy": "%s"}, secret)
        prepare(proxy)
        await asyncio.sleep(3)
        check(program.status() is None, "it ended")
        check(not rig.registry.requests, "around the proxy")
        row = await program.uplink()
        check(row["state"] in ("waiting", "registering"), "%s" % row)
        lib.in_time(len(proxy.targets) + proxy.denied <= 5, "too often")
        check("s3cret" not in program.log(), "a password in the log")
        if name == "wrong_secret":
            await lib.until(lambda: proxy.denied >= 2, what="two questions")
    case.__name__ = "bad_proxy_" + name
    return case


def other_kind(env, listen=False):
    """A proxy that we cannot talk to is said, and for good: nothing goes
    around it, and nobody waits for it to become another one."""
    async def case(rig):
        ca = await certificates(rig)
        await rig.new_registry(tls=await lib.aside(ca.context, "good"))
        program = rig.program(
            options=["UplinkCaFile=" + ca.ca], env=env,
            listen=["unix:%s/socket" % rig.dir] if listen else [])
        if listen:
            row = await program.state("refused")
            check("settings" in row["trouble"], "%s" % row)
        else:
            check(await program.exited() == 1, "status")
        check("the proxy that the environment names is not http://HOST:PORT, "
              "and others are not supported" in program.log(), "why?")
        check("s3cret" not in program.log(), "a password in the log")
        check(not rig.registry.requests, "around the proxy")
    case.__name__ = "other_kind_" + "_".join(
        [*env, *(["listening"] if listen else [])])
    return case


def run(case):
    async def wrapped(rig):
        rig.proxies = []
        try:
            await case(rig)
        finally:
            for proxy in rig.proxies:
                await proxy.stop()
    wrapped.__name__ = case.__name__
    return lib.ours(wrapped)


lib.main(*map(run, (
    trusted, by_name,
    refused("unknown_authority", lambda ca: ca.context("x"), trust=False),
    refused("self_signed", lambda ca: ca.own("self")),
    refused("other_name", lambda ca: ca.context("x", alt="DNS:example.org")),
    refused("other_address", lambda ca: ca.context("x", alt="IP:127.0.0.2")),
    refused("expired", lambda ca: ca.context("x", end="20210101000000Z")),
    refused("not_yet", lambda ca: ca.context("x", begin="20390101000000Z")),
    bad_rendezvous, no_such_file, plain_port,
    goes_through("https_proxy", {"https_proxy": "%s"}),
    goes_through("HTTPS_PROXY", {"HTTPS_PROXY": "%s/"}),
    goes_through("all_proxy", {"all_proxy": "%s"}),
    goes_around("loopback_in_clear", {"http_proxy": "%s"}, tls=False),
    goes_through("secret", {"https_proxy": "%s"}, "user:s3cret"),
    goes_through("other_exceptions", {
        "https_proxy": "%s", "no_proxy": "example.org,10.0.0.1, 127.0.0.2"}),
    goes_around("no_proxy", {"https_proxy": "%s", "no_proxy": "127.0.0.1"}),
    goes_around("NO_PROXY", {"https_proxy": "%s",
                             "NO_PROXY": "x.org, 127.0.0.1"}),
    goes_around("all", {"https_proxy": "%s", "no_proxy": "*"}),
    goes_around("localhost", {"https_proxy": "%s", "no_proxy": "localhost"},
                name="localhost"),
    goes_around("other_kind", {"http_proxy": "%s"}),
    # Not in capitals: a CGI program has that from its client.
    goes_around("HTTP_PROXY", {"HTTP_PROXY": "%s"}, tls=False),
    bad_proxy("wrong_secret", lambda p: setattr(p, "secret", "user:other"),
              secret="user:s3cret"),
    bad_proxy("garbage", lambda p: setattr(p, "answer", b"what?\r\n\r\n")),
    bad_proxy("refuses", lambda p: setattr(
        p, "answer", b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")),
    bad_proxy("hangs", lambda p: setattr(p, "hangs", True)),
    goes_around("other_kind_elsewhere", {"http_proxy": "socks5://x"}),
    goes_around("other_kind_of_others", {
        "https_proxy": "socks5://x", "no_proxy": "127.0.0.1"}),
    other_kind({"https_proxy": "socks5://user:s3cret@127.0.0.1:1"}),
    other_kind({"https_proxy": "https://127.0.0.1:1"}, listen=True),
    other_kind({"all_proxy": "socks5h://127.0.0.1:1"}))),
    at_once=4)
