#!/usr/bin/env python3
"""execsrv-hub, one of them: each row of what registry and rendezvous answer,
and frames between an executor and harnesses that the test plays itself."""
import base64
import contextlib
import hmac
import importlib
import json
import os
import signal
import socket
import threading
import time

from client import LIMIT, check, frame, in_time, main, wait_for

lib = importlib.import_module("8hub")
frames = importlib.import_module("8frames")
Hub, Ws, Refused = lib.Hub, lib.Ws, lib.Refused


def refused(status, fn, *args, code=None, reason=None):
    """A refusal, by an answer or of an upgrade."""
    try:
        answer = fn(*args)
        check(isinstance(answer, lib.Answer), "it was not refused")
    except Refused as e:
        answer = e.answer
    check(answer.status == status, "%d %s, not %d" % (
        answer.status, answer.body[:200], status))
    check(code is None or answer.code == code, answer.body)
    check(reason is None or answer.reason == reason, "%s" % answer.reason)
    return answer


def registering():
    """What an executor is answered."""
    with Hub() as hub:
        key = lib.new_key()
        got = hub.register(key=key).json()
        check(set(got) == {"environment_id", "url", "security_profile",
                           "executor_registration_id"}, "%s" % got)
        check(got["environment_id"] == "build-1" and
              got["security_profile"] == lib.PROFILE, "%s" % got)
        check(got["url"].startswith(
            "ws://127.0.0.1:%d%sbuild-1?ticket=" % (hub.port, lib.ATTACH)),
            got["url"])
        # Executors of a year cut URLs at 2050 bytes.
        check(len(got["url"]) < 2040, "%d bytes" % len(got["url"]))
        check(hub.register(key=key).json()["executor_registration_id"] !=
              got["executor_registration_id"], "the same registration")
        refused(401, hub.register, "build-1", "wrong", code="invalid_token")
        refused(401, hub.ask, "POST", "/cloud/environment/build-1/register")
        refused(403, hub.register, "other-1", code="not_allowed")
        refused(403, hub.register, "build-1", "ci", code="not_allowed")
        ask, body = hub.registry, {"security_profile": lib.PROFILE,
                                   "executor_public_key": lib.new_key()}
        for change in ({"security_profile": "noise"},
                       {"security_profile": None},
                       {"executor_public_key": None},
                       {"executor_public_key": {}},
                       {"executor_public_key": {
                           **key, "suite": "Noise_XX"}},
                       {"executor_public_key": {
                           **key, "x25519_public_key": "AAAA"}},
                       {"executor_public_key": {
                           **key, "mlkem768_public_key":
                               key["mlkem768_public_key"][:-4]}}):
            refused(400, ask, "register", "build-1", "build",
                    {**body, **change}, code="invalid_request")
        for data in (b"", b"[]", b"{", b'{"a":1,"a":2}', b"\xff{}",
                     b"null"):
            refused(400, ask, "register", "build-1", "build", data)
        refused(413, ask, "register", "build-1", "build", b"x" * 20000)
        for name in ("..", ".", "a%2fb", "a%00", "%zz", "a%", "x" * 129,
                     "b%20c", "%C3%A4"):
            refused(400, ask, "register", name, "build", body)
        check(ask("register", "build%2D7", "build", body).json()[
            "environment_id"] == "build-7", "an escape")
        refused(405, hub.ask, "GET", "/cloud/environment/build-1/register",
                "build")
        refused(404, hub.ask, "POST", "/cloud/environment/build-1/dance",
                "build", b"{}")
        refused(400, hub.ask, "POST", "/cloud/environment/build-1",
                "build", b"{}")
        refused(404, hub.ask, "POST", "/", "build", b"{}")
        refused(404, hub.ask, "GET", "/metrics")
        refused(403, hub.ask, "GET", "/readyz", None, None, None,
                "Origin: http://evil\r\n")
        check(hub.metrics()["execsrv_hub_registrations_total"] == 3,
              "%s" % hub.metrics())
        check([e["event"] for e in hub.audit()][:2] == ["register"] * 2,
              "%s" % hub.audit()[:2])


