"""Several hubs of a site, their engine (a nats-server of its own), and a balancer
before them."""
import contextlib
import glob
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from client import LIMIT, TMP, check, held_port, skip, wait_for

lib = importlib.import_module("8hub")


def need_server():
    if shutil.which("nats-server") is None and \
            not os.path.exists("/usr/sbin/nats-server"):
        skip("no nats-server (apt-get install nats-server)")


class Nats:
    """A server that runs; it keeps its port when it is started again."""

    def __init__(self, config="", starts=True):
        self.dir = tempfile.mkdtemp(dir=TMP)
        self.config, self.process = config, None
        self.port, self.kept = held_port()
        if starts:
            self.start()

    def start(self):
        path = os.path.join(self.dir, "conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(self.config)
        for old in glob.glob(self.dir + "/*.ports"):
            os.unlink(old)
        with open(self.dir + "/log", "ab") as log:
            self.process = subprocess.Popen(
                [shutil.which("nats-server") or "/usr/sbin/nats-server",
                 "-c", path, "-a", "127.0.0.1", "-p", str(self.port),
                 "--ports_file_dir", self.dir],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.serves, LIMIT, "the engine serves")
        return self

    def serves(self):
        check(self.process.poll() is None, "nats-server ended")
        for name in glob.glob(self.dir + "/*.ports"):
            with contextlib.suppress(ValueError, KeyError):
                with open(name, encoding="ascii") as f:
                    return json.load(f)["nats"]
        return False

    @property
    def url(self):
        return "nats://127.0.0.1:%d" % self.port

    def kill(self, sig=signal.SIGKILL):
        self.process.send_signal(sig)
        if sig == signal.SIGKILL:
            self.process.wait()
        if sig == signal.SIGSTOP:
            wait_for(self.is_stopped, LIMIT, "it stands still")

    def is_stopped(self):
        states = set()
        for path in glob.glob("/proc/%d/task/*/stat" % self.process.pid):
            with open(path, encoding="ascii") as f:
                states.add(f.read().rsplit(")", 1)[1].split()[0])
        return states == {"T"}

    def __enter__(self):
        return self

    def __exit__(self, *what):
        if what[0] is not None:
            with open(self.dir + "/log", encoding="utf-8") as f:
                print(f.read()[-2000:])
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.kept.close()


class Client:
    """A client of the engine that does as it likes."""

    def __init__(self, nats):
        self.sock = socket.create_connection(("127.0.0.1", nats.port), LIMIT)
        self.file = self.sock.makefile("rb")
        check(self.file.readline().startswith(b"INFO "), "INFO")
        self.say(b'CONNECT {"verbose":false,"echo":false,"headers":true,'
                 b'"no_responders":true}')
        self.settle()

    def say(self, line, *data):
        self.sock.sendall(b"\r\n".join([line, *data, b""]))

    def settle(self):
        """All that was said is done."""
        self.say(b"PING")
        while self.file.readline() != b"PONG\r\n":
            pass

    def sub(self, subject, sid=b"1"):
        self.say(b"SUB %s %s" % (subject.encode(), sid))
        self.settle()

    def pub(self, subject, data, reply=""):
        self.say(b"PUB %s %s %d" % (subject.encode(), reply.encode(),
                                    len(data)), data)

    def message(self):
        """(subject, reply, data) of the next message."""
        while True:
            words = self.file.readline().split()
            if not words:
                raise EOFError
            if words[0] == b"PING":
                self.say(b"PONG")
            if words[0] in (b"MSG", b"HMSG"):
                head = int(words[-2]) if words[0] == b"HMSG" else 0
                data = self.file.read(int(words[-1]) + 2)[:-2]
                args = words[3:-2] if head else words[3:-1]
                return (words[1].decode(), args[0].decode() if args else "",
                        data[head:])

    def close(self):
        self.sock.close()


class Balancer:
    """What executors know as the fleet: passes connections on to one of the
    hubs that accept them, in turn."""

    def __init__(self):
        self.hubs, self.turn = [], 0
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(512)
        self.port = self.sock.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                s, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(s,),
                             daemon=True).start()

    def reach(self):
        hubs = list(self.hubs)
        self.turn += 1
        for i in range(len(hubs)):
            hub = hubs[(self.turn + i) % len(hubs)]
            with contextlib.suppress(OSError):
                if hub.is_ready():
                    return socket.create_connection(
                        ("127.0.0.1", hub.port), LIMIT)
        return None

    def carry(self, s):
        to = self.reach()
        if to is None:
            s.close()
            return
        to.settimeout(None)

        def one_way(a, b):
            with contextlib.suppress(OSError):
                while (data := a.recv(65536)):
                    b.sendall(data)
            for end in (a, b):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        back = threading.Thread(target=one_way, args=(to, s), daemon=True)
        back.start()
        one_way(s, to)
        back.join()
        s.close()
        to.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Site(contextlib.ExitStack):
    """Hubs a, b, ... with one secret and the same tokens, and an engine."""

    def __init__(self, n=2, splices=False, nats=None, more="", config=""):
        super().__init__()
        need_server()
        self.nats = self.enter_context(nats or Nats(config))
        self.door = Balancer()
        self.callback(self.door.close)
        self.splices, self.more, self.hubs = splices, more, []
        try:
            for i in range(n):
                self.add("hub-" + "abcdef"[i])
            wait_for(lambda: all(len(h.ctl("hubs")[0]) == n
                                 for h in self.hubs),
                     LIMIT, "they know each other")
        except Exception:
            self.close()
            raise

    def add(self, name, secret=None, starts=True):
        hub = lib.Hub(starts=False)
        hub.name = name
        if self.hubs:
            hub.token, hub.secret = self.hubs[0].token, self.hubs[0].secret
        hub.secret = secret or hub.secret
        hub.fleet_url = self.door.url
        hub.settings = "Engine %s\nHubName %s\n%s\n%s" % (
            self.nats.url, name, self.reach(), self.more)
        hub.write()
        self.enter_context(hub)
        if "ProxyProtocol yes" in self.more:
            hub.is_ready = lambda: is_up(hub)
        if starts:
            hub.start()
            self.hubs.append(hub)
            self.door.hubs.append(hub)
        return hub

    def reach(self):
        return ("InternalUrl " if self.splices else "HubUrl ") + "@URL@"


def is_up(hub):
    """Ready, by the listener that no proxy is before."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return hub.ask("GET", "/readyz",
                       port=hub.metrics_port).status == 200
    return False


def attach_at(hub, environment="build-1", token="build", key=None):
    """An executor on this hub: its websocket."""
    answer = hub.register(environment, token, key)
    check(answer.status == 200, "register: %d %s" %
          (answer.status, answer.body))
    return attach_by(hub, answer.json())


def attach_by(hub, bundle):
    path = bundle["url"].split("/", 3)[3]
    ws = lib.Ws("ws://127.0.0.1:%d/%s" % (hub.port, path), bundle=bundle)
    hub.kept.append(ws)
    return ws
