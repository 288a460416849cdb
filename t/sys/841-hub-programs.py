#!/usr/bin/env python3
"""execsrv-hub between execsrvd and execsrvctl: output whole and in order,
whatever happens to the hub; TLS, a proxy in front, a Unix socket."""
import contextlib
import importlib
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

from client import BUILD, LIMIT, check, descendants, in_time, main, skip, \
    wait_for

lib = importlib.import_module("8hub")
frames = importlib.import_module("8frames")
Hub = lib.Hub
Executor = importlib.import_module("8executor").Executor
ENVIRONMENT = "build-1"


def run(hub, *argv, url=None, options=(), token="ci"):
    """execsrvctl run, begun."""
    name = "token-" + token
    if not os.path.exists(hub.path(name)):
        hub.put(name, hub.token[token] + "\n")
    return subprocess.Popen(
        [BUILD + "/execsrvctl", "run", "--url", "remote:%s@%s" %
         (ENVIRONMENT, url or hub.url), "--token-file", hub.path(name),
         *options, "--", *argv], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def result(process):
    out, err = process.communicate(timeout=3 * LIMIT)
    return out, process.returncode, err


def commands():
    """Output, status, the user; who may not is told so."""
    with Hub() as hub, Executor(hub):
        out, status, err = result(run(hub, "sh", "-c", "echo hello; exit 3"))
        check((out, status) == (b"hello\n", 3), "%r %r %r" % (
            out, status, err))
        out, status, err = result(run(hub, "sh", "-c", "seq 1 300000"))
        check(out == b"".join(b"%d\n" % n for n in range(1, 300001)) and
              status == 0, "%d bytes, %r %r" % (len(out), status, err))
        out, status, err = result(run(hub, "true", token="nobody"))
        check(status != 0 and out == b"", "it ran: %r" % err)
        many = [run(hub, "sh", "-c", "seq %d %d" % (n, n + 20000))
                for n in range(8)]
        for n, p in enumerate(many):
            out, status, err = result(p)
            check(out == b"".join(b"%d\n" % i
                                  for i in range(n, n + 20001)) and
                  status == 0, "%d: %r %r" % (n, status, err))
        events = [e["event"] for e in hub.audit()]
        check(events.count("connect") >= 10, "%s" % events)


def kept(hub, hurt):
    """A line each 20 ms, while the hub is hurt: whole and in order."""
    p = run(hub, "sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); "
            "echo $i; sleep 0.02; done")
    # Its session is there once something came.
    first = p.stdout.readline()
    hurt()
    out, status, err = result(p)
    check(first + out == b"".join(b"%d\n" % n for n in range(1, 201)) and
          status == 0, "%r %r %r" % (out[-100:], status, err))


def losses():
    """The worker is killed; the executor is moved, or evicted."""
    with Hub() as hub, Executor(hub):
        def kill_worker():
            pid = hub.ctl("status")[1]["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: hub.is_ready() and
                     hub.ctl("status")[1]["pid"] != pid, LIMIT, "again")
        before = hub.metrics()["execsrv_hub_registrations_total"]
        check(before == 1, "%d registrations" % before)
        kept(hub, kill_worker)
        after = hub.metrics()["execsrv_hub_registrations_total"]
        check(after == 0, "%d registrations after a death" % after)
        kept(hub, lambda: hub.ctl("drain", environment=ENVIRONMENT))
        kept(hub, lambda: hub.ctl("evict", environment=ENVIRONMENT))


def restarted():
    """The hub ends and begins: executors come back without registering."""
    with Hub() as hub, Executor(hub):
        p = run(hub, "sh", "-c", "echo begin; sleep 3; echo end")
        check(p.stdout.readline() == b"begin\n", "it runs")
        hub.stop()
        hub.begin()
        out, status, err = result(p)
        check((out, status) == (b"end\n", 0), "%r %r %r" % (out, status,
                                                          err))
        check(hub.metrics()["execsrv_hub_registrations_total"] == 0,
              "a registration")


def stopped():
    """A client that does not read holds up its own stream only."""
    with Hub() as hub, Executor(hub):
        before = hub.metrics()["execsrv_hub_stalls_total"]
        slow = run(hub, "sh", "-c", "echo begin; seq 1 6000000")
        check(slow.stdout.readline() == b"begin\n", "it runs")
        below = descendants(slow.pid)
        for pid in [slow.pid, *below]:
            os.kill(pid, signal.SIGSTOP)
        try:
            wait_for(lambda: hub.metrics()["execsrv_hub_stops_total"] > 0,
                     LIMIT, "the executor is told")
            began = time.monotonic()
            for _ in range(3):
                out, status, err = result(run(hub, "echo", "hello"))
                check((out, status) == (b"hello\n", 0), "%r %r" % (out, err))
            in_time(time.monotonic() - began < 5, "others had to wait")
        finally:
            for pid in [slow.pid, *below]:
                os.kill(pid, signal.SIGCONT)
        out, status, err = result(slow)
        check(status == 0 and len(out) == sum(
            len(str(n)) + 1 for n in range(1, 6000001)), "%d bytes, %r %r" %
            (len(out), status, err))
        check(hub.metrics()["execsrv_hub_stalls_total"] == before, "a stall")


def limited():
    """MaxBytesPerSecond slows the streams of its subject, and no other."""
    with Hub(rules="""
Match Executor token:build
	MayRegister *
Match Harness token:ci
	MayConnect *
	MaxBytesPerSecond 1M
Match Harness token:pool
	MayConnect *
""") as hub, Executor(hub):
        began = time.monotonic()
        slow = run(hub, "sh", "-c", "echo begin; seq 1 700000")  # 4.8 MB
        check(slow.stdout.readline() == b"begin\n", "it runs")
        out, status, err = result(run(hub, "seq", "1", "700000",
                                      token="pool"))
        check(status == 0 and out.endswith(b"\n700000\n"), "%r" % err)
        in_time(slow.poll() is None, "the slow one was not slow")
        out, status, err = result(slow)
        check(status == 0 and out == b"".join(
            b"%d\n" % n for n in range(1, 700001)), "%d bytes, %r %r" %
            (len(out), status, err))
        check(time.monotonic() - began > 2.5, "too fast")
        check(hub.metrics()["execsrv_hub_stalls_total"] == 0, "a stall")


def certificate(hub):
    """A self-signed one for localhost."""
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
             hub.path("key"), "-out", hub.path("cert")], check=True,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        skip("no openssl")
    os.chmod(hub.path("key"), 0o600)
    os.chmod(hub.path("cert"), 0o644)


