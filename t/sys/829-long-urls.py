"""829: how long the URL of a rendezvous may be: it is asked for as it was
given, by executor and harness, or the log and the status say why not."""
import asyncio
import importlib

import tokens

lib = importlib.import_module("8common")
proxy = importlib.import_module("8proxy")
from client import BUILD, LIMIT, TMP, check  # noqa: E402

# Of the whole URL; the first is where libwebsockets cuts.
LENGTHS = 1000, 2049, 2600, 4096, 8191
TOO_LONG = 8192


def lengthen(where, length):
    """From now on what the registry gives has that many bytes, all of which
    matter: the last ones are those that let somebody in."""
    given = type(where).ticket

    def ticket(*how):
        url = given(where, *how)
        head, tail = url.split("?")
        filler = "?pad=%s&" % ("0123456789abcdef" * length)[
            :length - len(url) - len("pad=&")]
        made = head + filler + tail
        assert len(made) == length
        where.given = made
        return made
    where.ticket = ticket


def target(url):
    return "/" + url.split("/", 3)[3]


async def run(rig, *more):
    """A harness's command: (status, output, error)."""
    child = await asyncio.create_subprocess_exec(
        BUILD + "/execsrvctl", "run", "--url", "remote:%s@%s" %
        (rig.environment, rig.registry.url), "--token-file",
        tokens.secret(rig.registry.harness_token), *more, "--", "echo", "on",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(3 * LIMIT):
        out, err = await child.communicate()
    return child.returncode, out, err.decode()


async def both_ways(rig, length, *more, **how):
    lengthen(rig.registry, length)
    made = rig.program(**how)
    await rig.linked(program=made)
    check(rig.link.entry.target == target(rig.registry.given),
          "%d bytes: %r came" % (length, rig.link.entry.target[-80:]))
    check(len(rig.registry.upgrades()) == 1, "not at once")
    got = await run(rig, *more)
    check(got == (0, b"on\n", ""), "%d bytes: %r" % (length, got))
    check(rig.registry.upgrades()[-1].target == target(rig.registry.given),
          "%d bytes: what the harness asks for" % length)


def whole(length):
    async def case(rig):
        await rig.new_registry()
        await both_ways(rig, length)
    case.__name__ = "whole_%d" % length
    return case


async def whole_with_tls(rig):
    ca = proxy.Certificates(TMP + "/ca")
    await rig.new_registry(tls=ca.context("good"), name="localhost")
    await both_ways(rig, 4096, "--ca-file", ca.ca,
                    env={"SSL_CERT_FILE": ca.ca})


@lib.ours
async def too_long(rig):
    """One that is not taken is not asked for in part."""
    await rig.new_registry()
    lengthen(rig.registry, TOO_LONG)
    made = rig.program()
    await lib.until(lambda: "a URL of more than 8191 bytes" in made.log(),
                    what="the log")
    await made.state("pausing", that=lambda row: row["trouble"] ==
                     "rendezvous: URL cannot be used")
    check(not rig.registry.upgrades(), "it connected")
    # What the registry gives to a harness is no better.
    del rig.registry.ticket
    other = rig.program("other")
    await rig.linked("other", program=other)
    rig.environment = "other"
    lengthen(rig.registry, TOO_LONG)
    status, out, err = await run(rig)
    check((status, out) == (125, b"") and
          "a rendezvous URL of more than 8191 bytes" in err, err)


lib.main(*map(whole, LENGTHS), whole_with_tls, too_long)
