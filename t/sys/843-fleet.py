"""execsrvctl fleet, and run --all: what is attached to a hub, and its tokens."""
import importlib
import json
import os
import subprocess

from client import BUILD, LIMIT, check, main

lib = importlib.import_module("8hub")
Executor = importlib.import_module("8executor").Executor
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


main(looking, tokens, everywhere)
