"""A way to a server that can be cut."""
import contextlib
import socket
import threading

from client import dial


class Relay:
    """To the server at url; with "every", it cuts itself that many times after
    so many bytes."""

    def __init__(self, url, every=0, times=0):
        self.server, self.pairs = url, []
        self.every, self.times, self.carried = every, times, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "ws://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            pair = (self.listener.accept()[0], dial(self.server))
            for sock in pair:
                sock.settimeout(None)
            self.pairs.append(pair)
            for a, b in (pair, pair[::-1]):
                threading.Thread(target=self.carry, args=(a, b),
                                 daemon=True).start()

    def is_due(self, n):
        with self.lock:
            self.carried += n
            if self.times == 0 or self.carried < self.every:
                return False
            self.times -= 1
            self.carried = 0
            return True

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.is_due(len(data)):
                    self.cut()
                    return
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        for sock in self.pairs[-1]:
            # The end of one may have brought that of the other already.
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
