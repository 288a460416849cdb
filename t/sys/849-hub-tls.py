"""execsrv-hub: TLS to the engine, to other hubs, and of harnesses to them."""
import contextlib
import importlib
import os
import signal
import ssl
import subprocess
import tempfile

from client import BUILD, LIMIT, TMP, check, in_time, main, wait_for

lib = importlib.import_module("8hub")
fleet = importlib.import_module("8fleet")
frames = importlib.import_module("8frames")
Certificates = importlib.import_module("8proxy").Certificates
Executor = importlib.import_module("8executor").Executor
Hub, Site, Ws, Refused = lib.Hub, fleet.Site, lib.Ws, lib.Refused

EXPIRED = {"begin": "20200101000000Z", "end": "20210101000000Z"}
OTHER = {"alt": "DNS:other.example,IP:192.0.2.1"}


class Authority(Certificates):
    """Names of files: of a certificate, and of its key."""

    def __init__(self):
        folder = tempfile.mkdtemp(dir=TMP)
        os.chmod(folder, 0o755)
        super().__init__(folder + "/ca")

    def made(self, name, **how):
        self.context(name, **how)
        path = os.path.join(self.dir, name)
        os.chmod(path + ".pem", 0o644)
        return path + ".pem", path + ".key"

    def own_made(self, name):
        self.own(name)
        return ["%s/%s.%s" % (self.dir, name, end) for end in ("pem", "key")]


class TlsNats(fleet.Nats):
    """A server that has TLS; its certificate may be changed."""

    def __init__(self, pair):
        self.host = "127.0.0.1"
        super().__init__(self.text(pair))

    @staticmethod
    def text(pair):
        return 'tls { cert_file: "%s", key_file: "%s" }\n' % tuple(pair)

    def change(self, pair):
        self.kill()
        self.config = self.text(pair)
        self.start()

    @property
    def url(self):
        return "tls://%s:%d" % (self.host, self.port)


def engine():
    """Only a server with a certificate of ours, for its name, and now."""
    fleet.need_server()
    ours, others = Authority(), Authority()
    good = ours.made("good")
    with TlsNats(good) as nats:
        for host in ("127.0.0.1", "localhost"):
            nats.host = host
            hub = Hub("Engine %s\nHubUrl http://127.0.0.1:1\nCaFile %s" %
                      (nats.url, ours.ca), starts=False)
            nats.change(good)
            with hub:
                hub.start()
                for name, pair in (
                        ("another authority", others.made("good")),
                        ("itself", ours.own_made("own")),
                        ("another name", ours.made("name", **OTHER)),
                        ("expired", ours.made("old", **EXPIRED))):
                    # What stays as it is is not said again.
                    wait_for(lambda h=hub: h.ctl("status")[1]["engine_up"],
                             LIMIT, "it is up")
                    said = hub.log().count("certificate")
                    nats.change(pair)
                    wait_for(lambda h=hub, n=said:
                             h.log().count("certificate") > n, LIMIT,
                             "it says so: " + name)
                    check(not hub.ctl("status")[1]["engine_up"], name)
                    nats.change(good)
                wait_for(lambda h=hub: h.ctl("status")[1]["engine_up"],
                         LIMIT, "it is up again")
    # Without TLS, or without an authority, it is none.
    with fleet.Nats() as nats:
        for url, why in ((nats.url.replace("nats:", "tls:"), "has no TLS"),):
            hub = Hub("Engine %s\nHubUrl http://127.0.0.1:1\nCaFile %s" %
                      (url, ours.ca), starts=False)
            with hub:
                hub.start()
                wait_for(lambda h=hub, w=why: w in h.log(), LIMIT, why)
                check(not hub.ctl("status")[1]["engine_up"], why)
    hub = Hub("Engine tls://127.0.0.1:1\nHubUrl http://127.0.0.1:1",
              starts=False)
    done = subprocess.run([BUILD + "/execsrv-hub", "-t", "-f",
                           hub.path("hub.conf")], capture_output=True,
                          check=False, timeout=LIMIT)
    check(done.returncode == 78 and b"CaFile" in done.stderr, "%s" % done)