def tls():
    """By itself: TLS 1.2 and later, output whole, a new certificate."""
    hub = Hub(starts=False)
    certificate(hub)
    hub.settings = "Listen https://127.0.0.1:@SECURE@\nListen @URL@\n" \
        "Certificate cert\nCertificateKey key"
    hub.fleet_url = "https://127.0.0.1:@SECURE@"
    hub.write()
    with hub:
        hub.start()
        secure, plain = hub.secure, hub.url
        hub.url = "https://127.0.0.1:%d" % secure
        ca = "UplinkCaFile=" + hub.path("cert")
        with Executor(hub, options=[ca]):
            trust = ["--ca-file", hub.path("cert")]
            out, status, err = result(run(hub, "seq", "1", "200000",
                                          options=trust))
            check(out == b"".join(b"%d\n" % n for n in range(1, 200001)) and
                  status == 0, "%d bytes %r %r" % (len(out), status, err))
            context = ssl.create_default_context(cafile=hub.path("cert"))
            with socket.create_connection(("127.0.0.1", secure)) as s:
                with context.wrap_socket(s, server_hostname="localhost") as t:
                    check(t.version() in ("TLSv1.2", "TLSv1.3"), t.version())
                    first = t.getpeercert(True)
                    t.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    got = b""
                    while True:
                        piece = t.recv(4096)
                        if not piece:
                            break
                        got += piece
                    check(got.endswith(b"ok\n"), "%r" % got)
            # Plain bytes are no TLS.
            with socket.create_connection(("127.0.0.1", secure), LIMIT) as s:
                s.sendall(b"GET / HTTP/1.1\r\n\r\n")
                with contextlib.suppress(ConnectionResetError):
                    check(b"HTTP" not in s.recv(100), "plain")
            certificate(hub)
            check(hub.ctl("reload")[1]["ok"], "reload")
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            with socket.create_connection(("127.0.0.1", secure)) as s:
                with context.wrap_socket(s) as t:
                    check(t.getpeercert(True) != first, "the old one")
            check(hub.ctl("status")[1]["executors"] == 1, "it was lost")
        hub.url = plain


