#!/usr/bin/env python3
"""Bytes that nobody of good will sends to a hub: requests that proxies might read
in another way, TLS and the PROXY protocol cut and wrong, tickets that were
changed.  Each is refused by one answer and counted, and a pair beside them goes
on."""
import base64
import contextlib
import importlib
import os
import ssl
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import LIMIT, check, main, say              # noqa: E402

lib = importlib.import_module("8hub")
frames = importlib.import_module("8frames")
fleet = importlib.import_module("8fleet")
tls = importlib.import_module("842-hub-secrets")
socket = lib.socket


class Pair:
    """An executor and a harness that have nothing to do with it."""

    def __init__(self, hub):
        self.x, self.h = hub.attach("build-7"), hub.harness("build-7")
        self.turn = self.longest = 0
        self.h.send(frames.resume(b"s"))
        self.x.expect(frames.resume(b"s"))

    def check(self):
        self.turn += 1
        sent = frames.data(b"s", self.turn, b"beside")
        began = time.monotonic()
        self.h.send(sent)
        self.x.expect(sent)
        self.x.send(sent)
        self.h.expect(sent)
        self.longest = max(self.longest, time.monotonic() - began)


def said(port, data, context=None, pieces=False):
    """All that is answered."""
    with socket.create_connection(("127.0.0.1", port), LIMIT) as s:
        if context:
            s = context.wrap_socket(s)
        out = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            for piece in [data[i:i + 1] for i in range(len(data))] if pieces \
                    else [data]:
                s.sendall(piece)
            while (piece := s.recv(65536)):
                out += piece
        s.close()
        return out


def secure_hub():
    """It has a listener of each kind."""
    hub = lib.Hub("RequestRate 100000\nListen http://127.0.0.1:@PORT@\n"
                  "Listen https://127.0.0.1:@SECURE@\nCertificate both",
                  starts=False)
    tls.new_tls(hub, True)
    hub.settings = hub.settings.replace("@PORT@", str(hub.port))
    hub.write()
    return hub


# --- requests ----------------------------------------------------------------

CALL = "POST /cloud/environment/build-1/connect HTTP/1.1\r\nHost: h\r\n"
LIVE = "GET /livez HTTP/1.1\r\n"
KEY = "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n"
UP = "Host: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Version: 13\r\n" + KEY
ATTACH = "GET " + lib.ATTACH + "build-1?ticket=@TICKET@ HTTP/1.1\r\n"
TOKEN = "Authorization: Bearer @TOKEN@\r\n"


def call(lines, body="{}"):
    return CALL + TOKEN + lines + "\r\n" + body


def at(path, method="POST", lines=TOKEN):
    return "%s %s HTTP/1.1\r\nHost: h\r\n%sContent-Length: 2\r\n\r\n{}" % (
        method, path, lines)


def environment(name):
    return at("/cloud/environment/%s/connect" % name)


