"""http/request over a server of our own on the loopback."""
import base64
import json
import os
import threading
import time

from client import (RpcError, Server, check, connect, frame, held_port,
                    in_time, main, resume_in, say, wait_for, LIMIT, SCALE)
from upstream import Upstream, answer, certificate, drip

MIB = 1 << 20
DELTA = "http/request/bodyDelta"


def b64(data):
    return base64.b64encode(data).decode()


def ask(c, url, **more):
    return c.request("http/request", {
        "requestId": "r", "method": "GET", "url": url, **more})


def get(c, url, seconds=LIMIT, **more):
    return c.answer(ask(c, url, **more), seconds)


def body(result):
    return base64.b64decode(result["bodyBase64"])


def fails(c, url, code, **more):
    try:
        result = get(c, url, **more)
    except RpcError as e:
        check(e.code == code, "%s %s: %s" % (url[:80], str(more)[:80], e))
        return str(e)
    raise AssertionError("%s %s: %s" % (url[:80], str(more)[:80],
                                        str(result)[:200]))


def delta(c, seconds=LIMIT):
    """The next one."""
    m = c.until(lambda: c.notes and c.notes.popleft(), seconds, DELTA)
    check(m["method"] == DELTA, str(m)[:200])
    return m["params"]


def stream(c, url, ident="s", seconds=LIMIT, **more):
    """(result, body, error) of a streamed request, deltas checked."""
    result = get(c, url, requestId=ident, streamResponse=True, **more)
    check(result["bodyBase64"] == "", "a body in the result of a stream")
    parts, seq = [], 0
    while True:
        p = delta(c, seconds)
        seq += 1
        check(p["requestId"] == ident and p["seq"] == seq, str(p)[:200])
        data = base64.b64decode(p["deltaBase64"])
        check(len(data) <= MIB, "a delta of %d bytes" % len(data))
        parts.append(data)
        if p["done"]:
            return result, b"".join(parts), p["error"]
        check(p["error"] is None, "an error before the end")


def plain():
    """Status, headers, bodies, methods."""
    def handler(r):
        if r.path == "/missing":
            r.send(answer(b"not here", "404 Not Found"))
        elif r.path == "/nothing":
            r.send(b"HTTP/1.1 204 No\r\n\r\n")
        elif r.path == "/fields":
            r.send(answer(b"", "200 OK", "X-Twice: a", "x-twice:  b ",
                          "X-Odd: \xff", "X-Empty:"))
        elif r.method == "HEAD":
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        else:
            r.send(answer(r.body[::-1]))
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        r = get(c, up.url + "/x", method="POST", bodyBase64=b64(b"abc\0"),
                headers=[{"name": "X-One", "value": "1"},
                         {"name": "x-one", "value": "2"},
                         {"name": "X-None", "value": ""}])
        check((r["status"], body(r)) == (200, b"\0cba"), str(r))
        seen = up.seen[-1]
        check(seen.all("x-one") == ["1", "2"] and seen.all("x-none") == [""]
              and seen.all("content-length") == ["4"]
              and seen.all("accept") == ["*/*"], str(seen.fields))
        check(not seen.all("user-agent") and not seen.all("expect")
              and not seen.all("content-type"), str(seen.fields))
        r = get(c, up.url + "/missing")
        check((r["status"], body(r)) == (404, b"not here"), str(r))
        check(get(c, up.url + "/nothing")["status"] == 204, "204")
        check(get(c, up.url + "/fields")["headers"] == [
            {"name": "content-length", "value": "0"},
            {"name": "x-twice", "value": "a"},
            {"name": "x-twice", "value": "b"},
            {"name": "x-empty", "value": ""}], "headers")
        r = get(c, up.url, method="HEAD")
        check((r["status"], body(r)) == (200, b""), str(r))
        for method in ("get", "PUT", "DELETE", "X-Y!"):
            get(c, up.url, method=method)
            check(up.seen[-1].method == method, up.seen[-1].method)
        check(up.connections < 4, "%d connections" % up.connections)