def connecting():
    """What a harness is answered; what there is and is not looks the same."""
    with Hub() as hub:
        refused(409, hub.connect, code="environment_offline")
        refused(404, hub.connect, "other-1", code="environment_not_found")
        refused(404, hub.connect, "build-1", "nobody",
                code="environment_not_found")
        refused(401, hub.connect, "build-1", "wrong")
        refused(409, hub.connect, "build-1", "pool")
        refused(409, hub.connect, "other-1", "pool")
        key, mine = lib.new_key(), lib.new_key()
        x = hub.attach(key=key)
        got = hub.connect(key=mine).json()
        check(got["executor_public_key"] == key, "the executor's key")
        check(got["executor_registration_id"] ==
              x.bundle["executor_registration_id"], "its registration")
        check(got["environment_id"] == "build-1" and
              got["security_profile"] == lib.PROFILE, "%s" % got)
        check(len(got["harness_key_authorization"]) <= 4096, "too long")
        check(hub.connect("build-1", "pool").status == 200, "by its label")
        refused(404, hub.connect, "build-1", "nobody",
                code="environment_not_found")
        refused(400, hub.registry, "connect", "build-1", "ci", {})
        x.close()
        wait_for(lambda: hub.connect().status == 409, LIMIT, "it is offline")


def validating():
    """Harnesses are confirmed by what they were granted, and nothing else."""
    with Hub() as hub:
        key = lib.new_key()
        x = hub.attach()
        got = hub.connect(key=key).json()
        reg, auth = x.bundle["executor_registration_id"], \
            got["harness_key_authorization"]

        def verdict(*args, **more):
            return hub.validate(*args, **more).json()["valid"]
        check(verdict(reg, key, auth) is True, "the right one")
        check(verdict(reg, key, auth) is True, "again")
        check(verdict(reg, lib.new_key(), auth) is False, "another key")
        check(verdict("0" * 32, key, auth) is False, "another registration")
        for bad in ("", "x", auth[:-1], auth + "A", auth[1:], "A" * 5000,
                    auth.swapcase(), "\u00e4" + auth, "\u0000"):
            check(verdict(reg, key, bad) is False, "authorization " + bad)
        check(verdict(reg, key, auth, environment="build-2") is False,
              "another environment")
        ticket = got["url"].split("ticket=")[1]
        check(verdict(reg, key, ticket) is False, "a ticket")
        refused(401, hub.validate, reg, key, auth, "build-1", "wrong")
        refused(403, hub.validate, reg, key, auth, "build-1", "ci")
        # Whose harness lost its token is not confirmed any more.
        hub.write({n: t for n, t in hub.token.items() if n != "ci"})
        check(hub.ctl("reload")[1]["ok"], "reload")
        check(verdict(reg, key, auth) is False, "revoked")


def attaching():
    """Tickets: forged, of others, expired, used, revoked."""
    with Hub("TicketLifetime 1h") as hub:
        url = hub.register().json()["url"]
        base, ticket = url.split("ticket=")
        for bad, status, reason in (
                (base[:-1], 404, "unknown_route"),
                (base, 404, "unknown_route"),
                (base + "ticket=", 403, "invalid_signature"),
                (url[:-1], 403, "invalid_signature"),
                (base + "ticket=A" + ticket[1:-1] + "B", 403, None),
                (url.replace("build-1", "build-2"), 403,
                 "invalid_signature"),
                (url.replace("build-1", "b%00"), 404, "unknown_route"),
                (base + "ticket=" + "A" * 4000, 403, None)):
            refused(status, Ws, bad, reason=reason)
        refused(400, hub.ask, "GET", lib.ATTACH + "build-1?ticket=" + ticket)
        x = Ws(url)
        mine = hub.connect().json()["url"]
        h = Ws(mine)
        refused(403, Ws, mine, reason="already_used")
        unused = hub.connect().json()["url"]
        refused(403, Ws, unused.replace("build-1", "build-2"))
        # An executor that registered again, with another key.
        x.close()
        check(h.ended() == 1001, "its harness is told")
        wait_for(lambda: hub.connect().status == 409, LIMIT, "offline")
        refused(409, Ws, unused, reason="environment_offline")
        other = hub.attach()
        refused(409, Ws, unused, reason="environment_offline")
        # Evicted: its ticket is good no more.
        check(hub.ctl("evict", environment="build-1")[1]["ok"], "evict")
        check(other.ended() == 1008, "it is told")
        refused(403, Ws, other.bundle["url"], reason="evicted")
        x = hub.attach()
        url = x.bundle["url"]
        hub.write({n: t for n, t in hub.token.items() if n != "build"})
        check(hub.ctl("reload")[1]["ok"], "reload")
        check(x.ended() == 1008, "its token is gone")
        refused(403, Ws, url, reason="revoked")


def expired():
    """An executor whose ticket is too old registers again."""
    with Hub("TicketLifetime 1\nBearerClockSkew 0") as hub:
        url = hub.register().json()["url"]

        def late():
            try:
                Ws(url).close()
            except Refused as e:
                return e.answer.reason == "expired" and \
                    e.answer.status == 401
            time.sleep(0.2)
            return False
        wait_for(late, LIMIT, "it expires")