def slow_tls():
    """Whole output by TLS to who reads slowly, also at a rate of its own."""
    hub = Hub(rules="""
Match Executor token:build
	MayRegister *
Match Harness token:ci
	MayConnect *
Match Harness token:pool
	MayConnect *
	MaxBytesPerSecond 6M
""", starts=False)
    certificate(hub)
    hub.settings = "Listen https://127.0.0.1:@SECURE@\nListen @URL@\n" \
        "Certificate cert\nCertificateKey key"
    hub.write()
    context = ssl.create_default_context(cafile=hub.path("cert"))
    context.check_hostname = False
    with hub.start():
        def by_tls(answer, **how):
            return lib.Ws("ws://127.0.0.1:%d/%s" % (
                hub.secure, answer.json()["url"].split("/", 3)[3]),
                tls=context, **how)
        x = by_tls(hub.register(), more="X-Execsrv-Relay: flow\r\n")
        for token, name in ("ci", b"a"), ("pool", b"b"):
            h = by_tls(hub.connect(token=token), rcvbuf=4096)
            h.send(frames.resume(name))
            x.expect(frames.resume(name))
            sent = [frames.data(name, n, os.urandom(1 + n * 7919 % 61000))
                    for n in range(300)]
            t = threading.Thread(target=lambda s=sent: [x.send(f) for f in s])
            t.start()
            for n, f in enumerate(sent):
                h.expect(f)
                if n % 20 == 0:
                    time.sleep(0.02)
            t.join()
            flow = [frames.flow(name, is_stop) for is_stop in (True, False)]

            def heard():
                got = x.message()
                return heard() if got in flow else got
            for f in sent[:40]:
                h.send(f)
                check(heard() == f, "towards the executor")
            h.close()
            check(frames.decode(heard()).kind == "reset", "its end")


