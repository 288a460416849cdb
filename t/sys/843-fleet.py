"""execsrvctl fleet, and run --all: what is attached to a hub, and its tokens."""
import contextlib
import importlib
import json
import os
import subprocess
import time

from client import BUILD, LIMIT, SLOW, check, in_time, main, wait_for

lib = importlib.import_module("8hub")
Executor = importlib.import_module("8executor").Executor
jwt = importlib.import_module("840-hub").jwt
Hub = lib.Hub


def ctl(hub, *words, status=0):
    """What a command prints, and says."""
    done = subprocess.run(
        [BUILD + "/execsrvctl", "-R", hub.path("run"), *words],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=LIMIT)
    check(done.returncode == status, "%s: %s" % (words, done))
    return done.stdout.decode(), done.stderr.decode()


def shown(hub, *words):
    return json.loads(ctl(hub, "--json", "fleet", *words)[0])


def looking():
    """Lists, by label and on several pages; one; pings; eviction; drain."""
    with Hub() as hub:
        links = {name: hub.attach(name) for name in ("build-1", "build-2")}
        check([r["environment"] for r in shown(hub, "list")] ==
              ["build-1", "build-2"], "list")
        check(len(shown(hub, "list", "-l", "pool=build")) == 2 and
              shown(hub, "list", "-l", "pool=x") == [], "label")
        out, _ = ctl(hub, "fleet", "list")
        check(out.count("\n") == 3 and "pool=build" in out, out)
        one = shown(hub, "show", "build-1")
        check(one["subject"] == "token:build" and one["age"] < 1000 and
              one["streams"] == 0, one)
        check(shown(hub, "status")["executors"] == 2, "status")
        check(len(shown(hub, "hubs")) == 1, "hubs")
        _, err = ctl(hub, "fleet", "show", "none", status=1)
        check("no such environment" in err, err)
        ctl(hub, "fleet", "evict", "build-2")
        check(links["build-2"].ended() == 1008, "evicted")
        check(len(shown(hub, "list")) == 1, "one is left")
        ctl(hub, "fleet", "drain")
        check(shown(hub, "status")["draining"] == "yes" and
              links["build-1"].ended() == 1012, "drained")
        ctl(hub, "fleet", "undrain")
        check(shown(hub, "status")["draining"] == "no", "undrained")
        for words in ([], ["dance"], ["show"], ["list", "x"], ["-x"]):
            ctl(hub, "fleet", *words, status=2)
    ctl(hub, "fleet", "list", status=3)


def tokens():
    """A new one is good at once, for its patterns; a revoked one is not."""
    with Hub() as hub:
        out, _ = ctl(hub, "fleet", "token", "new", "--register", "build-*",
                     "--connect", "build-*", "--expires", "30", "mine")
        hub.token["mine"] = out.strip()
        check(len(out) == 65, out)
        hub.attach("build-7", "mine").close()
        check(hub.register("other", "mine").status != 200, "another name")
        path = hub.path("tokens")
        check(os.stat(path).st_mode & 0o777 == 0o600, "mode")
        out, _ = ctl(hub, "fleet", "token", "list")
        check("mine register=build-* connect=build-* expires=" in out and
              "sha256" not in out and hub.token["mine"] not in out, out)
        before = out
        for words in (("mine",), ("a b",), ("x", "--connect", "a b"),
                      ("x", "--expires", "0"), ("x" * 65,)):
            _, err = ctl(hub, "fleet", "token", "new", *words, status=1)
            check(err.count("\n") == 1, err)
        check(ctl(hub, "fleet", "token", "list")[0] == before, "unchanged")
        check(not os.path.exists(path + ".new"), "a file is left")
        ctl(hub, "fleet", "token", "revoke", "mine")
        check(hub.register("build-7", "mine").status == 401, "revoked")
        ctl(hub, "fleet", "token", "revoke", "mine", status=1)


