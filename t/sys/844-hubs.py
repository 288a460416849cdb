#!/usr/bin/env python3
"""Several hubs that find each other's executors by an engine: connect at any of
them, by redirect and by splice; takeovers and conflicts; engines that stop, lie
and repeat; hubs with another secret; what operators see and do."""
import contextlib
import importlib
import os
import signal
import subprocess
import threading
import time

from client import BUILD, LIMIT, check, in_time, main, wait_for

lib = importlib.import_module("8hub")
frames = importlib.import_module("8frames")
fleet = importlib.import_module("8fleet")
Site, Ws, Refused = fleet.Site, lib.Ws, lib.Refused
attach_at, attach_by = fleet.attach_at, fleet.attach_by


def echo(x, h, stream=b"s"):
    """A frame each way."""
    h.send(frames.resume(stream))
    x.expect(frames.resume(stream))
    x.send(frames.data(stream, 1, b"there"))
    h.expect(frames.data(stream, 1, b"there"))


def refused(status, fn, *args, code=None, reason=None):
    try:
        answer = fn(*args)
        check(isinstance(answer, lib.Answer), "it was not refused")
    except Refused as e:
        answer = e.answer
    in_time(status == 503 or answer.status != 503, "the engine was slow")
    check(answer.status == status, "%d %s, not %d" % (
        answer.status, answer.body[:200], status))
    check(code is None or answer.code == code, answer.body)
    check(reason is None or answer.reason == reason, "%s" % answer.reason)
    return answer


def found(hub, *args, **more):
    """What a harness is answered, when others have answered in time."""
    answer = hub.connect(*args, **more)
    in_time(answer.status != 503, "the engine was slow")
    check(answer.status == 200, "%d %s" % (answer.status, answer.body))
    return answer.json()


def redirected():
    """Connect at the other hub leads to the one that has it."""
    with Site() as site:
        a, b = site.hubs
        key, mine = lib.new_key(), lib.new_key()
        refused(409, b.connect, code="environment_offline")
        x = attach_at(a, key=key)
        got = found(b, key=mine)
        check(got["url"].startswith("ws://127.0.0.1:%d/" % a.port),
              got["url"])
        check(got["executor_public_key"] == key, "the executor's key")
        check(got["executor_registration_id"] ==
              x.bundle["executor_registration_id"], "its registration")
        echo(x, Ws(got["url"]))
        for hub in (a, b):
            check(hub.validate(got["executor_registration_id"], mine,
                               got["harness_key_authorization"]
                               ).json()["valid"], "validated at any hub")
        refused(404, b.connect, "build-1", "nobody",
                code="environment_not_found")
        found(b, "build-1", "pool")         # by its label
        check(b.metrics()["execsrv_hub_redirects_total"] == 2, "counted")
        # A name with dots.
        attach_at(a, "build-1.example.org")
        found(b, "build-1.example.org")
        x.close()
        wait_for(lambda: b.connect().status == 409, LIMIT, "it is offline")


def spliced():
    """Any hub carries the bytes to the one that has it, once."""
    with Site(splices=True) as site:
        a, b = site.hubs
        x = attach_at(a)
        got = found(b)
        check(got["url"].startswith("ws://127.0.0.1:%d/" % site.door.port),
              got["url"])
        path = got["url"].split("/", 3)[3]
        h = Ws("ws://127.0.0.1:%d/%s" % (b.port, path))
        echo(x, h)
        check(b.metrics()["execsrv_hub_splices_open"] == 1, "open")
        refused(403, Ws, "ws://127.0.0.1:%d/%s" % (b.port, path),
                reason="already_used")
        # Whole, in order, to one that reads slowly.
        sent = [frames.data(b"s", n, os.urandom(61000)) for n in range(200)]
        t = threading.Thread(target=lambda: [x.send(f) for f in sent])
        t.start()
        for n, f in enumerate(sent):
            h.expect(f)
            if n % 20 == 0:
                time.sleep(0.01)
        t.join()
        events = [e for e in b.audit() if e["event"] == "splice"]
        check(events and events[0]["environment"] == "build-1", "audit")
        h.close()
        check(x.reset() == (b"s", b"harness_disconnected"), "told")
        wait_for(lambda: b.metrics()["execsrv_hub_splices_open"] == 0,
                 LIMIT, "closed")
        # One that was sent on is not sent on again, nor one without ticket.
        path = found(b)["url"].split("/", 3)[3]
        for mark in "X-Execsrv-Hop: 1\r\n", "x-execsrv-hop: 1\r\n":
            refused(409, lambda m=mark: Ws("ws://127.0.0.1:%d/%s" %
                                           (b.port, path), more=m),
                    reason="environment_offline")
        refused(403, Ws, "ws://127.0.0.1:%d/%sx" % (b.port, path))
        # Its executor left, its hub died.
        x.close()
        refused(409, Ws, "ws://127.0.0.1:%d/%s" % (b.port, path),
                reason="environment_offline")