def sites():
    """Two hubs find each other's executors over TLS, by the server's name."""
    fleet.need_server()
    ours = Authority()
    nats = TlsNats(ours.made("good"))
    nats.host = "localhost"
    with Site(nats=nats, more="CaFile " + ours.ca) as site:
        a, b = site.hubs
        x = fleet.attach_at(a)
        h = Ws(b.connect().json()["url"])
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        nats.kill(signal.SIGKILL)
        nats.start()
        wait_for(lambda: b.connect().status == 200, LIMIT, "it is found")


class TlsSite(Site):
    """Each hub has a listener with TLS for the others."""

    def __init__(self, ours, trust=None):
        self.ours, self.ca = ours, trust or ours.ca
        self.pair = ours.made("hub")
        super().__init__(splices=True)

    def reach(self):
        return ("InternalUrl https://127.0.0.1:@SECURE@\nListen @URL@\n"
                "Listen https://127.0.0.1:@SECURE@\nCertificate %s\n"
                "CertificateKey %s\nCaFile %s" % (*self.pair, self.ca))


def harness_at(hub, site):
    """Its websocket, by this hub."""
    answer = hub.connect()
    in_time(answer.status != 503, "the engine was slow")
    got = answer.json()
    check(got["url"].startswith("ws://127.0.0.1:%d/" % site.door.port), got)
    return Ws("ws://127.0.0.1:%d/%s" % (hub.port,
                                        got["url"].split("/", 3)[3]))


def splices():
    """Bytes whole and in order; what is not the other hub gets none."""
    ours, others = Authority(), Authority()
    with TlsSite(ours) as site:
        a, b = site.hubs
        x = fleet.attach_at(a)
        with contextlib.closing(harness_at(b, site)) as h:
            h.send(frames.resume(b"s"))
            x.expect(frames.resume(b"s"))
            sent = [frames.data(b"s", n, os.urandom(61000))
                    for n in range(60)]
            for n, f in enumerate(sent):
                x.send(f)
                h.expect(f)
            up = frames.data(b"s", 1, os.urandom(50000))
            h.send(up)
            x.expect(up)
        check(x.reset()[0] == b"s", "it is told")
        good = [open(p, "rb").read() for p in site.pair]
        for name, pair in (("another authority", others.made("hub2")),
                           ("itself", ours.own_made("own")),
                           ("another name", ours.made("name", **OTHER)),
                           ("expired", ours.made("old", **EXPIRED))):
            for to, source in zip(site.pair, pair):
                with open(to, "wb") as f, open(source, "rb") as g:
                    f.write(g.read())
            check(a.ctl("reload")[1]["ok"], "reload")
            try:
                harness_at(b, site)
                raise AssertionError("a hub that is none: " + name)
            except Refused as e:
                check(e.answer.status == 503, name)
            check(x.is_quiet(), name)
        check("certificate" in b.log(), b.log()[-1000:])
        for to, data in zip(site.pair, good):
            with open(to, "wb") as f:
                f.write(data)
        check(a.ctl("reload")[1]["ok"], "reload")
        harness_at(b, site).close()


def redirects():
    """HubUrl wss://: a harness of ours asks one hub, and is sent to another."""
    ours = Authority()
    pair = ours.made("hub")
    with Site(n=0) as site:
        site.reach = lambda: (
            "HubUrl wss://localhost:@SECURE@/\nListen @URL@\n"
            "Listen https://127.0.0.1:@SECURE@\nCertificate %s\n"
            "CertificateKey %s" % pair)
        for name in ("hub-a", "hub-b"):
            hub = site.add(name)
            hub.url = "https://localhost:%d" % hub.secure
        a, b = site.hubs
        wait_for(lambda: len(a.ctl("hubs")[0]) == 2, LIMIT, "both")
        b.put("ci", b.token["ci"] + "\n")
        with Executor(a, "build-1", options=["UplinkCaFile=" + ours.ca]):
            for hub in (a, b):
                done = subprocess.run(
                    [BUILD + "/execsrvctl", "run", "--url",
                     "remote:build-1@" + hub.url, "--ca-file", ours.ca,
                     "--token-file", b.path("ci"), "--", "seq", "1",
                     "100000"], stdin=subprocess.DEVNULL, check=False,
                    capture_output=True, timeout=LIMIT)
                check(done.returncode == 0 and done.stdout == b"".join(
                    b"%d\n" % n for n in range(1, 100001)), "%r" %
                    (done.stderr,))


check(ssl.HAS_TLSv1_3, "a Python with TLS")
main(engine, sites, splices, redirects)
