"""The rest of the world for 630: 7.7.7.2 with web servers and a name server.

Ports: 80 echoes requests, 81 answers in two ways at once, 82 redirects to the
loopback of whoever asks, 83 is a second web server that no rule allows.  What
reached port 83 is told on standard output.
"""
import json
import socket
import struct
import sys
import threading

A, AAAA = 1, 28
NAMES = {
    "pub.test": ["7.7.7.2"], "other.test": ["7.7.7.2"],
    "local.test": ["127.0.0.1"], "mixed.test": ["7.7.7.2", "10.0.0.1"],
    "own.test": ["7.7.7.1"], "link.test": ["169.254.169.254"],
    "zero.test": ["0.0.0.0"], "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"], "sixtofour.test": ["2002:7f00:1::1"],
    "six.test": ["::1"], "ula.test": ["fd00::1"],
    "compat.test": ["::127.0.0.1"], "denied.test": ["7.7.7.3"],
    "127.1": ["127.0.0.1"], "2130706433": ["127.0.0.1"],
    "0x7f000001": ["127.0.0.1"], "0177.0.0.1": ["127.0.0.1"],
}
seen = {}


def lookup(name, kind):
    if name == "rebind.test":       # public the first time, then loopback
        if kind != A:
            return []
        seen[name] = seen.get(name, 0) + 1
        return ["7.7.7.2"] if seen[name] == 1 else ["127.0.0.1"]
    return [a for a in NAMES.get(name, ())
            if (":" in a) == (kind == AAAA)]


def names(s):
    while True:
        q, who = s.recvfrom(2048)
        at, labels = 12, []
        while q[at]:
            labels.append(q[at + 1:at + 1 + q[at]].decode().lower())
            at += 1 + q[at]
        kind = struct.unpack(">H", q[at + 1:at + 3])[0]
        name = ".".join(labels)
        found = lookup(name, kind)
        known = found or name in NAMES or name == "rebind.test"
        out = q[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1,
                                  len(found), 0, 0) + q[12:at + 5]
        for a in found:
            data = socket.inet_pton(
                socket.AF_INET6 if ":" in a else socket.AF_INET, a)
            out += struct.pack(">HHHIH", 0xc00c, kind, 1, 0, len(data)) + data
        s.sendto(out, who)


def read_head(c):
    data = b""
    while b"\r\n\r\n" not in data:
        more = c.recv(65536)
        if not more:
            return None, b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def echo(c, port):
    while True:
        head, rest = read_head(c)
        if head is None:
            return
        fields = dict(line.lower().split(": ", 1)
                      for line in head.split("\r\n")[1:])
        want = int(fields.get("content-length", 0))
        while len(rest) < want:
            rest += c.recv(65536)
        if port == 83:
            print("reached 83", flush=True)
        body = json.dumps({"head": head, "body": rest.decode("latin-1"),
                           "port": port}).encode()
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" %
                  len(body) + body)


def twice(c, _):
    if read_head(c)[0] is not None:
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nabc")


def redirect(c, _):
    head = read_head(c)[0]
    if head is not None:
        port = head.split(" ")[1].strip("/")
        c.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%s/\r\n"
                  b"Content-Length: 0\r\n\r\n" % port.encode())


def bound(kind, port):
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("7.7.7.2", port))
    return s


def serve(s, port, fn):
    def one(c):
        with c:
            try:
                fn(c, port)
            except OSError:
                pass

    while True:
        c, _ = s.accept()
        threading.Thread(target=one, args=(c,), daemon=True).start()


sys.stdin.readline()                # the address is there
for p, f in ((80, echo), (81, twice), (82, redirect), (83, echo)):
    door = bound(socket.SOCK_STREAM, p)
    door.listen(64)
    threading.Thread(target=serve, args=(door, p, f), daemon=True).start()
threading.Thread(target=names, args=(bound(socket.SOCK_DGRAM, 53),),
                 daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