def everywhere():
    """A command on all that are attached."""
    with Hub() as hub, Executor(hub, "build-1"), Executor(hub, "build-2"):
        hub.put("ci", hub.token["ci"] + "\n")
        more = ["run", "--all", "--token-file", hub.path("ci")]
        out, err = ctl(hub, *more, "--", "echo", "hello")
        check(sorted(out.splitlines()) == ["build-1: hello",
                                           "build-2: hello"], out)
        check("2 of 2 succeeded" in err, err)
        out, err = ctl(hub, *more, "-l", "pool=x", "--", "echo", "hello")
        check(out == "" and "0 of 0" in err, err)
        ctl(hub, *more, "--", "false", status=4)
        ctl(hub, "run", "-l", "pool=build", "--", "true", status=125)


def far(hub, token, *words, status=0, url=None, more=()):
    """The same from elsewhere."""
    hub.put("mine", hub.token.get(token, token) + "\n")
    done = subprocess.run(
        [BUILD + "/execsrvctl", *words[:words[0] == "--json"], "fleet",
         "--url", url or hub.url, "--token-file", hub.path("mine"), *more,
         *words[words[0] == "--json":]],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=LIMIT)
    check(done.returncode == status, "%s: %s" % (words, done))
    check(hub.token.get(token, token) not in "%s" % done, "a token is told")
    return done.stdout.decode(), done.stderr.decode()


def ageless(text):
    return [{k: v for k, v in row.items() if k != "age"}
            for row in json.loads(text)]


def operating():
    """An operator elsewhere sees and does what one on the machine does."""
    with Hub("DrainTime 1\n" + lib.OPERATORS) as hub, \
            Executor(hub, "build-1"):
        links = {name: hub.attach(name, token) for name, token in
                 (("build-2", "build"), ("other-1", "other"))}
        for words in (["list"], ["list", "-l", "pool=build"], ["hubs"]):
            # The executor may say something between the two.
            wait_for(lambda words=words: ageless(
                far(hub, "boss", "--json", *words)[0]) == ageless(
                    ctl(hub, "--json", "fleet", *words)[0]), LIMIT, words)
        out, _ = far(hub, "boss", "list")
        check(out.count("\n") == 4 and "pool=build" in out, out)
        out, _ = far(hub, "boss", "show", "build-1")
        check("token:build" in out and "127.0.0.1" in out, out)
        out, _ = far(hub, "boss", "ping", "build-1")
        check(out.startswith("build-1: ") and out.endswith(" ms\n"), out)
        _, err = far(hub, "boss", "ping", "build-1", "none", status=1)
        check("none: no such environment" in err, err)
        _, err = far(hub, "boss", "status", status=1)
        check("machine" in err, err)
        far(hub, "boss", "token", "list", status=2)
        far(hub, "boss", "evict", "other-1")
        check(links["other-1"].ended() == 1008, "evicted")
        far(hub, "boss", "drain", "build-2")
        check(links["build-2"].ended() == 1012, "closed")
        far(hub, "boss", "drain")
        check(shown(hub, "status")["draining"] == "yes", "drains")
        far(hub, "boss", "undrain")
        check(shown(hub, "status")["draining"] == "no", "not any more")
        told = [(e["request"], e.get("environment"), e["subject"])
                for e in hub.audit() if e["event"] == "control"]
        check(told == [("evict", "other-1", "token:boss"),
                       ("drain", "build-2", "token:boss"),
                       ("drain", "", "token:boss"),
                       ("undrain", "", "token:boss")], told)