def refused():
    """What is not tried: -32602; what failed: -32603."""
    up, server = Upstream(lambda r: r.send(answer())), Server()
    header = {"name": "a", "value": "x"}
    with connect(server.url) as c:
        for bad in ("", "nonsense", "file:///etc/passwd", "ftp://127.0.0.1/",
                    "http://", "http://127.0.0.1:99999/", up.url + "/\r\nX: y",
                    up.url + "/\0", "http://[::1/", up.url + "/" + "a" * 70000):
            fails(c, bad, -32602)
        for more in ({"method": ""}, {"method": "A B"}, {"method": 5},
                     {"method": "GET / HTTP/1.1\r\nX: y"},
                     {"method": "CONNECT"}, {"method": "A" * 300},
                     {"requestId": None}, {"timeoutMs": -1},
                     {"timeoutMs": 1.5}, {"redirectPolicy": "x"},
                     {"redirectPolicy": None}, {"streamResponse": None},
                     {"bodyBase64": "!"}, {"bodyBase64": "YQ"},
                     {"headers": None}, {"headers": {}}, {"headers": ["a"]},
                     {"headers": [{"name": "a"}]},
                     {"headers": [header] * 9000},
                     {"headers": [dict(header, value="x" * 70000)]},
                     {"headers": [dict(header, value="x" * 60000)] * 5},
                     {"requestId": "x" * 70000, "streamResponse": True}):
            fails(c, up.url, -32602, **more)
        for name in ("", "a b", "a:b", "a\r\nb", "a\0", "\u00e4"):
            fails(c, up.url, -32602, headers=[dict(header, name=name)])
        for value in ("x\r\ny: z", "x\ny", "\0", "\x7f"):
            fails(c, up.url, -32602, headers=[dict(header, value=value)])
        check(not up.seen, "a bad request was sent")
        port, kept = held_port()
        with kept:
            fails(c, "http://127.0.0.1:%d/" % port, -32603)
        fails(c, "http://nobody.invalid/", -32603, seconds=4 * LIMIT)
        check(get(c, up.url)["status"] == 200, "after all that")


def variables():
    """valueEnvVar."""
    up = Upstream(lambda r: r.send(answer()))
    server = Server(env={"T_VALUE": "secret", "T_EMPTY": "",
                         "T_LINES": "a\r\nb: c", "OPENAI_API_KEY": "x",
                         "CODEX_API_KEY": "x", "AWS_SESSION_TOKEN": "x"})

    def header(name):
        return [{"name": "X-V", "value": "Bearer ", "valueEnvVar": name}]
    with connect(server.url) as c:
        get(c, up.url, headers=header("T_VALUE"))
        check(up.seen[-1].all("x-v") == ["Bearer secret"], "the value")
        get(c, up.url, headers=header(None))
        check(up.seen[-1].all("x-v") == ["Bearer"], "no variable")
        n = len(up.seen)
        for name in ("T_EMPTY", "T_MISSING", "T_LINES", "", "T_VALUE=",
                     "OPENAI_API_KEY", "openai_api_key", "CODEX_API_KEY",
                     "AWS_SESSION_TOKEN", "NOTIFY_SOCKET", 5):
            text = fails(c, up.url, -32602, headers=header(name))
            check("secret" not in text, text)
        check(len(up.seen) == n, "a bad request was sent")
        info = c.call("environment/info")["capabilities"]
        check(info["httpHeaderEnvVars"] is True, "not announced")


