"""A hub for tests, and both its sides: requests, and websockets that send and
expect relay frames as they like."""
import base64
import contextlib
import hashlib
import importlib
import json
import os
import pwd
import secrets
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time

from client import BUILD, LIMIT, TMP, check, frame, held_port, wait_for

frames = importlib.import_module("8frames")

SUITE = "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"
PROFILE = "noise_hybrid_ik_v1"
ATTACH = "/cloud-agent-nodelay/route/ws/environment/"

RULES = """
Match Executor token:build*
	MayRegister build-*
	Label pool=build
Match Harness token:ci
	MayConnect build-*
	MayList yes
Match Harness token:pool
	MayConnect pool=build
"""

OPERATORS = """
Match Executor token:other
	MayRegister other-*
Match Harness token:op
	MayOperate pool=build
Match Harness token:boss
	MayOperate *
	MayOperateHubs yes
"""


def new_key():
    """Public keys that look like some; a hub does not use them."""
    return {"suite": SUITE,
            "x25519_public_key": base64.b64encode(os.urandom(32)).decode(),
            "mlkem768_public_key":
                base64.b64encode(os.urandom(1184)).decode()}


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1]) if head else 0
        self.fields = {k.lower(): v.strip() for k, v in
                       (line.split(":", 1) for line in lines[1:])}

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json()["error"]["code"]

    @property
    def reason(self):
        return self.fields.get("x-codex-rendezvous-rejection-reason")


