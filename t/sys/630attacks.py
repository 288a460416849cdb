"""What a command with a managed network tries, for 630.

Arguments: ports of canaries on loopback and on 7.7.7.1, a canary in the file
system, the proxy of another command.  Each attack returns what it got hold of;
an exception, a refusal or nothing is as it should be.  The last line of output
is JSON: {name: what}.  "good" ones must work.
"""
import ctypes
import json
import os
import re
import socket
import struct
import sys

LOOP, OWN, PATH, OTHER = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], \
    int(sys.argv[4])
HTTP = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
SOCKS = int(os.environ["ALL_PROXY"].rsplit(":", 1)[1])
OK = b"HTTP/1.1 200"
libc = ctypes.CDLL(None, use_errno=True)
tests, good = [], []


def attack(f):
    tests.append(f)
    return f


def must_work(f):
    good.append(f)
    return f


def talk(port, data, host="127.0.0.1"):
    s = socket.create_connection((host, port), 60)
    s.settimeout(60)
    s.sendall(data)
    out = b""
    while True:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            return out
        if not more:
            return out
        out += more


def request(url, *fields, method="GET", body=b""):
    host = re.match(r"\w+://(?:[^/@]*@)?([^/]*)", url)
    lines = ["%s %s HTTP/1.1" % (method, url)]
    if not any(f.lower().startswith("host:") for f in fields):
        lines.append("Host: " + host[1])
    lines += list(fields) + ["Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def get(url, *fields, **how):
    """An answer of a server, not of the proxy."""
    out = talk(HTTP, request(url, *fields, **how))
    return out if out.startswith(OK) else None


def tunnel(where, then=b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close"
                        b"\r\n\r\n"):
    s = socket.create_connection(("127.0.0.1", HTTP), 60)
    s.settimeout(60)
    s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n" % where.encode())
    head = s.recv(65536)
    return head if head.startswith(OK) else None


def socks(request_bytes):
    s = socket.create_connection(("127.0.0.1", SOCKS), 60)
    s.settimeout(60)
    s.sendall(b"\5\1\0")
    if s.recv(2) != b"\5\0":
        return None
    s.sendall(request_bytes)
    reply = s.recv(64)
    return reply if reply[1:2] == b"\0" else None


def by_name(name, port, command=1):
    name = name if isinstance(name, bytes) else name.encode()
    return b"\5%c\0\3%c" % (command, len(name)) + name + \
        struct.pack(">H", port)


def by_address(address, port):
    six = ":" in address
    return b"\5\1\0" + (b"\4" if six else b"\1") + socket.inet_pton(
        socket.AF_INET6 if six else socket.AF_INET, address) + \
        struct.pack(">H", port)


# --- what must work ----------------------------------------------------------

@must_work
def good_get():
    return get("http://pub.test/x")


@must_work
def good_tunnel():
    return tunnel("pub.test:80")


@must_work
def good_socks():
    return socks(by_name("pub.test", 80))


@must_work
def good_socks_address():
    return socks(by_address("7.7.7.2", 80))


@must_work
def good_post():
    return get("http://pub.test/", "Content-Length: 3", method="POST",
               body=b"abc")


# --- addresses ---------------------------------------------------------------

LOCAL = ("127.0.0.1", "localhost", "0.0.0.0", "127.9.9.9", "[::1]", "[::]",
         "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]",
         "[2002:7f00:1::1]", "[::ffff:7.7.7.1]", "7.7.7.1", "127.1",
         "2130706433", "0x7f000001", "0177.0.0.1", "localhost.",
         "127.0.0.1.", "LOCALHOST", "local.test", "mixed.test", "own.test",
         "link.test", "zero.test", "mapped.test", "nat64.test",
         "sixtofour.test", "six.test", "ula.test", "compat.test")

for name in LOCAL:
    attack(lambda n=name: get("http://%s:%d/" % (n, LOOP)) or
           get("http://%s:%d/" % (n, OWN)))
    tests[-1].__name__ = "get " + name
    attack(lambda n=name: tunnel("%s:%d" % (n, LOOP)))
    tests[-1].__name__ = "tunnel " + name
    if name[0] != "[":
        attack(lambda n=name: socks(by_name(n, LOOP)))
        tests[-1].__name__ = "socks " + name

for name in ("127.0.0.1", "0.0.0.0", "7.7.7.1", "::1", "::", "::127.0.0.1",
             "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"):
    attack(lambda n=name: socks(by_address(n, LOOP)) or
           socks(by_address(n, OWN)))
    tests[-1].__name__ = "socks address " + name


@attack
def scope_id():
    return get("http://[fe80::1%%25lo]:%d/" % LOOP) or \
        tunnel("[::1%%lo]:%d" % LOOP) or socks(by_name("::1%lo", LOOP))


@attack
def rebinding():
    """The second answer of the name server is loopback."""
    for _ in range(3):
        out = get("http://rebind.test:%d/" % LOOP)
        if out:
            return out
    return tunnel("rebind.test:%d" % LOOP)


@attack
def address_of_denied_network():
    return get("http://denied.test/")


# --- other names -------------------------------------------------------------

@attack
def not_listed():
    return get("http://other.test:83/")


@attack
def nul_in_name():
    return socks(by_name(b"other.test\0.pub.test", 83)) or \
        socks(by_name(b"pub.test\0other.test", 83))


@attack
def user_information():
    return get("http://pub.test@other.test:83/") or \
        get("http://pub.test:80@other.test:83/") or \
        get("http://pub.test#@other.test:83/") or \
        get("http://pub.test\\@other.test:83/")


@attack
def two_hosts():
    return talk(HTTP, b"GET http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"
                b"Host: other.test\r\n\r\n").startswith(OK)


@attack
def other_host():
    return talk(HTTP, b"GET http://pub.test/ HTTP/1.1\r\n"
                b"Host: other.test\r\n\r\n").startswith(OK)


@attack
def host_in_connection():
    return talk(HTTP, b"GET http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"
                b"Connection: host\r\n\r\n").startswith(OK)


@attack
def kept_alive_to_another():
    """The second request of a connection is for another host."""
    out = talk(HTTP, b"GET http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"
               b"\r\n" + request("http://other.test:83/"))
    return out.count(OK) > 1


# --- smuggling: a request that only the server sees ---------------------------

INNER = b"GET /smuggled HTTP/1.1\r\nHost: other.test\r\n\r\n"


def smuggle(*fields, body=INNER):
    out = talk(HTTP, b"POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n" +
               b"\r\n".join(fields) + b"\r\n\r\n" + body)
    return out.startswith(OK)


for fields in (
        (b"Content-Length: 3", b"Transfer-Encoding: chunked"),
        (b"Transfer-Encoding: chunked", b"Content-Length: 3"),
        (b"Content-Length: 3", b"Content-Length: 51"),
        (b"Content-Length: 3", b"Content-Length: 3"),
        (b"Content-Length: 3, 51",), (b"Content-Length: +3",),
        (b"Content-Length: 0x3",), (b"Content-Length : 3",),
        (b"Content-Length: 3\n",), (b"X: y\r\n Content-Length: 3",),
        (b"Content-Length\0: 3",), (b"Transfer-Encoding: xchunked",),
        (b"Transfer-Encoding: chunked, identity",),
        (b"Transfer-Encoding : chunked",),
        (b"Transfer-Encoding: identity", b"Transfer-Encoding: chunked"),
        (b"Connection: content-length", b"Content-Length: 3"),
        (b"X: a\rContent-Length: 3",)):
    attack(lambda f=fields: smuggle(*f))
    tests[-1].__name__ = "smuggle " + repr(fields)


@attack
def smuggle_bare_lf():
    return talk(HTTP, b"GET http://pub.test/ HTTP/1.1\nHost: pub.test\n\n" +
                INNER).startswith(OK)


@attack
def smuggle_by_chunks():
    return b"smuggled" in talk(
        HTTP, b"POST http://pub.test/ HTTP/1.1\r\nHost: pub.test\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n" + INNER)


@attack
def answer_in_two_ways():
    return get("http://pub.test:81/")


@attack
def redirect():
    """A redirect is the client's: it would ask again, and be refused."""
    out = talk(HTTP, request("http://pub.test:82/%d" % LOOP))
    where = re.search(rb"Location: (\S+)", out)
    return get(where[1].decode()) if where else "no redirect"


# --- around the proxy --------------------------------------------------------

def refused(*args):
    try:
        socket.socket(*args).close()
    except OSError:
        return None
    return "a socket of %s" % (args,)


for args in ((socket.AF_UNIX, socket.SOCK_STREAM),
             (socket.AF_UNIX, socket.SOCK_DGRAM),
             (socket.AF_NETLINK, socket.SOCK_RAW, 0),
             (socket.AF_PACKET, socket.SOCK_RAW),
             (socket.AF_INET, socket.SOCK_RAW, 1),
             (socket.AF_INET, socket.SOCK_DGRAM, 1),
             (socket.AF_INET6, socket.SOCK_RAW, 58),
             (socket.AF_INET, socket.SOCK_STREAM, 262),
             (40, socket.SOCK_STREAM), (38, socket.SOCK_SEQPACKET),
             (30, socket.SOCK_STREAM), (31, socket.SOCK_RAW)):
    attack(lambda a=args: refused(*a))
    tests[-1].__name__ = "socket %s" % (args,)


@attack
def direct():
    for host, port in (("7.7.7.2", 80), ("127.0.0.1", LOOP), ("7.7.7.1", OWN),
                       ("7.7.7.2", 83)):
        try:
            socket.create_connection((host, port), 5).close()
            return host
        except OSError:
            pass
    return None


@attack
def direct_udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    try:
        s.sendto(b"\0" * 12, ("7.7.7.2", 53))
        return s.recv(10)
    except OSError:
        return None


@attack
def proxy_of_another():
    try:
        return talk(OTHER, request("http://other.test:83/"))
    except OSError:
        return None


@attack
def unix_socket_by_pair():
    """A pair of AF_UNIX sockets cannot be connected elsewhere."""
    a, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        a.connect(PATH)
        return "connected"
    except OSError:
        return None


@attack
def io_uring():
    return libc.syscall(425, 8, ctypes.create_string_buffer(256)) >= 0


@attack
def namespaces():
    for pid in ["1", "self"] + [p for p in os.listdir("/proc") if
                                p.isdigit()]:
        try:
            fd = os.open("/proc/%s/ns/net" % pid, os.O_RDONLY)
        except OSError:
            continue
        if libc.setns(fd, 0) == 0:
            return pid
    return "unshared" if libc.unshare(0x40000000) == 0 else None


@attack
def unix_header():
    return get("http://pub.test/", "X-Unix-Socket: " + PATH)


@attack
def trace_and_bind():
    return socks(by_name("pub.test", 80, 2)) or \
        socks(by_name("pub.test", 80, 3))


out = {}
for f in good:
    try:
        out["good " + f.__name__] = bool(f())
    except Exception as e:
        out["good " + f.__name__] = repr(e)
for f in tests:
    try:
        got = f()
        out[f.__name__] = repr(got)[:80] if got else None
    except OSError:
        out[f.__name__] = None
print("\n" + json.dumps(out), flush=True)
