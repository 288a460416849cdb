"""A proxy that knows CONNECT, and certificates, for tests of remote mode."""
import asyncio
import base64
import contextlib
import os
import ssl
import subprocess

from client import skip

CA_CONFIG = """
[ca]
default_ca = d
[d]
dir = .
database = index
serial = serial
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = p
copy_extensions = copy
unique_subject = no
[p]
commonName = supplied
[req]
distinguished_name = dn
[dn]
"""


class Proxy:
    """Tells who asked for what; with a secret ("user:password") it wants to
    hear that."""

    def __init__(self, secret=None):
        self.secret = secret
        self.targets = []           # of CONNECT, those that were let through
        self.denied = 0
        self.other = []             # requests that were no CONNECT
        self.bytes = bytearray()    # all that passed, upwards
        self.answer = None          # bytes instead of a connection
        self.hangs = False
        self.pipes = set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = "http://%s127.0.0.1:%d" % (
            self.secret + "@" if self.secret else "", self.port)
        return self

    async def stop(self):
        self.server.close()
        for task in list(self.pipes):
            task.cancel()
        await asyncio.gather(*self.pipes, return_exceptions=True)

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.pipes.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self.connect(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            self.pipes.discard(task)
            writer.transport.abort()

    async def connect(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        method, target = head.decode("latin-1").split(" ")[:2]
        if method != "CONNECT":
            self.other.append(head)
            return
        if self.hangs:
            self.targets.append(target)
            await reader.read()
            return
        wanted = self.secret and b"basic " + base64.b64encode(
            self.secret.encode())
        if wanted and wanted.lower() not in head.lower():
            self.denied += 1
            writer.write(b"HTTP/1.1 407 Who?\r\n"
                         b"Proxy-Authenticate: Basic realm=\"x\"\r\n"
                         b"Content-Length: 0\r\n\r\n")
            await writer.drain()
            return
        self.targets.append(target)
        if self.answer is not None:
            writer.write(self.answer)
            await writer.drain()
            return
        host, port = target.rsplit(":", 1)
        up_reader, up_writer = await asyncio.open_connection(
            host.strip("[]"), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(self.pump(reader, up_writer, self.bytes),
                                 self.pump(up_reader, writer, None))
        finally:
            up_writer.transport.abort()

    async def pump(self, reader, writer, keep):
        while data := await reader.read(1 << 16):
            if keep is not None:
                keep += data
            writer.write(data)
            await writer.drain()
        # Whoever ends first, it is over.
        raise ConnectionError


class Certificates:
    """An authority of our own, in a folder, and servers' certificates."""

    def __init__(self, folder):
        self.dir = folder
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        for name, text in (("conf", CA_CONFIG), ("index", ""),
                           ("serial", "1000\n")):
            with open(folder + "/" + name, "w", encoding="ascii") as f:
                f.write(text)
        self.openssl("req", "-x509", *self.key("ca"), "-days", "3", "-out",
                     "ca.pem", "-subj", "/CN=tests", "-addext",
                     "basicConstraints=critical,CA:TRUE", "-addext",
                     "keyUsage=critical,keyCertSign,cRLSign")
        self.ca = folder + "/ca.pem"
        os.chmod(self.ca, 0o644)

    def openssl(self, command, *words):
        try:
            subprocess.run(["openssl", command, *words], check=True,
                           cwd=self.dir, stderr=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           env={**os.environ, "OPENSSL_CONF":
                                self.dir + "/conf"})
        except FileNotFoundError:
            skip("no openssl")

    @staticmethod
    def key(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", name + ".key"]

    def context(self, name, alt="IP:127.0.0.1,DNS:localhost",
                begin="20200101000000Z", end="20400101000000Z"):
        """A TLS context with a certificate that is good for alt and then."""
        self.openssl("req", "-new", *self.key(name), "-out", name + ".csr",
                     "-subj", "/CN=" + name, "-addext",
                     "subjectAltName=" + alt)
        self.openssl("ca", "-config", "conf", "-batch", "-notext", "-in",
                     name + ".csr", "-out", name + ".pem", "-startdate",
                     begin, "-enddate", end)
        return self.load(name)

    def own(self, name):
        """One that signed itself."""
        self.openssl("req", "-x509", *self.key(name), "-days", "3", "-out",
                     name + ".pem", "-subj", "/CN=" + name, "-addext",
                     "subjectAltName=IP:127.0.0.1,DNS:localhost")
        return self.load(name)

    def load(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("%s/%s.pem" % (self.dir, name),
                                "%s/%s.key" % (self.dir, name))
        return context
