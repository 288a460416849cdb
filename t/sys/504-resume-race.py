"""Two at the same instant: one has it, the other is told that it is attached;
for sessions that a worker keeps and for those that only the master knows.
"""
import json
import time

from client import (Client, Server, check, connect, frame, main, say, LIMIT)

ROUNDS = 200


def race(url, owns, order):
    with connect(url) as c:
        if owns:
            c.start("p", "sleep", "300")
        session = c.session
    pair = [Client(url), Client(url)]
    request = frame(1, json.dumps({
        "id": 1, "method": "initialize",
        "params": {"clientName": "t", "resumeSessionId": session}}).encode())
    for c in pair[::order]:
        c.sock.sendall(request)
    began = time.monotonic()
    # Both are read: who has it may be asked for a sign of life.
    while not all(1 in c.answers for c in pair):
        check(time.monotonic() - began < LIMIT, "no answer")
        for c in pair:
            if not c.ended and c.ready(0.01):
                c.take()
    took = time.monotonic() - began
    answers = [c.answers[1] for c in pair]
    won = [c for c, a in zip(pair, answers) if "result" in a]
    lost = [a["error"]["code"] for a in answers if "error" in a]
    # Both may come while the first connection still looks attached.
    if not won and lost == [-32010, -32010]:
        for c in pair:
            c.close()
        return False
    # One that gave no such sign for 2 s, as we stood still, has lost it.
    if len(won) == 2 and took > 1:
        for c in pair:
            c.close()
        return False
    check(len(won) == 1 and lost == [-32010],
          "%d have it, others got %s" % (len(won), lost))
    won[0].last_id = 1
    won[0].send({"method": "initialized"})
    won[0].call("environment/status")
    if owns:
        check(won[0].call("process/terminate",
                          {"processId": "p"})["running"], "its process")
    for c in pair:
        c.close()
    return True


def rounds():
    server = Server("ClosedProcessTtl=1", "DetachedTtl=60")
    done = again = 0
    while done < ROUNDS:
        if race(server.url, done % 2 == 0, 1 if done % 4 < 2 else -1):
            done += 1
        else:
            again += 1
            check(again < 10 * ROUNDS, "always attached")
    say("  %d rounds, %d more too early" % (done, again))
    for word in ("malformed", "died", " while "):
        check(word not in server.log(), "in the log: " + server.log()[-500:])
    server.stop()


main(rounds)