def secrets():
    """Two secrets are valid; a hub with another one believes nothing."""
    with Hub() as hub:
        url = hub.register().json()["url"]
        old = hub.secret
        hub.secret = "n" * 40
        hub.put("secret", "%s\n%s\n" % (hub.secret, old))
        check(hub.ctl("reload")[1]["ok"], "reload")
        x = Ws(url)
        x.close()
        now = hub.register().json()["url"]
        hub.put("secret", hub.secret + "\n")
        check(hub.ctl("reload")[1]["ok"], "reload")
        refused(403, Ws, url, reason="invalid_signature")
        Ws(now).close()


def streams():
    """Frames go to whom they are for, and as they are."""
    with Hub() as hub:
        x = hub.attach()
        a, b = hub.harness(), hub.harness(token="pool")
        odd = frames.frame(b"one", frames.text(99, b"unknown"))
        first = frames.resume(b"one")
        for sent in (first, odd, frames.data(b"one", 0, b"x" * 61456),
                     frames.handshake(b"one", b"m" * 3600),
                     frames.frame(b"one", version=7)):
            a.send(sent)
            x.expect(sent)
        b.send(frames.resume(b"two"))
        x.expect(frames.resume(b"two"))
        for stream, to, other in ((b"one", a, b), (b"two", b, a)):
            sent = frames.data(stream, 5, os.urandom(100))
            x.send(sent)
            to.expect(sent)
            check(other.is_quiet(), "it went to another one, too")
        # Somebody else's stream, in all its forms.
        two = frames.text(2, b"two")
        for bad in (frames.data(b"two", 0, b"evil"), frames.reset(b"two"),
                    frames.uint(1, 1) + frames.text(2, b"one") + two,
                    frames.uint(1, 1) + two + frames.text(2, b"one"),
                    b"", b"\x12", b"\xff" * 20, frames.text(2, b""),
                    frames.text(2, b"i" * 201),
                    b"\x12\x83\x80\x80\x80\x80\x00two",
                    b"\x92\x80\x80\x80\x80\x00\x03two",
                    b"\x0b" + frames.frame(b"one"),
                    frames.reset(b"never seen")):
            a.send(bad)
        for bad in (frames.data(b"nobody", 0, b"x"), b"\x12", b""):
            x.send(bad)
        a.send(b"text", op=1)
        x.send(b"text", op=1)
        last = frames.data(b"one", 9, b"last")
        a.send(last)
        x.expect(last)
        x.send(last)
        a.expect(last)
        check(b.is_quiet(), "nothing of that is for another one")
        check(hub.metrics()["execsrv_hub_frames_dropped_total"] == 18,
              "counted")
        # In fragments, with a ping between.
        a.send(last[:3], fin=False)
        a.send(b"ping", op=9)
        a.send(last[3:], op=0)
        check(a.frame() == (10, b"ping"), "the pong")
        x.expect(last)
        # A reset frees the id.
        x.send(frames.reset(b"one"))
        a.expect(frames.reset(b"one"))
        b.send(first)
        x.expect(first)
        # One that executors drop would leave the stream there.
        for n, odd in enumerate((frames.reset(b"odd", b""),
                                 frames.reset(b"odd", version=2),
                                 frames.reset(b"odd", b"\xff"))):
            b.send(frames.resume(b"odd"))
            x.expect(frames.resume(b"odd"))
            b.send(odd)
            x.expect(odd)
            check(x.reset() == (b"odd", b"harness_disconnected"), "%d" % n)
        # Losses are told, once for each stream.
        b.close()
        check({x.reset(), x.reset()} == {
            (b"one", b"harness_disconnected"),
            (b"two", b"harness_disconnected")}, "resets")
        a.send(frames.resume(b"three"))
        x.expect(frames.resume(b"three"))
        x.close()
        check(a.reset() == (b"three", b"executor_disconnected"), "a reset")
        check(a.ended() == 1001, "its end")


def too_big():
    """262144 bytes are the most, in one frame or several."""
    with Hub() as hub:
        x = hub.attach()
        for pieces in (1, 4):
            h = hub.harness()
            name = b"s%d" % pieces
            room = 262144 - len(frames.data(name, 1, b"y" * 200000))
            sent = frames.data(name, 1, b"y" * (200000 + room))
            check(len(sent) == 262144, "%d" % len(sent))
            h.send(sent)
            x.expect(sent)
            over = sent + b"\0"
            size = len(over) // pieces + 1
            # It may be closed before the last byte is sent.
            with contextlib.suppress(ConnectionError):
                for at in range(0, len(over), size):
                    h.send(over[at:at + size], op=0 if at else 2,
                           fin=at + size >= len(over))
            check(h.ended() in (1009, None), "it is closed")
            check(x.reset() == (name, b"harness_disconnected"), "told")