def proxied_splice():
    """The other hub expects the PROXY protocol: it learns who it is."""
    with Site(splices=True, more="ProxyProtocol yes", n=1) as site:
        a = site.hubs[0]
        site.more = ""
        b = site.add("hub-b")
        wait_for(lambda: len(b.ctl("hubs")[0]) == 2, LIMIT, "both")
        got = b.register().json()
        before = b"\r\n\r\n\0\r\nQUIT\n\x20\x00\x00\x00"
        path = got["url"].split("/", 3)[3]
        sock = lib.socket.create_connection(("127.0.0.1", a.port), LIMIT)
        sock.sendall(before + ("GET /%s HTTP/1.1\r\nHost: hub\r\nUpgrade: "
                               "websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw=="
                               "\r\n\r\n" % path).encode())
        check(sock.recv(65536).startswith(b"HTTP/1.1 101"), "attached")
        Ws("ws://127.0.0.1:%d/%s" % (
            b.port, found(b)["url"].split("/", 3)[3]))
        wait_for(lambda: any(e["event"] == "open" and
                             e["address"] == "127.0.0.1"
                             for e in a.audit()), LIMIT, "its address")


def takeovers():
    """An executor that comes to another hub: the old connection goes."""
    with Site() as site:
        a, b = site.hubs
        x = attach_at(a)
        again = attach_by(b, x.bundle)
        check(x.ended() == 1008, "the half-open one")
        check(found(a)["url"].startswith(
            "ws://127.0.0.1:%d/" % b.port), "it is at the other one")
        h = Ws(found(a)["url"])
        echo(again, h)
        # The same process registered again: the later one counts.
        key = lib.new_key()
        old, new = (b.register("build-2", key=key).json()
                    for _ in range(2))
        x = attach_by(a, new)
        refused(409, attach_by, b, old, reason="registration_conflict")
        x.close()
        x = attach_by(a, old)
        y = attach_by(b, new)
        check(x.ended() == 1008, "the older one")
        y.close()


def conflicts():
    """Another executor: who lives stays; who does not answer goes."""
    with Site() as site:
        a, b = site.hubs
        first, second = lib.new_key(), lib.new_key()
        bundle = b.register(key=second).json()
        x = attach_at(a, key=first)
        done = threading.Event()

        def live():
            while not done.is_set():
                try:
                    x.pong()
                except (EOFError, OSError):
                    return
        t = threading.Thread(target=live)
        t.start()
        answer = b.register("build-1", "build", second)
        in_time(answer.status == 503, "it did not answer in time")
        check(answer.code == "registration_conflict", answer.body)
        refused(409, attach_by, b, bundle, reason="registration_conflict")
        check(b.register("build-1", "build", first).status == 200,
              "the same key")
        done.set()
        a.ctl("ping", environment="build-1")
        t.join()
        # It says nothing any more.
        y = attach_by(b, bundle)
        check(x.ended() == 1008, "it yields")
        check(found(a)["executor_public_key"] == second, "whose")
        y.close()


