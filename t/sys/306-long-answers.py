"""What goes on while a long answer is on its way, and what becomes of it."""
import base64
import hashlib
import json
import os

from client import (Client, Closed, RpcError, Server, check, connect, frame,
                    main, resume_in, rss, say, wait_for, worker_of, LIMIT,
                    SANITIZED)
from fscommon import Light, fill, folder, light, paths, uri, MIB

SIZE = 40 * MIB


def sparse(path, size=SIZE):
    with open(path, "wb") as f:
        f.truncate(size)


def begun(c, path):
    """Ask for a file; its answer has begun to come when this returns."""
    number = c.request("fs/readFile", paths(path))
    c.until(lambda: c.skip)
    return number


def is_there(path):
    wait_for(lambda: os.path.exists(path), LIMIT, path)


def unread():
    """The client reads nothing more, and all that it asks for is done."""
    top = folder("unread")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    c.start("p", "sh", "-c", "read x; head -c 150000 /dev/zero; "
            "touch %s/written" % top, pipeStdin=True)
    numbers = {begun(c, top + "/f")}
    numbers.add(c.request("fs/writeFile", paths(top + "/small",
                                                dataBase64="eA==")))
    is_there(top + "/small")
    # By an agent.
    numbers.add(c.request("fs/copy", {
        "sourcePath": uri(top + "/f"), "destinationPath": uri(top + "/copy"),
        "recursive": False}))
    is_there(top + "/copy")
    # More than a pipe holds: output is read.
    numbers.add(c.request("process/write", {
        "processId": "p", "chunk": "eAo=", "writeId": "w"}))
    is_there(top + "/written")
    # One more long answer waits, and keeps nothing else from being done.
    numbers.add(c.request("fs/readFile", paths(top + "/f")))
    numbers.add(c.request("fs/open", paths(top + "/made", handleId="h",
                                           mode="replace")))
    for i in range(3):
        numbers.add(c.request("fs/writeBlock", {
            "handleId": "h", "offset": i, "chunk": "eA=="}))
    wait_for(lambda: os.path.exists(top + "/made") and
             os.path.getsize(top + "/made") == 3, LIMIT, "blocks")
    c.until(lambda: set(c.answers) == numbers)
    check(all("result" in m for m in c.answers.values()), "an error")
    check([m["result"]["size"] > 53 * MIB for m in c.answers.values()
           if "size" in m["result"]] == [True] * 2, "too short")
    check(sum(len(base64.b64decode(m["params"]["chunk"])) for m in c.notes
              if "chunk" in m["params"]) == 150000, "output is missing")
    c.close()
    server.stop()


def others():
    """Who wants the session is answered at once, and gets it in the end."""
    top = folder("others")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    worker = worker_of(server, c)
    begun(c, top + "/f")
    with Client(server.url) as other:
        try:
            other.initialize(c.session)
            check(False, "taken over without a question")
        except RpcError as e:
            check(e.code == -32010, "resume: %s" % e)
    new = resume_in(server.url, c.session, LIMIT)
    data = new.call("fs/readFile", paths(top + "/f"))["dataBase64"]
    check(base64.b64decode(data) == bytes(SIZE), "other bytes")
    wait_for(lambda: rss(worker) < 16 * MIB or SANITIZED, LIMIT,
             "it is given back")
    check(c.wait_closed(LIMIT), "the old connection stays")
    new.close()
    c.close()
    server.stop()


def control_frames():
    """A pong does not wait for the end of the answer."""
    top = folder("control")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    number = begun(c, top + "/f")
    c.sock.sendall(frame(9, b"early"))
    c.until(lambda: c.pongs == 1)
    check(number not in c.answers, "behind the answer")
    c.until(lambda: number in c.answers)
    c.close()
    server.stop()