class Hub:
    """A hub that runs, with its files. Tokens: NAMES. In its settings and in
    fleet_url @SECURE@ is a port of its own, for TLS, and @URL@ its URL."""
    NAMES = ("build", "build2", "other", "ci", "pool", "nobody", "op", "boss")

    def __init__(self, settings="", rules=RULES, starts=True, tokens_more=None,
                 program=BUILD + "/execsrv-hub"):
        self.program = program
        self.dir = tempfile.mkdtemp(dir=TMP)
        os.chmod(self.dir, 0o755)
        self.token = {name: "%s-%s" % (name, secrets.token_hex(16))
                      for name in self.NAMES}
        self.more = tokens_more or {}
        self.secret = secrets.token_hex(32)
        self.settings, self.rules = settings, rules
        self.process, self.kept = None, []
        self.fleet_url = None       # if it is not this one's
        ports = [held_port() for _ in range(3)]
        self.port, self.metrics_port, self.secure = (n for n, _ in ports)
        self.held = [sock for _, sock in ports]
        self.url = "http://127.0.0.1:%d" % self.port
        self.write()
        if starts:
            self.start()

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, name, text, mode=0o600):
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def write(self, tokens=None):
        self.put("secret", self.secret + "\n")
        self.put("tokens", "# tokens\n\n" + "".join(
            "%s sha256:%s %s\n" % (
                name, hashlib.sha256(t.encode()).hexdigest(),
                self.more.get(name, ""))
            for name, t in (tokens or self.token).items()))
        user = pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            user = "nobody"
        text = """
FleetUrl %s
SecretFile secret
TokensFile tokens
AuditLog %s
MetricsListen http://127.0.0.1:%d
RuntimeDirectory %s/run
HubUser %s
LogLevel debug
%s
%s
%s
""" % (self.fleet_url or self.url, self.path("audit"), self.metrics_port,
       self.dir, user, "" if "Listen http" in self.settings else
       "Listen @URL@", self.settings, self.rules)
        self.put("hub.conf", text.replace(
            "@URL@", "http://127.0.0.1:%d" % self.port).replace(
                "@SECURE@", str(self.secure)))

    def start(self):
        self.run()
        check(self.process.poll() is None, "it ended: " + self.log())
        return self

    def begin(self):
        """Once more, at the ports that it had, when they are free."""
        def serves():
            said = len(self.log())
            self.run()
            check(self.process.poll() is None or "in use" in
                  self.log()[said:], "it ended: " + self.log()[said:])
            return self.process.poll() is None
        wait_for(serves, LIMIT, "its ports are free")

    def run(self):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "-f", self.path("hub.conf")],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: self.process.poll() is not None or
                 self.is_ready(), LIMIT, "the hub serves")

    def is_ready(self):
        with contextlib.suppress(OSError, ValueError, IndexError):
            return self.ask("GET", "/readyz").status == 200
        return False

    def log(self):
        if not os.path.exists(self.path("log")):
            return ""
        with open(self.path("log"), encoding="utf-8",
                  errors="replace") as f:
            return f.read()

    def audit(self):
        with open(self.path("audit"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def stop(self, sig=signal.SIGTERM, status=0):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(sig)
        try:
            got = self.process.wait(LIMIT)
            check(got == status, "the hub ended with %d:\n%s" %
                  (got, self.log()[-2000:]))
            text = self.log()
            check(not any(t in text for t in
                          [*self.token.values(), self.secret]),
                  "a secret is in the log")
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        try:
            if what[0] is not None:
                print(self.log()[-4000:])
            self.stop()
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for sock in self.held:
                sock.close()

    # --- requests ------------------------------------------------------------

    def raw(self, data, port=None, before=b""):
        """Send bytes, and read until the end."""
        with socket.create_connection(("127.0.0.1", port or self.port),
                                      LIMIT) as s:
            s.sendall(before + data)
            out = b""
            while True:
                with contextlib.suppress(ConnectionResetError):
                    piece = s.recv(65536)
                    if piece:
                        out += piece
                        continue
                return Answer(out)

    def ask(self, method, path, token=None, body=None, port=None, more=""):
        data = b"" if body is None else body if isinstance(body, bytes) \
            else json.dumps(body).encode()
        head = "%s %s HTTP/1.1\r\nHost: hub\r\n%s%sContent-Length: %d\r\n" \
            "\r\n" % (method, path, more, "" if token is None else
                      "Authorization: Bearer %s\r\n" %
                      self.token.get(token, token), len(data))
        return self.raw(head.encode() + data, port)

    def registry(self, what, environment, token, body):
        return self.ask("POST", "/cloud/environment/%s/%s" %
                        (environment, what), token, body)

    def register(self, environment="build-1", token="build", key=None):
        answer = self.registry("register", environment, token, {
            "security_profile": PROFILE,
            "executor_public_key": key or new_key()})
        # Of two in one millisecond none is the later one.
        time.sleep(0.001)
        return answer

    def connect(self, environment="build-1", token="ci", key=None):
        return self.registry("connect", environment, token,
                             {"harness_public_key": key or new_key()})

    def validate(self, registration, key, authorization,
                 environment="build-1", token="build"):
        return self.registry("validate", environment, token, {
            "executor_registration_id": registration,
            "harness_public_key": key,
            "harness_key_authorization": authorization})

    def metrics(self):
        text = self.ask("GET", "/metrics", port=self.metrics_port).body
        return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1])
                for line in text.decode().splitlines()
                if not line.startswith("#")}

    def ctl(self, cmd, **members):
        """(rows, last line) of a control command."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(LIMIT)
            s.connect(self.path("run/control.sock"))
            s.sendall(json.dumps({"cmd": cmd, **members}).encode() + b"\n")
            rows = []
            for line in s.makefile("r", encoding="utf-8"):
                got = json.loads(line)
                if "ok" in got:
                    return rows, got
                rows.append(got["row"])
        raise AssertionError("no end of the answer")

    def far(self, token):
        """An operator's websocket."""
        return Operator(self.url.replace("http", "ws", 1) +
                        "/fleet/v1/control", more="Authorization: Bearer "
                        "%s\r\n" % self.token.get(token, token))

    # --- both sides ----------------------------------------------------------

    def attach(self, environment="build-1", token="build", key=None,
               more=""):
        """An executor that is attached: its websocket."""
        answer = self.register(environment, token, key)
        check(answer.status == 200, "register: %d %s" %
              (answer.status, answer.body))
        # One that nobody holds would close.
        self.kept.append(Ws(answer.json()["url"], bundle=answer.json(),
                            more=more))
        return self.kept[-1]

    def harness(self, environment="build-1", token="ci", key=None):
        answer = self.connect(environment, token, key)
        check(answer.status == 200, "connect: %d %s" %
              (answer.status, answer.body))
        return Ws(answer.json()["url"], bundle=answer.json())