def half_open_tls():
    """Handshakes that do not go on: bounded, and nobody else waits."""
    hub = Hub(starts=False)
    certificate(hub)
    hub.settings = "Listen https://127.0.0.1:@SECURE@\nListen @URL@\n" \
        "Certificate cert\nCertificateKey key\nMaxUnauthenticated 50"
    hub.write()
    with hub:
        hub.start()
        secure = hub.secure
        context = ssl.create_default_context(cafile=hub.path("cert"))
        hello = ssl.MemoryBIO()
        half = context.wrap_bio(ssl.MemoryBIO(), hello,
                                server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            half.do_handshake()
        first = hello.read()
        socks = []
        for n in range(200):
            s = socket.create_connection(("127.0.0.1", secure), LIMIT)
            s.sendall((first, first[:20], first[:-1], b"\x16")[n % 4])
            socks.append(s)
            if n % 50 == 49:
                with socket.create_connection(("127.0.0.1", secure),
                                              LIMIT) as s, \
                        context.wrap_socket(
                            s, server_hostname="localhost") as t:
                    t.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    check(t.recv(100).startswith(b"HTTP/1.1 200 "), "served")
        values = hub.metrics()
        check(values["execsrv_hub_unauthenticated"] <= 51 and
              values["execsrv_hub_crowded_total"] >= 150, "%s" % values)
        # The rest have 10 s in all.
        wait_for(lambda: hub.metrics()["execsrv_hub_unauthenticated"] <= 1,
                 LIMIT, "they are closed")
        for s in socks:
            s.close()


def proxied():
    """PROXY v2 tells who it is; without it nobody is served."""
    with Hub(starts=False) as hub:
        hub.settings = "ProxyProtocol yes"
        hub.write()
        hub.is_ready = lambda: "listening on" in hub.log()
        hub.start()
        signature = b"\r\n\r\n\0\r\nQUIT\n"
        said = signature + b"\x21\x11\0\x0c" + bytes([10, 9, 8, 7]) + \
            bytes([127, 0, 0, 1]) + struct.pack(">HH", 1234, 443)
        ask = b"POST /cloud/environment/build-1/connect HTTP/1.1\r\n" \
            b"Host: x\r\nContent-Length: 0\r\n\r\n"
        check(hub.raw(ask, before=said).status == 401, "proxied")
        check(hub.audit()[-1]["address"] == "10.9.8.7", "%s" % hub.audit())
        check(hub.raw(ask, before=signature + b"\x20\0\0\0").status == 401,
              "LOCAL")
        for bad in (b"", b"\r\n\r\n\0\r\nQUIT\r", signature + b"\x31\0\0\0",
                    signature + b"\x21\x11\xff\xff"):
            check(hub.raw(ask, before=bad).status == 0, "%r" % bad)
        # Who is not the proxy could say anything.
        for where, status in (("192.0.2.1", 0), ("192.0.2.1,127.0.0.0/8", 401),
                              ("!127.0.0.1,127.0.0.0/8", 0)):
            hub.settings = "ProxyProtocol yes\nProxyFrom " + where
            hub.write()
            check(hub.ctl("reload")[1]["ok"], "reload")
            check(hub.raw(ask, before=said).status == status, where)
        check(hub.metrics()["execsrv_hub_strangers_total"] == 2, "counted")
        hub.settings = "ProxyProtocol yes\nProxyFrom 127.0.0.1/40"
        hub.write()
        check("ProxyFrom" in hub.ctl("reload")[1]["error"], "no network")


def unix_socket():
    """Plain, for a proxy on the same machine."""
    with Hub(starts=False) as hub:
        path = hub.path("sock")
        os.chmod(hub.dir, 0o777)
        hub.settings = "Listen unix:" + path
        hub.write()
        hub.start()
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT)
            s.connect(path)
            s.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            check(s.recv(100).startswith(b"HTTP/1.1 200 OK\r\n"), "answer")