def engine_killed():
    """Streams notice nothing; afterwards all is found again."""
    with Site() as site:
        a, b = site.hubs
        x = attach_at(a)
        h = Ws(found(b)["url"])
        echo(x, h)
        site.nats.kill()
        answer = wait_for(lambda: (r := b.connect()).status == 503 and r,
                          LIMIT, "it cannot be asked")
        check(answer.fields["retry-after"] == "1", "%s" % answer.fields)
        echo(x, h, b"t")
        check(a.connect().status == 200, "at its own hub")
        check(b.ask("GET", "/readyz").status == 200, "still ready")
        y = attach_at(b, "build-2")
        check(b.connect("build-2").status == 200, "a new one")
        check(not a.ctl("status")[1]["engine_up"], "down")
        check(a.ctl("list")[1]["silent"] >= 1, "a list says so")
        check(not a.ctl("ping", environment="build-2")[1]["ok"], "a ping")
        site.nats.start()
        wait_for(lambda: b.connect().status == 200, LIMIT, "found again")
        wait_for(lambda: a.connect("build-2").status == 200, LIMIT,
                 "the new one, too")
        echo(x, h, b"u")
        y.close()


def engine_stopped():
    """An engine that does not answer is no reason to wait for long."""
    with Site() as site:
        a, b = site.hubs
        x = attach_at(a)
        h = Ws(found(b)["url"])
        site.nats.kill(signal.SIGSTOP)
        began = time.monotonic()
        refused(503, b.connect)
        in_time(time.monotonic() - began < 2, "it took too long")
        echo(x, h)
        attach_at(b, "build-2").close()
        in_time(time.monotonic() - began < 8, "executors wait too long")
        wait_for(lambda: not b.ctl("status")[1]["engine_up"], LIMIT,
                 "it is noticed")
        site.nats.kill(signal.SIGCONT)
        wait_for(lambda: b.connect().status == 200, LIMIT, "found again")


def healed():
    """Two hubs took executors of a name while the engine was away."""
    with Site() as site:
        a, b = site.hubs
        site.nats.kill()
        wait_for(lambda: not any(h.ctl("status")[1]["engine_up"]
                                 for h in (a, b)), LIMIT, "down")
        x = attach_at(a)
        y = attach_at(b)
        one = a.register("build-2").json()
        p = attach_by(a, one)
        # Its times are in seconds.
        time.sleep(1.1)
        q = attach_by(b, one)
        site.nats.start()
        check(x.ended() == 1008, "the older registration")
        check(p.ended() == 1008, "the older connection")
        wait_for(lambda: a.connect().status == 200, LIMIT, "the later")
        check(found(a, "build-2")["url"].startswith(
            "ws://127.0.0.1:%d/" % b.port), "there")
        check(b.ctl("status")[1]["executors"] == 2, "both are left")
        y.close()
        q.close()


def wrong_secret():
    """A hub of another site on the same subjects finds and gives nothing."""
    with Site(n=1) as site:
        a = site.hubs[0]
        alien = site.add("alien", secret="x" * 40, starts=False)
        alien.start()
        wait_for(lambda: alien.ctl("status")[1]["engine_up"], LIMIT, "up")
        x = attach_at(alien)
        check(a.connect().status == 409 or a.connect().status == 503,
              "it believed it")
        forged = a.metrics()["execsrv_hub_forged_total"]
        check(forged > 0, "nothing was found out")
        mine = attach_at(a)
        check(a.connect().json()["executor_registration_id"] ==
              mine.bundle["executor_registration_id"], "ours")
        check(len(a.ctl("hubs")[0]) == 1, "it is none of us")
        check(len(a.ctl("list")[0]) == 1, "one environment")
        check(alien.connect().status == 200, "its own")
        x.close()
        mine.close()