class Refused(Exception):
    def __init__(self, answer):
        super().__init__("%d %s" % (answer.status, answer.reason))
        self.answer = answer


class Ws:
    """A websocket client; frames come when they are asked for."""

    def __init__(self, url, bundle=None, rcvbuf=None, more="", tls=None):
        check(url.startswith("ws://127.0.0.1:"), url)
        address, _, path = url[5:].partition("/")
        self.url, self.bundle = url, bundle
        self.sock = socket.socket()
        if rcvbuf:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.sock.settimeout(LIMIT)
        self.sock.connect(("127.0.0.1", int(address.split(":")[1])))
        if tls:
            self.sock = tls.wrap_socket(self.sock)
        self.sock.sendall(("GET /%s HTTP/1.1\r\nHost: hub\r\n%sUpgrade: "
                           "websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                           "AAECAwQFBgcICQoLDA0ODw==\r\n\r\n" %
                           (path, more)).encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            piece = self.sock.recv(65536)
            if not piece:
                break
            self.data += piece
        head, _, rest = self.data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101 "):
            answer = Answer(self.data)
            self.sock.close()
            raise Refused(answer)
        self.data = rest
        self.pings = 0

    def send(self, payload, op=2, fin=True):
        self.sock.sendall(frame(op, payload, fin))

    def need(self, n):
        while len(self.data) < n:
            piece = self.sock.recv(1 << 20)
            if not piece:
                raise EOFError
            self.data += piece

    def frame(self):
        """(opcode, payload) of the next frame; pings are answered."""
        while True:
            self.need(2)
            n, at = self.data[1] & 127, 2
            check(self.data[1] < 128, "a server does not mask")
            if n == 126:
                self.need(4)
                n, at = struct.unpack(">H", self.data[2:4])[0], 4
            elif n == 127:
                self.need(10)
                n, at = struct.unpack(">Q", self.data[2:10])[0], 10
            self.need(at + n)
            op, payload = self.data[0] & 15, self.data[at:at + n]
            self.data = self.data[at + n:]
            if op != 9:
                return op, payload
            self.pings += 1
            self.send(payload, op=10)

    def pong(self):
        """Whether the next frame is a ping; it is answered."""
        self.need(2)
        if self.data[0] & 15 != 9:
            return False
        n = self.data[1]
        self.need(2 + n)
        self.send(self.data[2:2 + n], op=10)
        self.data = self.data[2 + n:]
        return True

    def message(self):
        """The next message, whole."""
        op, payload = self.frame()
        check(op == 2, "opcode %d: %r" % (op, payload[:100]))
        return payload

    def expect(self, payload):
        got = self.message()
        check(got == payload, "%r, not %r" % (got[:100], payload[:100]))

    def reset(self):
        """The next message is a reset: (stream, reason)."""
        got = frames.decode(self.message())
        check(got.kind == "reset", got.kind)
        return got.stream, got.payload

    def ended(self):
        """The code of the close frame that comes; None: none did."""
        try:
            while True:
                op, payload = self.frame()
                if op == 8:
                    return struct.unpack(">H", payload[:2])[0]
        except (EOFError, ConnectionError):
            return None

    def is_quiet(self, seconds=0.2):
        """Nothing comes; but pings, which are answered."""
        while self.data or select.select([self.sock], [], [], seconds)[0]:
            try:
                if not self.pong():
                    return False
            except (EOFError, OSError):
                return False
        return True

    def close(self):
        self.sock.close()


class Operator(Ws):
    """What the control socket says, from elsewhere."""

    def ask(self, cmd, **members):
        """(rows, last line) of a request."""
        self.send(json.dumps({"cmd": cmd, **members}).encode(), op=1)
        rows = []
        while True:
            op, text = self.frame()
            check(op == 1, "opcode %d: %r" % (op, text))
            got = json.loads(text)
            if "ok" in got:
                return rows, got
            rows.append(got["row"])