def pong_inside():
    """A pong that had to wait was put inside the frame of an answer."""
    top = folder("pong")
    fill(top + "/a", bytes(70000))
    fill(top + "/b", bytes(MIB))
    server = Server()
    c = connect(server.url)
    c.sock.sendall(
        frame(1, json.dumps({"id": 100, "method": "fs/readFile",
                             "params": paths(top + "/a")}).encode()) +
        frame(9, b"one") + frame(9, b"two") +
        frame(1, json.dumps({"id": 101, "method": "fs/readFile",
                             "params": paths(top + "/b")}).encode()))
    c.until(lambda: len(c.answers) == 2)
    for number, size in ((100, 70000), (101, MIB)):
        check(base64.b64decode(c.answers[number]["result"]["dataBase64"]) ==
              bytes(size), "other bytes")
    c.until(lambda: c.pongs == 2)
    c.close()
    server.stop()


def same_bytes():
    """Wherever parts begin and end in the text around it and in groups."""
    top = folder("same")
    server = Server()
    c = connect(server.url)
    for size in (*range(3 * MIB - 60, 3 * MIB + 3), 4 * MIB + 1, SIZE + 2):
        data = os.urandom(size)
        fill(top + "/f", data)
        number = "x" * (size % 7)
        c.send({"id": number, "method": "fs/readFile",
                "params": paths(top + "/f")})
        answer = c.until(lambda n=number: c.answers.pop(n, None))
        check(base64.b64decode(answer["result"]["dataBase64"]) == data,
              "other bytes of %d" % size)
    c.close()
    server.stop()


def with_output():
    """Receipts for output that waits behind a long answer are asked for behind
    it, or a window that is full of that would not open again."""
    top = folder("output")
    sparse(top + "/f")
    server = Server("OutputWindow=128K")
    c = light(server.url)
    c.start("p", "sh", "-c", "read x; head -c 150000 /dev/zero; touch %s/full; "
            "seq 1000000" % top, pipeStdin=True)
    numbers = {begun(c, top + "/f")}
    c.send({"id": "w", "method": "process/write", "params": {
        "processId": "p", "chunk": "eAo=", "writeId": "w"}})
    is_there(top + "/full")
    numbers |= {c.request("fs/readFile", paths(top + "/f")) for _ in range(2)}
    got, last, ended = hashlib.sha256(), 0, False
    while not ended or not numbers <= set(c.answers):
        check(c.ready(LIMIT / 2), "nothing more after event %d" % last)
        c.take()
        while c.notes:
            m = c.notes.popleft()
            last += 1
            check(m["params"]["seq"] == last, "event %d is missing" % last)
            if m["method"] == "process/output":
                got.update(base64.b64decode(m["params"]["chunk"]))
            ended = m["method"] == "process/closed"
    want = bytes(150000) + b"".join(b"%d\n" % i for i in range(1, 1000001))
    check(got.digest() == hashlib.sha256(want).digest(), "other output")
    check(all("result" in m for m in c.answers.values()), "an error")
    c.close()
    server.stop()


def resumed(url, session):
    c = Light(url)
    try:
        return c.initialize(session)
    except RpcError as e:
        c.close()
        check(e.code == -32010, "resume: %s" % e)
        return None


def cut():
    """The connection ends in the middle: nothing of it stays."""
    top = folder("cut")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    worker, session = worker_of(server, c), c.session
    for _ in range(5):
        begun(c, top + "/f")
        c.request("fs/readFile", paths(top + "/f"))
        c.reset()
        c = wait_for(lambda: resumed(server.url, session), LIMIT, "resumed")
        wait_for(lambda: rss(worker) < 16 * MIB or SANITIZED, LIMIT,
                 "it is given back")
    c.close()
    server.stop()


def closed():
    """What was said before the end still comes, then the close."""
    top = folder("closed")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    number = begun(c, top + "/f")
    end = c.request("session/close")
    try:
        c.until(lambda: False, what="the end")
    except Closed as e:
        check(e.code == 1000, "closed with %s" % e.code)
    check(c.answers[number]["result"]["size"] > 53 * MIB, "too short")
    check("result" in c.answers[end], "session/close: %s" % c.answers[end])
    c.close()
    server.stop()


def stopped():
    """A client that does not read does not keep the server from its end."""
    top = folder("stopped")
    sparse(top + "/f")
    server = Server()
    c = light(server.url)
    begun(c, top + "/f")
    say("  stopped in %.2f s" % server.stop())
    check(c.wait_closed(LIMIT), "the connection stays")
    c.close()


main(unread, others, control_frames, pong_inside, same_bytes, with_output, cut,
     closed, stopped)