def configurations():
    """Mistakes are told with their places, by -t, and nothing starts."""
    hub = Hub(starts=False)
    path = hub.path("hub.conf")

    def complaint(text, **files):
        hub.write()
        for name, more in files.items():
            hub.put(name, more)
        with open(path, "a", encoding="ascii") as f:
            f.write(text)
        got = subprocess.run([BUILD + "/execsrv-hub", "-t", "-f", path],
                             stdin=subprocess.DEVNULL, capture_output=True,
                             check=False)
        return got.returncode, got.stderr.decode()
    check(complaint("")[0] == 0, "it is right")
    for text, words in (
            ("MayRegsiter x\n", 'did you mean "MayRegister"?'),
            ("MayRegister x\n", "belongs in a block for the other side"),
            ("FleetUrl x\n", "belongs before the first Match"),
            ("Match Executor group:x\n", "for Harness only"),
            ("Match Nobody x\n", "expected Executor or Harness"),
            ("Match Executor\n", "expected patterns"),
            ("Match Executor !x\n", "bad patterns"),
            ("Match Executor x\nLabel pool\n", "expected KEY=VALUE"),
            ("MayList perhaps\n", "MayList: bad value")):
        status, said = complaint(text)
        check(status == 78 and words in said, "%d %s" % (status, said))
    for name, text, words in (
            ("secret", "short\n", "at least 32 characters"),
            ("secret", "", "empty"),
            ("tokens", "x\n", "expected a name and a hash"),
            ("tokens", "x sha256:00 connect=!a\n", "sha256"),
            ("tokens", "x sha256:%s connect=!a\n" % ("0" * 64), "patterns"),
            ("tokens", "x sha256:%s uid=0\n" % ("0" * 64), "none of")):
        status, said = complaint("", **{name: text})
        check(status == 78 and words in said, "%d %s" % (status, said))
    certificate(hub)
    with open(hub.path("cert"), encoding="ascii") as f:
        cert = f.read()
    with open(hub.path("key"), encoding="ascii") as f:
        key = f.read()
    certificate(hub)
    hub.settings = "Certificate one"
    for one, words in (
            (cert + key, ""), (key + cert, ""), ("x\n", "one: it has no cert"),
            (key, "one: it has no cert"), (cert, "one: it has no private")):
        status, said = complaint("", one=one)
        check((status == 0) == (not words) and words in said, said)
    hub.settings = "Certificate one\nCertificateKey two"
    for two, words in (
            (key, ""), ("x\n", "two: it has no private"),
            (open(hub.path("key"), encoding="ascii").read(),
             "CertificateKey %s: its key is not that of" % hub.path("two"))):
        status, said = complaint("", one=cert, two=two)
        check((status == 0) == (not words) and words in said, said)
    hub.settings = ""
    for text, keys, words in (
            ("", '{"keys":[]}', "needs BearerAudience"),
            ("BearerAudience x\n", "", "not JSON"),
            ("BearerAudience x\n", '{"keys":[]}', "no key for RS256")):
        hub.write()
        hub.put("keys", keys)
        with open(path, encoding="ascii") as f:
            rest = f.read()
        with open(path, "w", encoding="ascii") as f:
            f.write("BearerKeysFile %s\n%s%s" % (hub.path("keys"), text, rest))
        got = subprocess.run([BUILD + "/execsrv-hub", "-t", "-f", path],
                             stdin=subprocess.DEVNULL, capture_output=True,
                             check=False)
        check(got.returncode == 78 and words in got.stderr.decode(), got)
    hub.write()
    os.chmod(hub.path("secret"), 0o644)
    got = subprocess.run([BUILD + "/execsrv-hub", "-t", "-f", path],
                         stdin=subprocess.DEVNULL, capture_output=True,
                         check=False)
    check(got.returncode == 78, "a secret that others may read")
    hub.write()
    got = subprocess.run([BUILD + "/execsrv-hub", "-T", "-f", path],
                         stdin=subprocess.DEVNULL, capture_output=True,
                         check=True)
    with open(path, "wb") as f:
        f.write(got.stdout)
    again = subprocess.run([BUILD + "/execsrv-hub", "-T", "-f", path],
                           stdin=subprocess.DEVNULL, capture_output=True,
                           check=True)
    check(got.stdout == again.stdout, "what -T prints is a configuration")
    got = subprocess.run([BUILD + "/execsrv-hub", "-T", "-f", path, "-o",
                          "HubUrl=wss://hub-a.example/"],
                         stdin=subprocess.DEVNULL, capture_output=True,
                         check=True)
    check(b"HubUrl https://hub-a.example\n" in got.stdout, got.stdout)


def confined():
    """No file, no program, no connection of its own."""
    with Hub() as hub:
        with open("/proc/%d/status" % hub.ctl("status")[1]["pid"],
                  encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f)
        check(status["NoNewPrivs"].strip() == "1", "new privileges")
        if not os.environ.get("SANITIZERS"):
            check(status["Seccomp"].strip() == "2", "no filter")
        check(os.getuid() != 0 or status["Uid"].split()[0] == "65534",
              status["Uid"])


if __name__ == "__main__":
    main(commands, losses, restarted, stopped, limited, tls, slow_tls,
         half_open_tls, proxied, unix_socket, configurations, confined)