def violations():
    """Frames that RFC 6455 forbids, from either side: it is closed, and the
    other one is told."""
    mask = b"\0\0\0\0"
    bad = (b"\x82\x01x",                             # no mask
           b"\xc2\x81" + mask + b"x",                # a reserved bit
           b"\x83\x81" + mask + b"x",                # an opcode of nobody
           b"\x80\x81" + mask + b"x",                # continues nothing
           b"\x09\x81" + mask + b"x",                # a ping in pieces
           b"\x89\xfe\x00\x80" + mask,               # a long one
           b"\x82\xfe\x00\x01" + mask + b"x",        # a longer length
           b"\x82\xff\x80" + b"\0" * 7 + mask,       # 2^63
           b"\x82\xff\0\0\0\0\0\x04\0\x01" + mask,  # 262145 bytes
           b"\x88\x81" + mask + b"x",                # half a code
           b"\x88\x82" + mask + b"\x03\xed",         # 1005
           b"\x81\x81" + mask + b"\xff",             # no UTF-8
           b"\x02\x81" + mask + b"x\x82\x81" + mask + b"x")
    with Hub() as hub:
        for n, data in enumerate(bad):
            x = hub.attach()
            h = hub.harness()
            h.send(frames.resume(b"s"))
            x.expect(frames.resume(b"s"))
            h.sock.sendall(data)
            check(h.ended() in (1002, 1007, 1009), "%d: a harness" % n)
            check(x.reset() == (b"s", b"harness_disconnected"), "told")
            h = hub.harness()
            h.send(frames.resume(b"t"))
            x.expect(frames.resume(b"t"))
            x.sock.sendall(data)
            check(x.ended() in (1002, 1007, 1009), "%d: an executor" % n)
            check(h.reset() == (b"t", b"executor_disconnected"), "told")
            check(h.ended() == 1001, "its end")
            wait_for(lambda: not hub.ctl("list")[0], LIMIT, "it is gone")
        check(hub.metrics()["execsrv_hub_violations_total"] == 2 * len(bad),
              "counted")


def floods():
    """Registrations and connects of a token that is beyond its rate, and
    tickets that are shown again: refused, and nobody else notices."""
    with Hub("RequestRate 5") as hub:
        x = hub.attach()
        once = hub.connect().json()["url"]
        kept = Ws(once)
        kept.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        codes, seen = [], threading.Lock()

        def flood():
            for _ in range(100):
                for fn, args in ((hub.register, ("build-9", "build")),
                                 (hub.connect, ("build-9", "ci")),
                                 (Ws, (once,))):
                    try:
                        status = fn(*args).status
                    except Refused as e:
                        status = e.answer.status
                    with seen:
                        codes.append(status)
        threads = [threading.Thread(target=flood) for _ in range(4)]
        for t in threads:
            t.start()
        longest = 0
        while any(t.is_alive() for t in threads):
            longest = max(longest, echoes(x, kept, b"s", 1))
            answer = hub.connect("build-1", "pool")
            check(answer.status in (200, 429), "%d" % answer.status)
        for t in threads:
            t.join()
        counts = {c: codes.count(c) for c in set(codes)}
        check(len(codes) == 1200 and set(codes) <= {200, 403, 409, 429} and
              counts[403] == 400, "%s" % counts)
        in_time(counts.get(429, 0) > 500, "too slow a flood: %s" % counts)
        in_time(longest < 1, "a stream waited %.1f s" % longest)
        answers = [hub.register("build-9") for _ in range(5)]
        last = [a for a in answers if a.status == 429]
        in_time(last, "its rate allows them")
        check(last[0].code == "rate_limited", last[0].body)