TWO = "Content-Length: 2\r\n"
REQUESTS = {
    200: (LIVE + "Host: h\r\n\r\nGET /readyz HTTP/1.1\r\nHost: h\r\n\r\n",
          LIVE + "Host: h\r\nContent-Length: 20\r\n\r\nGET /readyz HTTP/1.1"
          "\r\nHost: h\r\n\r\n"),
    400: tuple(call(TWO + more) for more in (
        TWO, "Content-Length: 5\r\n", "Transfer-Encoding : chunked\r\n",
        "X-A: b\r\n c\r\n", "X-A: b\r\n\tc\r\n", "X-A: b\0c\r\n",
        "X\0A: b\r\n", "X-A: b\x7f\r\n", ": x\r\n", "X\r\n", TOKEN)) + tuple(
        call("Content-Length%s\r\n" % n) for n in (
            ": 2, 2", ": +2", ": -2", ": 0x2", ": 1 2", ":", " : 2",
            ": 2\t2", ": 2.0")) + tuple(LIVE.replace("\r\n", end) + lines
                                        for end, lines in (
        ("\r\n", " Host: h\r\n\r\n"), ("\r\n", "Host: h\nX: y\r\n\r\n"),
        ("\n", "Host: h\n\n"), ("\r\n", "Host: h\r\n\n"),
        ("\r\n", "Host: h\rX: y\r\n\r\n"), ("\r\n", "Host: h\r\r\n\r\n"),
        ("\r\n", "\r\n"), ("\r\n", "Host: a\r\nHost: b\r\n\r\n"),
        (" \r\n", "Host: h\r\n\r\n"), ("1\r\n", "Host: h\r\n\r\n"))) + tuple(
        line + " HTTP/1.1\r\nHost: h\r\n\r\n" for line in (
            "\r\nGET /livez", "\r\n\r\nGET /livez", "\0GET /livez",
            "GET /liv\0ez", "GET http://h/livez", "OPTIONS *", "CONNECT a:1",
            "GET /livez#a", "GET\t/livez", "GET  /livez", "G(T /livez",
            "GET /l\u00e9")) + tuple(environment(name) for name in (
                "build%2f1", "build%00", "build%2", "build%", "..", "%2e%2E",
                "", "a" * 129, "build%0a", "%C3%A9")) + (
        "GET /livez\r\nHost: h\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /livez http/1.1\r\nHost: h\r\n\r\n", "SSH-2.0-x\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + "\0" * 40,
        at("/cloud/environment/build-1/connect?x"),
        "GET /fleet/v1/control HTTP/1.1\r\nHost: h\r\n" + TOKEN + "\r\n",
        "HEAD /fleet/v1/control HTTP/1.1\r\n" + TOKEN + UP + "\r\n",
        ATTACH + "Host: h\r\n\r\n", ATTACH.replace("GET", "HEAD") + UP +
        "\r\n", ATTACH + UP + KEY + "\r\n") + tuple(
            ATTACH + UP.replace(*change) + "\r\n" for change in (
                ("13", "12"), (KEY, ""), ("AAECAwQF", ""),
                ("websocket", "h2c"), (": Upgrade", ": keep-alive"))),
    401: tuple(CALL + TWO + lines + "\r\n{}" for lines in (
        "", TOKEN.replace("Bearer", "Basic"), TOKEN.replace(" @TOKEN@", ""),
        TOKEN.replace(" @", "@"), TOKEN.replace("\r", " @TOKEN@\r"),
        "Authorization: Bearer ci-\r\n")) + (
            "GET /fleet/v1/control HTTP/1.1\r\n" + UP + "\r\n",),
    403: (call(TWO + "Origin: http://x\r\n"), call(TWO + "Origin: null\r\n"),
          ATTACH + UP + "Origin: http://x\r\n\r\n",
          ATTACH.replace("build-1", "build-2") + UP + "\r\n",
          ATTACH.replace("@TICKET@", "") + UP + "\r\n"),
    404: (at("/cloud/environment/build-1/connect/"), at("/cloud"), at("/"),
          at("/cloud/environment/build-1/..%2fconnect/connect"),
          at("/CLOUD/environment/build-1/connect"), at("/livez"),
          at("/cloud/environment/build-1/evict"), at("/metrics", "GET"),
          at("//livez", "GET"), at("/livez/", "GET"), at("/livez%20", "GET"),
          ATTACH.replace("GET", "POST") + UP + "\r\n",
          ATTACH.replace("?ticket=@TICKET@", "") + UP + "\r\n",
          ATTACH.replace("ticket", "Ticket") + UP + "\r\n",
          ATTACH.replace("build-1", "..") + UP + "\r\n"),
    405: tuple(at("/cloud/environment/build-1/register", method)
               for method in ("GET", "PUT", "HEAD", "post", "DELETE")),
    411: tuple(call(lines, "2\r\n{}\r\n0\r\n\r\n") for lines in (
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding:\tchunked\r\n",
        TWO + "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n" + TWO,
        "transfer-ENCODING: xchunked\r\n" + TWO)),
    413: tuple(call("Content-Length: %s\r\n" % n) for n in (
        "17000", "000000000000002", "4294967298", "18446744073709551618",
        "9" * 100)),
    431: (call(TWO + "".join("A%d: b\r\n" % n for n in range(101))),
          LIVE + "Host: h\r\nX: " + "y" * 8192 + "\r\n\r\n",
          "GET /" + "y" * 8192 + " HTTP/1.1\r\nHost: h\r\n\r\n", "X" * 9000),
    505: tuple("GET /livez HTTP/%s\r\nHost: h\r\n\r\n" % v for v in (
        "1.0", "1.2", "2.0", "0.9")),
}