def redirects():
    """Followed or not, how often, with which method and what headers."""
    other = Upstream(lambda r: r.send(answer(b"there")), "127.0.0.2")

    def handler(r):
        what, _, rest = r.path[1:].partition("/")
        if what == "circle":
            r.send(answer(b"", "302 x", "Location: /circle"))
        elif what == "far":
            r.send(answer(b"", "302 x", "Location: %s/x" % other.url))
        elif what == "odd":
            r.send(answer(b"", "302 x", "Location: gopher://x/"))
        elif what == "endless":
            r.send(b"HTTP/1.1 302 x\r\nLocation: /end\r\n\r\nnever done")
            return r.is_closed(LIMIT)
        elif what == "trailers" and rest != "6":
            r.send(b"HTTP/1.1 302 x\r\nContent-Length: 1\r\n"
                   b"Transfer-Encoding: chunked\r\nLocation: /trailers/%d"
                   b"\r\n\r\n1\r\nx\r\n0\r\nLocation: /odd\r\n\r\n"
                   % (int(rest) + 1))
        elif what.isdigit():
            r.send(answer(b"moved", what + " x", "Location: /end"))
        else:
            r.send(answer(("%s %s" % (r.method, r.body.decode())).encode()))
    up, server = Upstream(handler), Server(env={"T_VALUE": "v"})
    with connect(server.url) as c:
        for status, method, want in (
                (301, "GET", "GET "), (302, "POST", "GET "),
                (303, "PUT", "GET "), (307, "POST", "POST x"),
                (308, "PUT", "PUT x"), (301, "PUT", "PUT x")):
            r = get(c, "%s/%d" % (up.url, status), method=method,
                    bodyBase64=None if method == "GET" else b64(b"x"))
            check(body(r).decode() == want, "%d %s: %s" %
                  (status, method, body(r)))
        r = get(c, up.url + "/302", redirectPolicy="stop")
        check((r["status"], body(r)) == (302, b"moved"), str(r))
        check(body(get(c, up.url + "/300")) == b"moved", "300 is no redirect")
        n = len(up.seen)
        text = fails(c, up.url + "/circle", -32603)
        check("redirects" in text and len(up.seen) == n + 11, text)
        fails(c, up.url + "/odd", -32603)
        check(body(get(c, up.url + "/endless")) == b"GET ", "endless body")
        check(body(get(c, up.url + "/trailers/0")) == b"GET ", "trailers")
        # Nothing that opens a door goes to another host.
        get(c, up.url.replace("//", "//me:pw@") + "/far", headers=[
            {"name": "Cookie", "value": "c"},
            {"name": "X-Plain", "value": "p"},
            {"name": "X-Key", "value": "", "valueEnvVar": "T_VALUE"}])
        seen = up.seen[-1]
        check(seen.all("authorization") == ["Basic " + b64(b"me:pw")] and
              seen.all("x-key") == ["v"], str(seen.fields))
        seen = other.seen[-1]
        check(not seen.all("authorization") and not seen.all("cookie") and
              not seen.all("x-key") and seen.all("x-plain") == ["p"] and
              seen.all("referer") == [up.url + "/"], str(seen.fields))


def streams():
    """Deltas come as the body does; ids in use; broken ones."""
    gate = threading.Event()

    def handler(r):
        if r.path == "/events":
            drip(r, [b"data: %d\n\n" % i for i in range(5)], 0.05)
        elif r.path == "/wait":
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegin")
            gate.wait(LIMIT)
            r.send(b"ning")
        elif r.path == "/broken":
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
            return False
        elif r.path == "/chunk":
            r.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"3\r\nabc\r\nxyz\r\n")
            return False
        else:
            r.send(b"HTTP/1.1 204 No\r\n\r\n")
        return True
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        for _ in range(2):              # the id is free again
            r, data, error = stream(c, up.url + "/events")
            check((r["status"], error, data.count(b"data:")) ==
                  (200, None, 5), str((r, data, error)))
        check(stream(c, up.url + "/x")[1:] == (b"", None), "no body")
        for path in ("/broken", "/chunk"):
            _, data, error = stream(c, up.url + path)
            check(data in (b"part", b"abc") and error, "%s: %s" % (data, error))
            fails(c, up.url + path, -32603)
        # While a stream is under way its id is taken, for streams only.
        get(c, up.url + "/wait", requestId="w", streamResponse=True)
        check(delta(c)["deltaBase64"] == b64(b"begin"), "first delta")
        fails(c, up.url + "/x", -32602, requestId="w", streamResponse=True)
        check(get(c, up.url + "/x", requestId="w")["status"] == 204, "plain")
        gate.set()
        check(delta(c)["deltaBase64"] == b64(b"ning"), "second delta")
        check(delta(c)["done"], "the end")
        fails(c, "http://127.0.0.1:1/", -32603, requestId="w",
              streamResponse=True)
        check(stream(c, up.url + "/x", "w")[2] is None, "id after a failure")