def bounded():
    """Nobody is an operator but by a rule, and of what that names."""
    with Hub(lib.OPERATORS) as hub:
        hub.attach("build-1")
        link = hub.attach("other-1", "other")
        check([r["environment"] for r in json.loads(
            far(hub, "op", "--json", "list")[0])] == ["build-1"], "list")
        for cmd in ("show", "ping", "evict", "drain"):
            said = [far(hub, "op", cmd, name, status=1)[1].replace(name, "")
                    for name in ("other-1", "none")]
            check(said[0] == said[1] and "no such environment" in said[0],
                  "%s" % said)
        for words in (["hubs"], ["drain"], ["undrain"]):
            _, err = far(hub, "op", *words, status=1)
            check("MayOperateHubs" in err, err)
        # Who may list sees no more than names.
        rows = json.loads(far(hub, "ci", "--json", "list")[0])
        check([(r["environment"], r["address"], r["subject"])
               for r in rows] == [("build-1", "", "")], "%s" % rows)
        for token, words, why in (
                ("ci", ["show", "build-1"], "MayOperate"),
                ("ci", ["evict", "build-1"], "MayOperate"),
                ("build", ["list"], "MayList"), ("nobody", ["list"],
                                                 "MayList"),
                ("nobody", ["hubs"], "MayOperateHubs"),
                ("wrong", ["list"], "not accepted")):
            _, err = far(hub, token, *words, status=1)
            check(why in err and err.count("\n") == 1, err)
        refusals = [e for e in hub.audit() if e["event"] == "refused"]
        check(any(e["request"] == "evict" and e["subject"] == "token:op" and
                  e["environment"] == "other-1" and e["address"]
                  for e in refusals), "%s" % refusals)
        for url, why in (("http://192.0.2.1:80", "https://"),
                         ("ftp://x", "https://HUB"),
                         ("http://127.0.0.1:1", "refused")):
            _, err = far(hub, "boss", "list", url=url, status=1)
            check(why in err and err.count("\n") == 1, err)
        check(link.is_quiet(), "it is untouched")


def while_connected():
    """Rules and tokens count at each request; nobody can stay for nothing."""
    with Hub("RequestRate 1000\n" + lib.OPERATORS) as hub:
        hub.attach("build-1")
        hub.attach("other-1", "other")
        with contextlib.ExitStack() as stack:
            all_ = [stack.enter_context(contextlib.closing(hub.far("op")))
                    for _ in range(8)]
            try:
                hub.far("op")
                raise AssertionError("a ninth connection")
            except lib.Refused as e:
                check(e.answer.status == 429, e)
            one = all_[0]
            check(len(one.ask("list")[0]) == 1, "list")
            check("unknown" in one.ask("dance")[1]["error"], "unknown")
            check("machine" in one.ask("reload")[1]["error"], "reload")
            one.send(b"nonsense", op=1)
            check(not json.loads(one.frame()[1])["ok"], "nonsense")
            one.send(b'{"cmd":"list"}', op=2)       # binary: dropped
            check(len(one.ask("list")[0]) == 1, "list")
            hub.rules = hub.rules.replace("MayList yes", "")
            hub.settings = hub.settings.replace("pool=build\n", "other-*\n", 1)
            hub.write()
            check(hub.ctl("reload")[1]["ok"], "reload")
            check([r["environment"] for r in one.ask("list")[0]] ==
                  ["other-1"], "new rules")
            hub.write({k: v for k, v in hub.token.items() if k != "op"})
            check(hub.ctl("reload")[1]["ok"], "reload")
            check("not valid any more" in one.ask("list")[1]["error"],
                  "revoked")
        try:
            hub.far("op")
            raise AssertionError("a revoked token")
        except lib.Refused as e:
            check(e.answer.status == 401, e)


def left_alone():
    """One that asks nothing for half a minute has no place."""
    with Hub(lib.OPERATORS) as hub, \
            contextlib.closing(hub.far("op")) as one, \
            contextlib.suppress(EOFError):
        one.sock.settimeout(LIMIT + 40)
        while one.frame()[0] != 8:
            pass