def refusals(hub):
    return sum(n for name, n in hub.metrics().items() if "refused" in name)


def requests():
    """One answer each, of that status, by TLS and without; all are counted."""
    with secure_hub().start() as hub:
        pair, n, context = Pair(hub), 0, ssl._create_unverified_context()
        ticket = hub.register().json()["url"].split("ticket=")[1]
        for status, texts in REQUESTS.items():
            before = refusals(hub)
            for text in texts:
                data = text.replace("@TICKET@", ticket).replace(
                    "@TOKEN@", hub.token["ci"]).encode("latin-1")
                for port, how in ((hub.port, None), (hub.secure, context)):
                    answer = said(port, data, how)
                    # Who shows many wrong tokens is told to wait.
                    check(answer.count(b"HTTP/1.1 ") == 1 and
                          int(answer[9:12]) in (status, 429 if status in (
                              401, 403) else 0), "%r: %r" % (
                                  text[:200], answer[:200]))
                    pair.check()
                    n += 1
            check(refusals(hub) - before == (2 * len(texts) if status >= 400
                                             else 0), "%d: counted" % status)
        say("%d requests; a frame waited %.3f s" % (n, pair.longest))


BODIES = (b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}{}", b"\xff", b"{} x",
          b"[" * 8000, b'{"a":' * 2000, b'{"a":1,"a":2}', b'{"a":01}', b"//",
          b'{"a":"\\ud800"}', b'{"a":"\x01"}', b"\xef\xbb\xbf{}", b"{'a':1}")


def bodies():
    """Of each call: no JSON, and keys that are none."""
    with secure_hub().start() as hub:
        pair, key = Pair(hub), lib.new_key()
        x, kem = key["x25519_public_key"], key["mlkem768_public_key"]
        keys = [1, None, [], {}, "x", {**key, "suite": "x"}]
        for name, right in (("x25519_public_key", x),
                            ("mlkem768_public_key", kem)):
            keys += [{**key, name: bad} for bad in (
                None, 1, [right], "", right[:-1], right + "A", " " + right,
                right[:-1] + "A", "-" + right[1:], "=" * len(right),
                right + right, right[:-4])]
        bad = BODIES + tuple(lib.json.dumps({
            "security_profile": lib.PROFILE, "executor_public_key": k,
            "harness_public_key": k}).encode() for k in keys)
        for body in bad:
            for what, token in (("connect", "ci"), ("register", "build"),
                                ("validate", "build")):
                answer = hub.registry(what, "build-1", token, body)
                check(answer.status == 400, "%s %r: %d" % (
                    what, body[:100], answer.status))
            pair.check()
        check(hub.metrics()['execsrv_hub_refused_total{reason="malformed"}']
              == 3 * len(bad), "counted")


# --- before a request --------------------------------------------------------

def client_hello():
    out = ssl.MemoryBIO()
    s = ssl._create_unverified_context().wrap_bio(ssl.MemoryBIO(), out)
    with contextlib.suppress(ssl.SSLWantReadError):
        s.do_handshake()
    return out.read()


def not_tls():
    """Cut, wrong, too long: closed and counted."""
    hello = client_hello()
    bad = [hello[:n] for n in (1, 2, 3, 4, 5, 6, 9, 10, 43, 44, 76, 100,
                               len(hello) - 1)]
    bad += [b"\x16\x03\x01\xff\xff" + hello[5:], b"\x16\x03\x01\0\0" * 40,
            b"\x16\x02\0" + hello[3:], b"\x80\x2e\x01\0\2" + b"\0" * 44,
            b"\x15\x03\x01\0\2\2\x28", b"\x15\x03\x01\0\2\1\0",
            b"\x14\x03\x03\0\1\1", b"\x17\x03\x03\0\5hello", b"\0" * 100,
            b"\x18\x03\x02\0\3\1\x40\0", b"GET / HTTP/1.1\r\n\r\n",
            hello + hello, hello + b"\xaa" * 200, hello[:60] + b"\xaa" * 300,
            b"\x16\x03\x01\0\4\1\xff\xff\xff"]
    with secure_hub().start() as hub:
        pair = Pair(hub)
        for data in bad:
            with socket.create_connection(("127.0.0.1", hub.secure),
                                          LIMIT) as s:
                with contextlib.suppress(OSError):
                    s.sendall(data)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(65536):
                        pass
            pair.check()
        check(hub.metrics()["execsrv_hub_handshakes_failed_total"] ==
              len(bad), "counted")