def limits():
    """Streams of an environment, environments and streams of a subject."""
    with Hub(rules="""
Match Executor token:build*
	MayRegister ${subject}-*
	MaxEnvironments 2
Match Harness token:ci
	MaxStreams 3
	MayConnect *
""") as hub:
        x = hub.attach()
        hub.attach("build-2")
        refused(429, hub.register, "build-3", code="too_many_environments")
        refused(403, hub.register, "build2-1")
        hub.attach("build2-1", "build2").close()
        many = [hub.harness() for _ in range(3)]
        url = hub.connect().json()["url"]
        refused(429, Ws, url, reason="too_many_streams")
        h = many[0]
        for n in range(128):
            h.send(frames.resume(b"%d" % n))
            x.expect(frames.resume(b"%d" % n))
        many[1].send(frames.resume(b"more"))
        check(many[1].reset() == (b"more", b"too_many_streams"), "reset")
        check(hub.metrics()["execsrv_hub_streams_refused_total"] == 1,
              "counted")
        h.send(frames.reset(b"5"))
        x.expect(frames.reset(b"5"))
        many[1].send(frames.resume(b"more"))
        x.expect(frames.resume(b"more"))
        many[2].close()
        wait_for(lambda: hub.ctl("status")[1]["harnesses"] == 2, LIMIT,
                 "it is gone")
        hub.harness().close()


def takeover():
    """A second connection of an executor; one of somebody else."""
    with Hub() as hub:
        key = lib.new_key()
        x = hub.attach(key=key)
        h = hub.harness()
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        again = Ws(x.bundle["url"])         # the first one is half open
        check(h.reset() == (b"s", b"executor_disconnected"), "told")
        check(x.ended() == 1008, "the old one is closed")
        h = hub.harness()
        h.send(frames.resume(b"t"))
        again.expect(frames.resume(b"t"))
        # Registered again with its key: the later registration counts.
        newer = hub.attach(key=key)
        check(again.ended() == 1008, "closed")
        refused(409, Ws, x.bundle["url"], reason="superseded")

        # Another key: the one that is there is asked, and answers.
        def while_it_answers(fn):
            got, quiet = [], True
            t = threading.Thread(target=lambda: got.append(fn()))
            t.start()
            while quiet and t.is_alive():
                quiet = newer.is_quiet(0.02)
            t.join()
            return got[0], quiet
        answer, quiet = while_it_answers(hub.register)
        in_time(answer.status == 503, "it did not answer in time")
        check(quiet, "something else came")
        check(answer.code == "registration_conflict", answer.body)
        # It does not answer: it is dead.
        began = time.monotonic()
        stranger = hub.attach()
        check(time.monotonic() - began >= 2, "it had no time to answer")
        check(newer.ended() == 1008, "replaced")
        check(hub.connect().json()["executor_registration_id"] ==
              stranger.bundle["executor_registration_id"], "the new one")


def slow_harness():
    """It holds up its executor for 5 s at most, then it is given up."""
    with Hub() as hub:
        x = hub.attach()
        slow = Ws(hub.connect().json()["url"], rcvbuf=4096)
        slow.send(frames.resume(b"slow"))
        x.expect(frames.resume(b"slow"))
        done = threading.Event()

        def flood():
            while not done.is_set():
                x.send(frames.data(b"slow", 1, b"z" * 61000))
        t = threading.Thread(target=flood)
        began = time.monotonic()
        t.start()
        try:
            wait_for(lambda: hub.metrics()["execsrv_hub_stalls_total"] == 1,
                     LIMIT, "the slow one is given up")
        finally:
            done.set()
        took = time.monotonic() - began
        check(took >= 4.5, "after %.1f s" % took)
        in_time(took < 10, "after %.1f s" % took)
        t.join()
        check(x.reset() == (b"slow", b"harness_too_slow"), "told")
        h = hub.harness()
        h.send(frames.resume(b"next"))
        x.expect(frames.resume(b"next"))


FLOW = "X-Execsrv-Relay: flow\r\n"     # of an executor that can stop a stream


def opened(hub, x, name, token="ci", **how):
    """A harness with a stream."""
    h = Ws(hub.connect(token=token).json()["url"], **how)
    h.send(frames.resume(name))
    x.expect(frames.resume(name))
    return h


def echoes(x, h, name, turns=50):
    """Through the hub and back; the longest time."""
    sent, longest = frames.data(name, 1, b"e" * 100), 0
    for _ in range(turns):
        began = time.monotonic()
        x.send(sent)
        h.expect(sent)
        longest = max(longest, time.monotonic() - began)
    return longest