def liars():
    """Whoever may publish there answers, repeats, orders: in vain."""
    with Site() as site:
        a, b = site.hubs
        spy, liar = fleet.Client(site.nats), fleet.Client(site.nats)
        spy.sub("execsrv.>")
        x = attach_at(a)
        # A claim as it was said, for build-1.
        seen = {}

        def collect_one():
            subject, reply, data = spy.message()
            kind = data[1] if len(data) > 2 and data[0] == 1 else 0
            seen.setdefault(kind, []).append((subject, reply, data))

        def collect(until):
            while until not in seen:
                collect_one()
        collect(3)
        b.connect()
        collect(2)
        where, place = seen[1][-1], seen[2][-1]
        before = a.metrics(), b.metrics()
        # The claim of another hub, said once more: its nonce is known.
        other = attach_by(b, x.bundle)
        check(x.ended() == 1008, "taken over")
        seen.pop(3)
        collect(3)
        x = attach_by(a, other.bundle)
        check(other.ended() == 1008, "taken back")
        claim = [m for m in seen[3]
                 if m[0] == "execsrv.env.build-1"][0]
        liar.pub(claim[0], claim[2], claim[1])
        for data in (b"", b"\x01", b"\x01\x03" + b"\0" * 200,
                     claim[2][:-1] + bytes([claim[2][-1] ^ 1]),
                     claim[2] + b"\0", b"x" * 5000):
            liar.pub(claim[0], data, claim[1])
        liar.settle()
        wait_for(lambda: a.metrics()["execsrv_hub_forged_total"] -
                 before[0]["execsrv_hub_forged_total"] >= 6, LIMIT,
                 "forged ones are counted")
        check(a.metrics()["execsrv_hub_replayed_total"] -
              before[0]["execsrv_hub_replayed_total"] >= 1, "the old one")
        check(x.is_quiet(), "the executor noticed")
        # A question for which the executor is asked, said once more.
        said = len(seen[1])
        b.register()
        while len(seen[1]) == said:
            collect_one()
        subject, reply, data = seen[1][-1]
        replayed = a.metrics()["execsrv_hub_replayed_total"]
        for _ in range(100):
            liar.pub(subject, data, reply)
        liar.settle()
        wait_for(lambda: a.metrics()["execsrv_hub_replayed_total"] ==
                 replayed + 100, LIMIT, "all are refused")
        check(x.is_quiet(), "it is pinged once")
        # One that answers first: with an answer to another question, and
        # with nonsense.
        liar.sub("execsrv.env.build-1", b"2")
        stop = threading.Event()

        def lie():
            while not stop.is_set():
                try:
                    _, reply, _ = liar.message()
                except (OSError, EOFError, ValueError):
                    return
                liar.pub(reply, place[2])
                liar.pub(reply, b"\x01\x02" + b"\0" * 1500)
        t = threading.Thread(target=lie)
        t.start()
        for _ in range(20):
            got = found(b)["url"]
            check(got.startswith("ws://127.0.0.1:%d/" % a.port), got)
        # While the hub itself cannot answer, nobody else does.
        pid = a.ctl("status")[1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            refused(503, b.connect)
        finally:
            os.kill(pid, signal.SIGCONT)
        stop.set()
        liar.sock.shutdown(lib.socket.SHUT_RDWR)
        t.join()
        for what in ("replayed", "forged"):
            name = "execsrv_hub_%s_total" % what
            check(b.metrics()[name] > before[1][name], what)
        # A question whose answer is to go elsewhere.
        liar = fleet.Client(site.nats)
        liar.sub("elsewhere")
        liar.pub(where[0], where[2], "elsewhere")
        liar.settle()
        b.connect()
        liar.say(b"PING")
        check(liar.file.readline() == b"PONG\r\n", "it was answered")
        for c in (spy, liar):
            c.close()


def not_nats():
    """Something else listens there."""
    with lib.socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(8)
        hub = lib.Hub("Engine nats://127.0.0.1:%d\nHubUrl http://127.0.0.1:1"
                      % s.getsockname()[1], starts=False)
        with hub:
            hub.start()
            for data in (b"SSH-2.0-x\r\n", b"INFO {}\r\n", b"INFO {\r\n",
                         b"INFO {\"headers\":true,\"tls_required\":true}\r\n",
                         b"INFO {\"headers\":true}\r\n-ERR 'no'\r\n",
                         b"INFO {\"headers\":true}\r\nMSG a b c d e f\r\n",
                         b"I" * 40000, b"X" * 5000):
                c, _ = s.accept()
                c.settimeout(LIMIT)
                c.sendall(data)
                with contextlib.suppress(ConnectionResetError):
                    while c.recv(4096):
                        pass
                c.close()
            # What it does not allow is not said each time.
            c, _ = s.accept()
            c.settimeout(LIMIT)
            c.sendall(b"INFO {\"headers\":true}\r\nPONG\r\n" + b"".join(
                b"-ERR 'Permissions Violation for %d'\r\n" % n
                for n in range(1000)) + b"PING\r\n")
            with c.makefile("rb") as lines:
                check(any(line == b"PONG\r\n" for line in lines), "PONG")
            c.close()
            check(hub.log().count("Permissions Violation") == 1, "said once")
            # One that takes us and fails at once is not tried all the time.
            began = time.monotonic()
            for _ in range(4):
                c, _ = s.accept()
                c.settimeout(LIMIT)
                c.sendall(b"INFO {\"headers\":true}\r\nPONG\r\n")
                with c.makefile("rb") as lines:
                    check(any(b" .in\r\n" in line for line in lines), "up")
                c.close()
            check(time.monotonic() - began > 1.7, "too soon")
            check(hub.ask("GET", "/readyz").status == 200, "it serves")
            hub.attach().close()
            # Each is answered at once, as nobody can be asked.
            with lib.socket.socket(lib.socket.AF_UNIX) as c:
                c.settimeout(LIMIT)
                c.connect(hub.path("run/control.sock"))
                c.sendall(b'{"cmd":"hubs"}\n' * 500)
                answers = (b"row" in line for line in c.makefile("rb"))
                check([next(answers) for _ in range(1000)] ==
                      [True, False] * 500, "a row and an end each")


def credentials():
    """Password, token, nkey: only the right one is let in; TLS."""
    seed = "SUAACCAPCYOSIKZSHFAEOTSVLRRWU4LYP6DI3FE3UKU3BN56YXGNHWVCJA"
    public = "UDSAGCMYZ7K22FZDYFU7SVVKBOPLQYM3LGJL2YJMFL2CR26HT6G7AGME"
    for config, right, wrong in (
            ("authorization { user: hub, password: secret1 }",
             "hub:secret1", "hub:other"),
            ("authorization { token: longtoken1 }", "longtoken1", "x"),
            ("authorization { users = [ { nkey: %s } ] }" % public,
             seed, "hub:secret1")):
        fleet.need_server()
        with fleet.Nats(config) as nats:
            hub = lib.Hub("Engine %s\nEngineCredentials cred\nHubUrl "
                          "http://127.0.0.1:1" % nats.url, starts=False)
            with hub:
                hub.put("cred", wrong + "\n")
                hub.start()
                wait_for(lambda h=hub: "engine 127" in h.log(), LIMIT,
                         "it is refused")
                check(not hub.ctl("status")[1]["engine_up"], "it is in")
                hub.stop()
                hub.put("cred", right + "\n")
                hub.begin()
                wait_for(lambda h=hub: h.ctl("status")[1]["engine_up"],
                         LIMIT, "it is let in")
                check(right not in hub.log(), "a secret is in the log")


def far_operators(site, y):
    """Who may operate an environment of another hub, its own labels say."""
    a, b = site.hubs
    other = attach_at(b, "other-1", "other")
    with contextlib.closing(a.far("op")) as far:
        rows, _ = far.ask("list")
        check([r["environment"] for r in rows] == ["build-1", "build-2"] and
              rows[1]["address"], "%s" % rows)
        check(far.ask("show", environment="build-2")[1]["ok"], "show")
        for cmd in ("show", "evict", "drain", "ping"):
            for name in ("other-1", "none"):
                _, end = far.ask(cmd, environment=name)
                check("no such environment" in end["error"], "%s" % end)
        check("MayOperateHubs" in far.ask("hubs")[1]["error"], "hubs")
        check("MayOperateHubs" in far.ask("drain", hub="hub-b")[1]["error"],
              "drain")
        check(far.ask("drain", environment="build-2")[1]["ok"], "drain")
        check(y.ended() == 1012, "drained")
        y = attach_by(b, y.bundle)
        wait_for(lambda: far.ask("show", environment="build-2")[1]["ok"],
                 LIMIT, "it is back")
        told = [e for e in b.audit() if e["event"] == "control"]
        check(told[-1]["subject"] == "token:op" and told[-1]["environment"]
              == "build-2", "%s" % told)
    with contextlib.closing(a.far("boss")) as far:
        rows, _ = far.ask("hubs")
        check(sorted(r["name"] for r in rows) == ["hub-a", "hub-b"], "hubs")
        check(far.ask("evict", environment="other-1")[1]["ok"], "evict")
        check(other.ended() == 1008, "evicted")
        check(far.ask("undrain", hub="hub-b")[1]["ok"], "a hub")
    return y


def operators():
    """Lists of all hubs, and what is done at the right one."""
    with Site(more="DrainTime 1\n" + lib.OPERATORS) as site:
        a, b = site.hubs
        x, y = attach_at(a), attach_at(b, "build-2")
        for hub in (a, b):
            rows, end = hub.ctl("list")
            check([r["environment"] for r in rows] ==
                  ["build-1", "build-2"] and "silent" not in end, "%s" % rows)
            check(hub.ctl("list", after="build-1")[0][0]["environment"] ==
                  "build-2", "after")
            check(not hub.ctl("list", label="pool=x")[0], "label")
            rows, end = hub.ctl("hubs")
            check(sorted((r["name"], r["executors"]) for r in rows) ==
                  [("hub-a", 1), ("hub-b", 1)] and
                  [r["name"] for r in rows if r["self"]] == [hub.name],
                  "%s" % rows)
            with contextlib.closing(hub.far("ci")) as far:
                rows, _ = far.ask("list")
                check([r["environment"] for r in rows] ==
                      ["build-1", "build-2"], "%s" % rows)
        rows, _ = a.ctl("show", environment="build-2")
        check(rows[0]["environment"] == "build-2", "%s" % rows)
        y = far_operators(site, y)
        check("no such environment" in
              a.ctl("show", environment="build-3")[1]["error"], "unknown")
        got = []
        t = threading.Thread(target=lambda: got.append(
            a.ctl("ping", environment="build-2")[1]))
        t.start()
        check(y.pong(), "a ping")
        t.join()
        check(got[0]["ok"], "%s" % got)
        check(a.ctl("evict", environment="build-2")[1]["ok"], "evict")
        check(y.ended() == 1008, "evicted")
        wait_for(lambda: "evicted" in refused(403, attach_by, a,
                                              y.bundle).reason, LIMIT,
                 "it is good nowhere")
        check("no such hub" in a.ctl("drain", hub="hub-c")[1]["error"],
              "another hub")
        check(b.ctl("drain", hub="hub-a")[1]["ok"], "drain")
        check(x.ended() == 1012, "drained")
        check(a.ask("GET", "/readyz").status == 503, "not ready")
        check(not b.ctl("status")[1]["draining"], "the other one")
        refused(503, attach_by, a, x.bundle, reason="pod_draining")
        attach_by(b, x.bundle)
        found(a)                            # while it drains
        check(a.ctl("undrain", hub="hub-a")[1]["ok"], "its own name")
        check(a.ask("GET", "/readyz").status == 200, "ready")
        for words, status in ((["drain", "--hub", "hub-b"], 0),
                              (["undrain", "--hub", "hub-b"], 0),
                              (["drain", "--hub", "hub-b", "build-1"], 2),
                              (["drain", "--hub", "hub-c"], 1),
                              (["list"], 0)):
            done = subprocess.run(
                [BUILD + "/execsrvctl", "-R", a.path("run"), "fleet",
                 *words], stdin=subprocess.DEVNULL, capture_output=True,
                check=False, timeout=LIMIT)
            check(done.returncode == status, "%s: %s" % (words, done))
        # A hub that stops says so; one that is killed is forgotten.
        b.stop()
        wait_for(lambda: len(a.ctl("hubs")[0]) == 1 and
                 "silent" not in a.ctl("hubs")[1], LIMIT, "it is gone")


def pages():
    """A list over several hubs that takes several pages."""
    for spread in (2, 1):
        # All at another hub: only that one knows that there is more.  Nobody
        # answers a ping.
        with Site(more="RequestRate 100000\nMaxUnauthenticated 20000\n"
                  "PingInterval 1h") as site:
            links = [attach_at(site.hubs[1 - n % spread], "build-%04d" % n)
                     for n in range(1100)]
            rows, after, turns = [], "", 0
            while after is not None:
                some, end = site.hubs[0].ctl("list", after=after)
                rows += [r["environment"] for r in some]
                after, turns = end.get("next"), turns + 1
            check(rows == ["build-%04d" % n for n in range(1100)] and
                  turns == 2, "%d rows, %d pages" % (len(rows), turns))
            for x in links:
                x.close()


if __name__ == "__main__":
    main(redirected, spliced, proxied_splice, takeovers, conflicts,
         engine_killed, engine_stopped, healed, wrong_secret, liars,
         not_nats, credentials, operators, pages)
