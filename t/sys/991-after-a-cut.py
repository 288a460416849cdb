"""991: a session that is kept by its process: what comes back after a cut (a
whole window), and what ends with the connection (requests, watches, streams)."""
import base64
import json
import os

from client import (LIMIT, TMP, Client, Closed, RpcError, Server, check,
                    connect, frame, main, resume_in, wait_for)
from upstream import Upstream

FIRST = 128 << 10          # INFLIGHT_FIRST
WINDOW = 2 << 20


class Mute(Client):
    """Says that it is there, but not what it has."""
    pings = size = 0

    def on_frame(self, op, fin, data):
        if op == 9:
            self.pings += 1
            self.sock.sendall(frame(10, b"here"))
        else:
            super().on_frame(op, fin, data)

    def on_message(self, m):
        if m.get("method") == "process/output":
            self.size += len(base64.b64decode(m["params"]["chunk"]))
        super().on_message(m)

    def stopped(self):
        """The bytes of output, when no more come though they are read."""
        had = -1
        while had != self.size:
            had = self.size
            self.notes.clear()
            self.pump(0.5)
        return had


def resumed(kind, server, session):
    """As resume_in(), for clients of that kind."""
    def one():
        c = kind(server.url)
        try:
            return c.initialize(session)
        except RpcError as e:
            check(e.code == -32010, "%s" % e)
            c.close()
            return None
    return wait_for(one, LIMIT, "resumed")


def whole_window():
    """However full it was, the next connection begins anew: with what a line
    is given before it has answered a ping, and these answer none."""
    server = Server("OutputWindow=2M")
    c = Mute(server.url).initialize()
    c.start("p", "sh", "-c", "while read x; do head -c %d /dev/zero; done" %
            (2 * WINDOW), pipeStdin=True)
    for i in range(3):
        c.call("process/write", {"processId": "p", "chunk": "Cg==",
                                 "writeId": str(i)})
        c.until(lambda c=c: c.size >= FIRST / 2, what="a window")
        # What one read brings is over it, at most.
        got = c.stopped()
        check(got <= WINDOW + (64 << 10), "%d bytes" % got)
        check(1 <= c.pings <= 9, "%d pings" % c.pings)
        c.reset()
        c = resumed(Mute, server, c.session)
    server.stop()


def no_gap():
    """What comes and is acknowledged before the client asks what it missed
    stays readable, and is more than stays otherwise."""
    server = Server()
    c = connect(server.url)
    c.start("p", "sh", "-c", "echo; read x; head -c 4000000 /dev/zero; "
            "exec sleep 600", pipeStdin=True)
    last = c.note("process/output")["seq"]
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    c.call("process/write", {"processId": "p", "chunk": "Cg==",
                             "writeId": "w"})
    size = 0
    while size < 4000000:
        size += len(base64.b64decode(c.note("process/output")["chunk"]))
    read = 0
    while read < size:
        r = c.call("process/read", {"processId": "p", "afterSeq": last,
                                    "maxBytes": 1 << 20, "waitMs": 0})
        for chunk in r["chunks"]:
            check(chunk["seq"] == last + 1, "%d after %d" % (chunk["seq"],
                                                             last))
            last = chunk["seq"]
            read += len(base64.b64decode(chunk["chunk"]))
        check(r["chunks"], "%d of %d bytes" % (read, size))
    server.stop()


def requests_end():
    """One that waited is answered to nobody."""
    server = Server()
    c = connect(server.url)
    c.start("p", "cat", pipeStdin=True)
    c.last_id = 1000
    c.request("process/read", {"processId": "p", "waitMs": 600000})
    c.call("process/list")
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    c.call("process/write", {"processId": "p", "chunk": "eAo=",
                             "writeId": "w"})
    c.note("process/output")
    c.call("process/terminate", {"processId": "p"})
    c.note("process/closed")
    c.call("process/list")
    check(not c.answers, "an answer to the last connection: %s" % c.answers)
    server.stop()


def watches_end():
    """Nor does it hear of what another one watched, and may do the same."""
    server, path = Server(), TMP + "/missing"
    watch = {"watchId": 5, "missing": ["file://" + path]}
    c = connect(server.url)
    c.start("p", "sleep", "600")
    check(c.call("fs/watchMissing", watch)["watching"], "not watched")
    c.reset()
    c = resume_in(server.url, c.session, LIMIT)
    with open(path, "w", encoding="ascii"):
        pass
    os.unlink(path)
    check(c.call("fs/watchMissing", watch)["watching"], "not watched again")
    check(not c.notes, "of the last connection: %s" % c.notes)
    with open(path, "w", encoding="ascii"):
        pass
    c.note("fs/missingChanged")
    server.stop()


def streams_end():
    """HTTP requests end, at the other end too."""
    def handler(r):
        r.send(b"HTTP/1.1 200 OK\r\n\r\nx")
        return not r.is_closed(LIMIT)
    up, server = Upstream(handler), Server()
    c = connect(server.url)
    c.start("p", "sleep", "600")
    c.call("http/request", {"requestId": "s", "method": "GET", "url": up.url,
                            "streamResponse": True})
    check(up.connections == 1 and up.closed == 0, "no stream")
    c.reset()
    wait_for(lambda: up.closed == 1, LIMIT, "its end")
    c = resume_in(server.url, c.session, LIMIT)
    c.call("process/list")
    check(not [m for m in c.notes if m["method"].startswith("http/")],
          "deltas of the last connection: %s" % c.notes)
    server.stop()


def receipts():
    """Those count from the answer to "initialize" on, whatever was before."""
    server = Server()
    for lie in (0, 1):
        c = Counting(server.url).initialize()
        c.send({"method": "session/received",
                "params": {"bytes": c.received + lie}})
        try:
            c.call("process/list")
            check(not lie, "a receipt for what was not sent")
        except Closed as e:
            check(lie and e.code == 1002, "%s" % e)
        c.close()
    server.stop()


class Counting(Client):
    """Says receipts, after something wrong."""
    received = 0

    def initialize(self, resume=None, seconds=LIMIT):
        check(resume is None, "a new one")
        try:
            self.call("initialize", {"clientName": "t",
                                     "resumeSessionId": "no-such-session"})
            check(False, "resumed")
        except RpcError:
            self.received = 0
        self.session = self.call("initialize", {
            "clientName": "t", "execsrvReceipts": True}, seconds)["sessionId"]
        self.sock.sendall(frame(1, json.dumps(
            {"method": "initialized", "params": {}}).encode()))
        return self

    def on_frame(self, op, fin, data):
        if op < 8:
            self.received += len(data)
        super().on_frame(op, fin, data)


main(whole_window, no_gap, requests_end, watches_end, streams_end, receipts)