def slow_harness_beside_others():
    """An executor that can stop a stream is told so, and holds up nobody."""
    with Hub() as hub:
        x = hub.attach(more=FLOW)
        slow = opened(hub, x, b"slow", rcvbuf=4096)
        quick = opened(hub, x, b"quick")
        stop = frames.flow(b"slow", True)
        sent = []
        while x.is_quiet(0) and len(sent) < 1000:
            sent.append(frames.data(b"slow", len(sent), os.urandom(61000)))
            x.send(sent[-1])
            echoes(x, quick, b"quick", 1)
        x.expect(stop)
        # Its harness need not hurry now.
        check(x.is_quiet(6), "something else came")
        echoes(x, quick, b"quick")
        for f in sent:
            slow.expect(f)
        x.expect(frames.flow(b"slow", False))
        values = hub.metrics()
        check(values["execsrv_hub_stalls_total"] == 0 and
              values["execsrv_hub_stops_total"] == 1, "%s" % values)
        last = frames.data(b"slow", len(sent), b"last")
        x.send(last)
        slow.expect(last)
        # One that goes while its stream is stopped.
        gone, n = opened(hub, x, b"gone", rcvbuf=4096), 0
        while x.is_quiet(0) and n < 1000:
            x.send(frames.data(b"gone", n, os.urandom(61000)))
            n += 1
        x.expect(frames.flow(b"gone", True))
        gone.close()
        check(x.reset()[0] == b"gone", "no reset")
        echoes(x, quick, b"quick")


def fair_input():
    """Harnesses that all send more than an executor reads take turns."""
    with Hub() as hub:
        x = hub.attach()
        names = [b"a", b"b", b"c", b"d"]
        all_ = [opened(hub, x, n) for n in names]
        done = threading.Event()

        def flood(h, name):
            h.sock.settimeout(0.1)
            f = frame(2, frames.data(name, 1, b"f" * 60000))
            while not done.is_set():
                at = 0
                while at < len(f) and not done.is_set():
                    with contextlib.suppress(TimeoutError):
                        at += h.sock.send(f[at:])
        threads = [threading.Thread(target=flood, args=both)
                   for both in zip(all_, names)]
        for t in threads:
            t.start()
        got = dict.fromkeys(names, 0)
        for n in range(1600):
            got[frames.decode(x.message()).stream] += n >= 400
            if n % 8 == 0:
                time.sleep(0.001)           # a slow reader
        done.set()
        for t in threads:
            t.join()
        # One of them may have had no processor.
        in_time(min(got.values()) * 3 > max(got.values()), "%s" % got)


def received(hub, h, sent):
    """All of them come, in order, to one that reads in time."""
    try:
        for n, f in enumerate(sent):
            h.expect(f)
            if n % 20 == 0:
                time.sleep(0.01)
    except (EOFError, OSError) as e:
        in_time(hub.metrics()["execsrv_hub_stalls_total"] == 0,
                "this test was too slow a reader")
        raise AssertionError("frame %d: %s" % (n, e)) from e


def whole_output():
    """400 frames to a harness that reads slowly, but reads."""
    with Hub() as hub:
        x = hub.attach()
        h = Ws(hub.connect().json()["url"], rcvbuf=4096)
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        sent = [frames.data(b"s", n, os.urandom(61000)) for n in range(400)]
        t = threading.Thread(target=lambda: [x.send(f) for f in sent])
        t.start()
        received(hub, h, sent)
        t.join()
        values = hub.metrics()
        check(values["execsrv_hub_frames_total"] == 401, "%s" % values)


def rates():
    """Requests of a subject, and wrong tokens of a source."""
    with Hub("RequestRate 1") as hub:
        answers = [hub.connect("build-1") for _ in range(20)]
        check({a.status for a in answers} <= {409, 429}, "%s" % answers)
        last = [a for a in answers if a.status == 429]
        in_time(last, "its rate allows them")
        check(last[0].fields["retry-after"] == "1", "%s" % last[0].fields)
        check(hub.register().status == 200, "of another subject")
    with Hub() as hub:
        codes = [hub.connect("build-1", "wrong").status for _ in range(20)]
        check(codes[0] == 401 and set(codes) <= {401, 429}, "%s" % codes)
        in_time(codes[-1] == 429, "the wait was over: %s" % codes)
        check("wrong" not in json.dumps(hub.audit()), "a token is audited")
        check(hub.connect().status == 409, "a right token, from the same")


def throughput():
    """MaxBytesPerSecond: slower, but whole."""
    with Hub(rules="""
Match Executor token:build
	MayRegister *
Match Harness token:ci
	MayConnect *
	MaxBytesPerSecond 2M
""") as hub:
        x, h = hub.attach(), hub.harness()
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        sent = [frames.data(b"s", n, os.urandom(61000)) for n in range(120)]
        t = threading.Thread(target=lambda: [x.send(f) for f in sent])
        began = time.monotonic()
        t.start()
        received(hub, h, sent)
        t.join()
        took = time.monotonic() - began
        # 7.3 MB, of which 2 MiB may come at once.
        check(took > 2, "in %.2f s" % took)