def big_ones():
    """Bodies both ways, and one that no message can carry."""
    sizes = {"/30": 30 * MIB, "/60": 60 * MIB}

    def handler(r):
        size = sizes.get(r.path, len(r.body))
        r.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        r.send(b"0123456789abcdef" * (size // 16))
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        began = time.monotonic()
        check(body(get(c, up.url + "/30", 60 * SCALE)) ==
              b"0123456789abcdef" * (30 * MIB // 16), "30 MiB")
        say("  30 MiB in %.2f s" % (time.monotonic() - began))
        began = time.monotonic()
        _, data, error = stream(c, up.url + "/60")
        check((len(data), error) == (60 * MIB, None), str(error))
        say("  60 MiB streamed in %.2f s" % (time.monotonic() - began))
        text = fails(c, up.url + "/60", -32603, seconds=60 * SCALE)
        check("streamResponse" in text, text)
        # As much as a message may hold, in frames of 8 MiB.
        big = os.urandom(16) * (46 * MIB // 16)
        text = json.dumps({"id": 999, "method": "http/request", "params": {
            "requestId": "r", "method": "POST", "url": up.url + "/up",
            "bodyBase64": b64(big), "streamResponse": True}}).encode()
        for at in range(0, len(text), 8 * MIB):
            piece = bytearray(frame(0 if at else 1, text[at:at + 8 * MIB]))
            if at + 8 * MIB < len(text):
                piece[0] &= 0x7f
            c.sock.sendall(piece)
        check(c.answer(999, 60 * SCALE)["status"] == 200, "upload")
        check(up.seen[-1].body == big, "what arrived")


def time_outs():
    """timeoutMs covers everything; without it nothing ends."""
    def handler(r):
        if r.path != "/head":
            r.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        return not r.is_closed(LIMIT)
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        for path in ("/head", "/body"):
            text = fails(c, up.url + path, -32603, timeoutMs=200)
            check("timed out" in text, text)
        fails(c, up.url + "/head", -32603, timeoutMs=200,
              streamResponse=True)
        fails(c, up.url + "/head", -32603, timeoutMs=0)
        began = time.monotonic()
        try:
            _, data, error = stream(c, up.url + "/body", timeoutMs=400)
        except RpcError as e:
            in_time(False, "no head in time: %s" % e)
        in_time(data, "no body in time")
        check((data, error) == (b"abc", "timed out"), str((data, error)))
        check(time.monotonic() - began > 0.3, "too early")
        wait_for(lambda: up.closed == up.connections, LIMIT,
                 "all connections are closed")


def a_client_that_leaves():
    """Its requests end, at the other end as well; so does the process."""
    def handler(r):
        if r.path == "/s":
            r.send(b"HTTP/1.1 200 OK\r\n\r\nx")
        return not r.is_closed(LIMIT)
    up, server = Upstream(handler), Server()
    for n, cut in enumerate(("close", "reset"), 1):
        c = connect(server.url)
        for i in range(5):
            get(c, up.url + "/s", requestId="s%d" % i, streamResponse=True)
            ask(c, up.url + "/w")
        before = up.closed
        wait_for(lambda: up.connections == before + 10, LIMIT, "10 there")
        getattr(c, cut)()
        wait_for(lambda: up.closed == up.connections, LIMIT,
                 "closed after the %s" % cut)
        wait_for(lambda n=n: server.log().count("released: owns nothing") ==
                 n, LIMIT, "the session is given back")
    again = resume_in(server.url, c.session, LIMIT)
    check(not again.notes, "notes of the old connection")
    again.close()


def a_client_that_does_not_read():
    """It stops the server behind it; what others ask goes on."""
    sent = [0]

    def handler(r):
        if r.path == "/quick":
            r.send(answer())
            return True
        r.send(b"HTTP/1.1 200 OK\r\n\r\n")
        r.sock.settimeout(2 * SCALE)
        try:
            while sent[0] < 200 * MIB:
                sent[0] += r.sock.send(b"x" * 65536)
        except TimeoutError:
            sent.append("stuck")
            r.sock.settimeout(None)
            while sent[0] < 30 * MIB:
                sent[0] += r.sock.send(b"x" * 65536)
        return False
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        ask(c, up.url, requestId="s", streamResponse=True)
        wait_for(lambda: "stuck" in sent, LIMIT, "it waits")
        at = sent[0]
        say("  stopped after %.1f MiB" % (at / MIB))
        check(at < 24 * MIB, "%d bytes were taken" % at)
        with connect(server.url) as d:
            check(get(d, up.url + "/quick")["status"] == 200, "another")
        got = 0
        while True:
            p = delta(c)
            got += len(base64.b64decode(p["deltaBase64"]))
            if p["done"]:
                break
        check(p["error"] is None and got >= 30 * MIB and got == sent[0],
              "%d of %d bytes" % (got, sent[0]))


def many():
    """A hundred at a time, and more than may run at a time."""
    gate = threading.Event()

    def handler(r):
        gate.wait(4 * LIMIT)
        r.send(answer(r.path.encode()))
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        for n, at_once in ((100, 100), (400, 256)):
            gate.clear()
            before = len(up.seen)
            ids = [ask(c, "%s/%d" % (up.url, i), requestId="r%d" % i,
                       streamResponse=i % 2 == 0) for i in range(n)]
            wait_for(lambda: len(up.seen) - before == at_once, LIMIT,
                     "%d at a time" % at_once)
            gate.set()
            for i, number in enumerate(ids):
                r = c.answer(number)
                check(i % 2 == 0 or body(r) == b"/%d" % i, str(r))
            done = 0
            while done < n // 2:
                p = delta(c)
                done += p["done"]
                check(p["error"] is None, str(p))


def certificates():
    """One that nobody vouches for is refused; SSL_CERT_FILE vouches."""
    made = certificate()
    if made is None:
        say("  left out: no openssl")
        return
    ca, tls = made
    up = Upstream(lambda r: r.send(answer(b"safe")), tls=tls)
    with connect(Server().url) as c:
        text = fails(c, up.url, -32603)
        check("certificate" in text, text)
        check(not up.seen, "a request was sent")
    for name in ("SSL_CERT_FILE", "CODEX_CA_CERTIFICATE"):
        with connect(Server(env={name: ca}).url) as c:
            check(body(get(c, up.url)) == b"safe", "with " + name)
            other = up.url.replace("127.0.0.1", "127.0.0.2")
            fails(c, other, -32603)


def proxies():
    """Of the environment, as everywhere."""
    proxy = Upstream(lambda r: r.send(answer(r.path.encode())))
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        with connect(Server(env={name: proxy.url}).url) as c:
            check(body(get(c, "http://nobody.invalid/x")) ==
                  b"http://nobody.invalid/x", "by " + name)


main(plain, refused, variables, redirects, streams, big_ones, time_outs,
     a_client_that_leaves, a_client_that_does_not_read, many, certificates,
     proxies)