def proxied(command=0x21, family=0x11, more=b"", size=None, short=0):
    body = (b"\x0a\1\2\3\x7f\0\0\1\x10\0\x20\0" if family == 0x11 else
            b"\x20\1" + b"\0" * 29 + b"\1\0\1\0\2" if family == 0x21 else b"")
    body = body[:len(body) - short] + more
    return b"\r\n\r\n\0\r\nQUIT\n" + bytes([command, family]) + struct.pack(
        ">H", len(body) if size is None else size) + body


RIGHT = (proxied(), proxied(family=0x21), proxied(0x20, 0),
         proxied(0x20, 0xff, b"x" * 100), proxied(family=0),
         proxied(family=0x31, more=b"x" * 216), proxied(more=b"\4\0\3abc"),
         proxied(more=b"\4\xff\xff"), proxied(more=b"z" * 500))
WRONG = (b"", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", proxied(0x11),
         proxied(0x31), proxied(0x22), proxied(0x2f), proxied(short=1),
         proxied(family=0x21, short=1), proxied(short=12),
         proxied(size=65535), proxied(more=b"z" * 501),
         proxied() + proxied(), proxied().replace(b"QUIT", b"quit"),
         proxied()[1:], b"x" + proxied())


def proxies():
    """At once and byte by byte."""
    with lib.Hub("ProxyProtocol yes", starts=False) as hub:
        hub.is_ready = lambda: fleet.is_up(hub)
        hub.start()
        for texts, is_right in ((RIGHT, True), (WRONG, False)):
            for text in texts:
                for pieces in (False, True):
                    got = said(hub.port, text + LIVE.encode() +
                               b"Host: h\r\n\r\n", pieces=pieces)
                    check(got.startswith(b"HTTP/1.1 200 ") == is_right,
                          "%r: %r" % (text[:40], got[:100]))
        check(hub.metrics()['execsrv_hub_refused_total{reason="malformed"}']
              == 2 * len(WRONG), "counted")


# --- tickets -----------------------------------------------------------------

def shown(hub, ticket, name="build-1"):
    """The status, and why."""
    try:
        lib.Ws("ws://127.0.0.1:%d%s%s?ticket=%s" % (
            hub.port, lib.ATTACH, name, ticket)).close()
    except lib.Refused as e:
        return e.answer.status, e.answer.reason
    return 101, None


def tickets():
    """Cut anywhere, changed anywhere, with more behind, of another kind."""
    with lib.Hub("RequestRate 100000") as hub:
        pair, n = Pair(hub), 0
        hub.attach()
        got = hub.connect().json()
        for ticket in (hub.register().json()["url"].split("ticket=")[1],
                       got["url"].split("ticket=")[1],
                       got["harness_key_authorization"]):
            raw = base64.urlsafe_b64decode(ticket + "==")
            step = max(1, len(ticket) // 60)
            bad = [ticket[:n] for n in range(1, len(ticket), step)]
            bad += [base64.urlsafe_b64encode(
                raw[:i] + bytes([raw[i] ^ 1 << i % 8]) + raw[i + 1:]).rstrip(
                    b"=").decode() for i in range(0, len(raw), step)]
            bad += [ticket + more for more in ("A", "=", "%3D", "/", ticket)]
            bad += ["A" * 1945, "A" * 1946, "%00"]
            for text in bad:
                check(shown(hub, text) in ((403, "invalid_signature"),
                                           (429, "rate_limited")), text)
                n += 1
            check(shown(hub, ticket, "build-2")[0] in (403, 429), "of another")
            pair.check()
        check(shown(hub, got["harness_key_authorization"])[0] in (403, 429),
              "it is no ticket")
        # A right one is taken, whoever has shown so many wrong ones.
        ticket = hub.connect().json()["url"].split("ticket=")[1]
        check(shown(hub, ticket) == (101, None), "it is right")
        check(shown(hub, ticket) == (403, "already_used"), "it was used")
        say("%d tickets; a frame waited %.3f s" % (n, pair.longest))


if __name__ == "__main__":
    main(requests, bodies, not_tls, proxies, tickets)