def throughput_beside_others():
    """It is the subject's streams that wait, and in turns."""
    with Hub(rules="""
Match Executor token:build
	MayRegister *
Match Harness token:ci
	MayConnect *
	MaxBytesPerSecond 2M
Match Harness token:pool
	MayConnect *
""") as hub:
        x = hub.attach(more=FLOW)
        names = (b"one", b"two")
        limited = [opened(hub, x, n) for n in names]
        free = opened(hub, x, b"free", "pool")
        stopped, got = set(), dict.fromkeys(names, 0)
        longest = numbers = 0
        began = time.monotonic()
        while time.monotonic() - began < 4:
            for name in names:
                if name not in stopped:
                    numbers += 1
                    x.send(frames.data(name, numbers, b"z" * 60000))
            longest = max(longest, echoes(x, free, b"free", 1))
            while not x.is_quiet(0):
                f = x.message()
                name = [n for n in names if f in (
                    frames.flow(n, True), frames.flow(n, False))]
                check(name, "%r" % f)
                stopped ^= set(name)
            for name, h in zip(names, limited):
                while not h.is_quiet(0):
                    got[name] += len(h.message())
        took = time.monotonic() - began
        check(sum(got.values()) < (took + 1.5) * 2 * 1024 * 1024,
              "%s in %.1f s" % (got, took))
        in_time(sum(got.values()) > took * 1024 * 1024, "%s" % got)
        in_time(min(got.values()) * 3 > max(got.values()), "%s" % got)
        in_time(longest < 0.5, "another one waited %.2f s" % longest)
        values = hub.metrics()
        check(values["execsrv_hub_stalls_total"] == 0, "%s" % values)
        in_time(values["execsrv_hub_stops_total"] > 0, "slower than its rate")


