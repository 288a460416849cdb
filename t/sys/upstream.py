"""An HTTP server for tests of http/request: a thread for each connection, and
what it answers is up to the test, byte by byte."""
import os
import re
import socket
import ssl
import subprocess
import threading
import time

from client import TMP


class Request:
    """What came, and the socket it came on."""

    def __init__(self, sock, head, body):
        self.sock = sock
        self.raw = head
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.path = lines[0].split(" ")[:2]
        self.fields = [tuple(line.split(":", 1)) for line in lines[1:]]
        self.body = body

    def all(self, name):
        return [v.strip() for n, v in self.fields if n.lower() == name]

    def send(self, data):
        self.sock.sendall(data)

    def is_closed(self, seconds):
        """Whether the other side ends the connection in time."""
        self.sock.settimeout(seconds)
        try:
            return self.sock.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True


def answer(body=b"ok", status="200 OK", *fields):
    head = "HTTP/1.1 %s\r\nContent-Length: %d\r\n" % (status, len(body))
    return (head + "".join(f + "\r\n" for f in fields) +
            "\r\n").encode() + body


class Upstream:
    """handler(request) sends what it likes, and returns False to close."""

    def __init__(self, handler, host="127.0.0.1", tls=None):
        self.handler = handler
        self.tls = tls
        self.connections = 0
        self.closed = 0
        self.seen = []
        self.lock = threading.Lock()
        self.listener = socket.create_server((host, 0), backlog=512)
        self.url = "%s://%s:%d" % ("https" if tls else "http", host,
                                   self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock = self.listener.accept()[0]
            except OSError:
                return
            with self.lock:
                self.connections += 1
            threading.Thread(target=self.serve, args=(sock,),
                             daemon=True).start()

    def serve(self, sock):
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
            rest = b""
            while True:
                while b"\r\n\r\n" not in rest:
                    piece = sock.recv(1 << 16)
                    if not piece:
                        return
                    rest += piece
                head, _, rest = rest.partition(b"\r\n\r\n")
                found = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
                length = int(found[1]) if found else 0
                parts, got = [rest], len(rest)
                while got < length:
                    parts.append(sock.recv(1 << 20))
                    if not parts[-1]:
                        return
                    got += len(parts[-1])
                rest = b"".join(parts)
                request = Request(sock, head, rest[:length])
                rest = rest[length:]
                with self.lock:
                    self.seen.append(request)
                if self.handler(request) is False:
                    return
        except OSError:
            pass
        finally:
            sock.close()
            with self.lock:
                self.closed += 1


def certificate():
    """A certificate authority and a server's certificate signed by it, for
    127.0.0.1: (file of the authority, TLS context); None without openssl."""
    ca, key, cert = (TMP + "/" + n for n in ("ca.pem", "key.pem", "c.pem"))
    run = dict(check=True, stderr=subprocess.DEVNULL)
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3"]
    try:
        subprocess.run(new + ["-keyout", TMP + "/cakey.pem", "-out", ca,
                              "-subj", "/CN=tests"], **run)
        subprocess.run(new + ["-CA", ca, "-CAkey", TMP + "/cakey.pem",
                              "-keyout", key, "-out", cert, "-subj",
                              "/CN=here", "-addext",
                              "subjectAltName=IP:127.0.0.1", "-addext",
                              "basicConstraints=critical,CA:FALSE"], **run)
    except OSError:
        return None
    os.chmod(ca, 0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return ca, context


def drip(request, pieces, pause):
    """Chunks with pauses between them."""
    request.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n")
    for piece in pieces:
        request.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        time.sleep(pause)
    request.send(b"0\r\n\r\n")