def signed_operators():
    """By their groups, until their token expires, also while connected."""
    with Hub("BearerSecretFile bearer\nBearerClockSkew 0", lib.RULES + """
Match Harness group:ops
	MayOperate pool=build
""", starts=False) as hub:
        hub.put("bearer", "s" * 40 + "\n")
        hub.start()
        hub.attach("build-1")
        # Longer each time that it was too short.
        signed_operators.seconds *= 2
        end = int(time.time()) + signed_operators.seconds
        token = jwt("s" * 40, sub="ann", groups=["ops"], exp=end)
        try:
            one = hub.far(token)
        except lib.Refused:
            in_time(time.time() < end, "it expired before")
            raise
        with contextlib.closing(one):
            check(hub.ctl("reload")[1]["ok"], "reload")
            rows, _ = one.ask("list")
            in_time(time.time() < end, "it expired meanwhile")
            check([r["environment"] for r in rows] == ["build-1"] and
                  rows[0]["address"], "%s" % rows)
            wait_for(lambda: "not valid any more" in
                     one.ask("list")[1].get("error", ""), LIMIT, "it ends")


signed_operators.seconds = 1


def hidden_names():
    """A page of what one may not see is not told by its last name."""
    # Nobody answers a ping.
    with Hub("RequestRate 100000\nPingInterval 1h\n" + lib.OPERATORS,
             tokens_more={"other": "register=*"}) as hub:
        names = ["a-%04d" % i for i in range(1100)] + ["z-1"]
        links = [hub.attach(name, "other") for name in names]
        build = hub.attach("build-1")
        with contextlib.closing(hub.far("boss")) as far_:
            rows, end = far_.ask("list")
            check(len(rows) == 1000 and end["next"] == "a-0999", "%s" % end)
        with contextlib.closing(hub.far("op")) as far_:
            rows, end = far_.ask("list")
            check([r["environment"] for r in rows] == ["build-1"] and
                  "next" not in end, "%s" % end)
        for link in (*links, build):
            link.close()


def certificate(path):
    """Of localhost, and its key, in one file."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout", path,
         "-out", path + ".crt", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost"], check=False, capture_output=True)
    check(made.returncode == 0, "%s" % made)
    with open(path, "a", encoding="ascii") as f, \
            open(path + ".crt", encoding="ascii") as crt:
        f.write(crt.read())
    os.chmod(path + ".crt", 0o644)


def everywhere_far():
    """A command on all of a hub elsewhere, by TLS and a name for it."""
    with Hub(starts=False) as hub:
        certificate(hub.path("hub.pem"))
        hub.settings = "Listen https://127.0.0.1:@SECURE@\nListen @URL@\n" \
            "Certificate hub.pem"
        hub.fleet_url = "https://localhost:@SECURE@"
        hub.write()
        hub.start()
        hub.url = hub.fleet_url.replace("@SECURE@", str(hub.secure))
        home = hub.path("home")
        os.makedirs(home + "/execsrv")
        hub.put("home/execsrv/hosts", "site %s token=%s ca-file=%s\n" %
                (hub.url, hub.token["ci"], hub.path("hub.pem.crt")))
        env = {**os.environ, "XDG_CONFIG_HOME": home}
        with Executor(hub, "build-1", options=[
                "UplinkCaFile=" + hub.path("hub.pem.crt")]):
            for words, out in (
                    (["fleet", "-u", "site", "list"], b"build-1"),
                    (["run", "--all", "--url", "site", "-l", "pool=build",
                      "--", "echo", "hello"], b"build-1: hello\n"),
                    (["run", "--all", "-u", "site", "-l", "pool=x", "--",
                      "echo", "hello"], b"")):
                done = subprocess.run(
                    [BUILD + "/execsrvctl", *words], env=env, check=False,
                    stdin=subprocess.DEVNULL, capture_output=True,
                    timeout=LIMIT)
                check(done.returncode == 0 and out in done.stdout,
                      "%s" % done)


main(looking, tokens, everywhere, operating, bounded, while_connected,
     signed_operators, hidden_names, everywhere_far,
     *([left_alone] if SLOW else []))