def jwt(secret, **claims):
    def b64(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")
    body = b64(b'{"alg":"HS256"}') + b"." + b64(json.dumps(claims).encode())
    return (body + b"." + b64(hmac.new(secret.encode(), body, "sha256")
                              .digest())).decode()


def signed_tokens():
    """JWT, as execsrvd takes them."""
    with Hub("BearerSecretFile bearer\nBearerAudience hub", rules="""
Match Executor jwt:machine-*
	MayRegister ${subject}
Match Harness jwt:alice
	MayConnect machine-*
Match Harness group:ci,!group:guests
	MayConnect machine-*
""", starts=False) as hub:
        secret = "s" * 40
        hub.put("bearer", secret + "\n")
        hub.start()
        soon = int(time.time()) + 600

        def token(sub, **more):
            return jwt(secret, **{"sub": sub, "exp": soon, "aud": "hub",
                                  **more})
        mine = token("machine-1")
        x = hub.attach("machine-1", mine)
        refused(403, hub.register, "machine-2", mine)
        h = hub.harness("machine-1", token("alice"))
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        refused(404, hub.connect, "machine-1", token("bob"))
        for groups in (["x", "ci"], "ci", ["D\u00f6ner team", "ci"]):
            check(hub.connect("machine-1", token("bob", groups=groups))
                  .status == 200, "%s" % groups)
        for groups in (["guests", "ci"], ["c"], [], "x", None, ["CI"],
                       ["group:ci"]):
            refused(404, hub.connect, "machine-1",
                    token("bob", groups=groups))
        for groups in (["ci", 5], {"ci": 1}, ["ci", ""], ["ci", "a\0b"],
                       ["ci"] + ["g%d" % n for n in range(256)], True):
            refused(401, hub.connect, "machine-1",
                    token("bob", groups=groups))
        for bad in (token("alice", exp=soon - 1200), token("alice", aud="x"),
                    token("alice") + "A", jwt("t" * 40, sub="alice",
                                              exp=soon, aud="hub")):
            refused(401, hub.connect, "machine-1", bad)


def strangers():
    """Those who send no request: they are bounded, in number and time."""
    with Hub("MaxUnauthenticated 5") as hub:
        socks = [socket.create_connection(("127.0.0.1", hub.port), LIMIT)
                 for _ in range(8)]
        for s in socks[:3]:
            check(s.recv(1) == b"", "the oldest make room")
        check(hub.ask("GET", "/livez").status == 200, "others are served")
        for bad in (b"\x16\x03\x01" + b"\0" * 100, b"SSH-2.0-x\r\n",
                    b"GET / HTTP/1.1\n\n", b"X" * 9000,
                    b"GET / HTTP/1.0\r\nHost: x\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                    b"chunked\r\n\r\n"):
            check(hub.raw(bad).status in (400, 411, 431, 505), "%r" % bad)
        check(hub.metrics()['execsrv_hub_refused_total{reason="malformed"}']
              == 6, "counted")
        began = time.monotonic()
        last = socket.create_connection(("127.0.0.1", hub.port), LIMIT)
        last.sendall(b"GET / HT")
        check(last.recv(1) == b"", "it is closed")
        check(time.monotonic() - began > 9, "before its time")
        for s in [*socks, last]:
            s.close()


def full():
    """MaxConnections: those beyond it are closed and counted; whoever watches
    is served."""
    with Hub("MaxConnections 10") as hub:
        x, h = hub.attach(), hub.harness()
        socks = [socket.create_connection(("127.0.0.1", hub.port), LIMIT)
                 for _ in range(20)]
        wait_for(lambda: hub.metrics()["execsrv_hub_full_total"] >= 12, LIMIT,
                 "they are closed")
        check(hub.ask("GET", "/livez").status == 0, "one more")
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        for s in socks:
            s.close()
        wait_for(lambda: hub.ask("GET", "/livez").status == 200, LIMIT,
                 "there is room again")
        # Who has the answer, and stays, keeps nobody out.
        socks = []
        for n in range(30):
            socks.append(socket.create_connection(("127.0.0.1", hub.port),
                                                  LIMIT))
            socks[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: h\r\n\r\n")
            check(socks[-1].recv(100).startswith(b"HTTP/1.1 200 "), "%d" % n)
        for s in socks:
            s.close()


def control():
    """What an operator sees and does."""
    with Hub() as hub:
        x = hub.attach()
        hub.attach("build-2")
        h = hub.harness()
        rows, end = hub.ctl("list")
        check([r["environment"] for r in rows] == ["build-1", "build-2"] and
              end["ok"], "%s" % rows)
        check(hub.ctl("list", after="build-1")[0][0]["environment"] ==
              "build-2", "after")
        check(len(hub.ctl("list", label="pool=build")[0]) == 2, "label")
        check(not hub.ctl("list", label="pool=x")[0], "another label")
        rows, end = hub.ctl("show", environment="build-1")
        check(rows[0]["subject"] == "token:build" and
              rows[1]["harness"] == "token:ci", "%s" % rows)
        check(not hub.ctl("show", environment="x")[1]["ok"], "unknown")
        check(not hub.ctl("dance")[1]["ok"], "unknown")
        check(hub.ctl("hubs")[0][0]["self"], "hubs")
        got = []
        t = threading.Thread(target=lambda: got.append(
            hub.ctl("ping", environment="build-1")[1]))
        t.start()
        check(x.pong(), "a ping")
        t.join()
        in_time(got[0]["ok"] and got[0]["ms"] < 2000, "%s" % got)
        check(not hub.ctl("ping", environment="build-2")[1]["ok"],
              "nobody answers there")
        check(hub.ctl("drain", environment="build-2")[1]["ok"], "drain")
        check(hub.ctl("drain")[1]["ok"], "drain")
        check(hub.ask("GET", "/readyz").status == 503, "not ready")
        refused(503, Ws, hub.register("build-3").json()["url"],
                reason="pod_draining")
        check(x.ended() == 1012 and h.ended() == 1001, "moved")
        check(hub.ctl("undrain")[1]["ok"], "undrain")
        hub.attach().close()
        # A mistake changes nothing.
        hub.put("tokens", "nonsense\n")
        check(not hub.ctl("reload")[1]["ok"], "a mistake")
        hub.attach().close()


def ending():
    """SIGTERM: executors are told to come back."""
    with Hub() as hub:
        x = hub.attach()
        h = hub.harness()
        h.send(frames.resume(b"s"))
        x.expect(frames.resume(b"s"))
        hub.process.send_signal(signal.SIGTERM)
        check(h.reset()[0] == b"s" and h.ended() == 1001, "the harness")
        check(x.ended() == 1012, "the executor")
        check(hub.process.wait(LIMIT) == 0, "its status")


def worker_killed():
    """Another worker takes its place; tickets are good as before."""
    with Hub() as hub:
        x = hub.attach()
        os.kill(hub.ctl("status")[1]["pid"], signal.SIGKILL)
        check(x.ended() is None, "it is cut")
        wait_for(hub.is_ready, LIMIT, "it serves again")
        Ws(x.bundle["url"]).close()


if __name__ == "__main__":
    main(registering, connecting, validating, attaching, expired, secrets,
         streams, too_big, violations, floods, limits, takeover, slow_harness,
         slow_harness_beside_others, fair_input, whole_output,
         rates, throughput, throughput_beside_others, signed_tokens, strangers,
         full, control, ending, worker_killed)
