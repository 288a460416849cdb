"""execsrv-hub: its configuration, and what a service manager hears."""
import importlib
import os
import re
import signal
import subprocess

from client import BUILD, LIMIT, check, main, wait_for

lib = importlib.import_module("8hub")
Certificates = importlib.import_module("8proxy").Certificates
Manager = importlib.import_module("950-notify").Manager
Hub = lib.Hub


def tested(hub, *options):
    """What -t says of a configuration that is wrong."""
    done = subprocess.run(
        [BUILD + "/execsrv-hub", "-t", "-f", hub.path("hub.conf"),
         *[w for o in options for w in ("-o", o)]],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=LIMIT, cwd=hub.dir)
    check(done.returncode in (0, 78) and
          (done.returncode == 0) == (done.stderr == b""), "%s" % done)
    return done.stderr.decode()


def included():
    """Files in place of a line, their paths beside them, read again."""
    with Hub("Include conf.d/*.conf\nInclude rules\nTicketLifetime 2h",
             rules="", starts=False) as hub:
        os.mkdir(hub.path("conf.d"))
        hub.put("conf.d/a.conf", "BearerSecretFile bearer\nInclude ../b\n")
        hub.put("conf.d/bearer", "s" * 40 + "\n")
        hub.put("b", "HubName included\nTicketLifetime 1h\n")
        hub.put("rules", lib.RULES)
        hub.start()
        check(hub.ctl("status")[1]["name"] == "included", "b")
        hub.attach("build-1")
        shown = subprocess.run(
            [BUILD + "/execsrv-hub", "-T", "-f", hub.path("hub.conf")],
            capture_output=True, check=True, timeout=LIMIT).stdout.decode()
        check("TicketLifetime 1h\n" in shown and "Match Harness token:pool\n"
              in shown and "BearerSecretFile " + hub.path("conf.d/bearer")
              in shown, shown)
        # What it prints is a configuration that says the same.
        hub.put("again", shown)
        again = subprocess.run(
            [BUILD + "/execsrv-hub", "-T", "-f", hub.path("again")],
            capture_output=True, check=True, timeout=LIMIT).stdout.decode()
        check(again == shown, again)
        hub.put("rules", "Match Executor token:build\n\tMayRegister x-*\n")
        check(hub.ctl("reload")[1]["ok"], "reload")
        check(hub.register("build-2").status == 403 or
              hub.register("build-2").status == 404, "as it was")
        check(hub.register("x-2").status == 200, "new rules")
        for text, why in (("Include none", "rules:1: Include none: no such"),
                          ("Include rules", "includes itself"),
                          ("Match Harness all\n\tMayList yes\nInclude b",
                           "rules:3: \"Include\" belongs before"),
                          ("Bogus 1", "rules:1: unknown"),
                          ("Includ b", "did you mean \"Include\"")):
            hub.put("rules", text + "\n")
            check(why in tested(hub), "%s: %s" % (text, tested(hub)))
            check(why in hub.ctl("reload")[1]["error"], "reload")
        hub.put("rules", lib.RULES, mode=0o666)
        check("writable" in tested(hub), "anybody's")
        check(hub.register("x-3").status == 200, "it stays as it was")


def kept():
    """What needs a restart stays, and that is said; its listeners do, too: one
    with TLS is none without."""
    with Hub("Listen https://127.0.0.1:@SECURE@\nListen @URL@\n"
             "Certificate hub.pem", starts=False) as hub:
        Certificates(hub.path("ca")).own("hub")
        with open(hub.path("ca/hub.key"), encoding="ascii") as key, \
                open(hub.path("ca/hub.pem"), encoding="ascii") as cert:
            hub.put("hub.pem", key.read() + cert.read())
        hub.start()
        hub.settings = "Listen @URL@\nCertificate hub.pem\nHubName other\n" \
            "TicketLifetime 1h"
        before, hub.fleet_url = hub.url, "https://elsewhere.example"
        hub.write()
        check(hub.ctl("reload")[1]["ok"], "reload")
        for name in ("Listen", "HubName", "FleetUrl"):
            check("%s has changed, which needs a restart" % name in hub.log(),
                  name)
        check("TicketLifetime has" not in hub.log(), "that needs none")
        check(hub.register().json()["url"].startswith(
            before.replace("http", "ws")), "FleetUrl")
        hub.settings = "Listen @URL@"
        hub.write()
        check("needs a Certificate" in hub.ctl("reload")[1]["error"], "TLS")
        check(hub.ask("GET", "/livez", port=hub.secure).status == 0,
              "without TLS")
        # What would be wrong after a restart is refused now.
        hub.settings = "Listen @URL@\nCertificate hub.pem"
        hub.fleet_url = "ftp://x"
        hub.write()
        check("FleetUrl" in hub.ctl("reload")[1]["error"], "wrong")


def refused():
    """What would go wrong later is told before."""
    with Hub(starts=False) as hub:
        check(tested(hub) == "", "as it is")
        for option, why in (
                ("AuditLog=audit", "absolute"), ("AuditLog=", "absolute"),
                ("RuntimeDirectory=run", "absolute"),
                ("LogTo=file", "stderr or syslog"),
                ("LogTo=/var/log/hub", "stderr or syslog"),
                ("Listen=box", "none of https://, http:// and unix:"),
                ("Listen=ws://[::1]:1", "none of https://, http:// and unix:"),
                ("MetricsListen=https://127.0.0.1:1",
                 "neither http:// nor unix:")):
            said = tested(hub, option)
            check(option.split("=")[0] in said and why in said, said)
        engines = ["Engine=nats://127.0.0.1:%d" % n for n in range(1, 10)]
        said = tested(hub, "HubUrl=http://127.0.0.1:1", *engines[:8])
        check(said == "", "eight engines: " + said)
        said = tested(hub, "HubUrl=http://127.0.0.1:1", *engines)
        check("Engine: more than 8" in said, said)
        said = tested(hub, "HubUser=no-such-user")
        check(("no such user" in said) == (os.getuid() == 0), said)
        for rule, name in (
                ("Match Executor all\n\tMayRegister ${hostname}-*",
                 "MayRegister"),
                ("Match Harness all\n\tMayConnect a,${user}-*", "MayConnect"),
                ("Match Harness all\n\tMayOperate ${sub}", "MayOperate")):
            hub.rules = rule
            hub.write()
            said = tested(hub)
            check(name in said and "${subject}" in said, said)
        hub.rules = "Match Executor all\n\tMayRegister ${subject}-*,x\n"
        hub.write()
        check(tested(hub) == "", "that is filled in")
        hub.more = {"build": "register=${subject}-*"}
        hub.write()
        check("tokens:3" in tested(hub), tested(hub))
        # An audit log that cannot be written is none.
        hub.more = {}
        os.mkdir(hub.path("audit"))
        hub.write()
        hub.run()
        check(hub.process.wait(LIMIT) == 1 and "AuditLog" in hub.log(),
              hub.log())


def sample():
    """With what its first lines say it is a hub; every keyword is in it."""
    with open(BUILD + "/contrib/execsrv-hub.conf", encoding="ascii") as f:
        text = f.read()
    with open(os.environ["SRCDIR"] + "/proto/hub.def",
              encoding="ascii") as f:
        rows = re.findall(r"^HUB(?:_RULE)?\((\w+),", f.read(), re.M)
    check(len(rows) > 30, rows)
    for key in rows:
        check(re.search(r"^#\t?%s\b" % key, text, re.M), key)
    with Hub(starts=False) as hub:
        lines = text[:text.index("# The first value")]
        rules = text[text.index("#Match Executor"):
                     text.index("# All that such")]
        lines = re.sub("(?m)^#(?! |$)", "", lines + rules)
        lines = lines.replace("Certificate hub.pem\n", "").replace(
            "https://0.0.0.0:443", "http://127.0.0.1:0")
        hub.put("hub.conf", lines + "\n")
        hub.put("hub.secret", hub.secret + "\n")
        os.rename(hub.path("tokens"), hub.path("hub.tokens"))
        user = "HubUser=nobody" if os.getuid() == 0 else "HubName=x"
        check(tested(hub, user) == "", tested(hub, user))
        hub.put("hub.conf", re.sub("(?m)^#(?=[A-Z\t])", "", text))
        check("unknown" not in tested(hub) and
              "belongs" not in tested(hub), tested(hub))


def managed():
    """READY when it serves, and after each reload; counts; the end."""
    manager = Manager()
    with Hub(starts=False) as hub:
        os.environ.update(NOTIFY_SOCKET=manager.name,
                          WATCHDOG_USEC="200000")
        try:
            hub.start()
        finally:
            del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
        manager.until("READY=1")
        check("STATUS=Serving" in manager.lines, manager.lines)
        manager.until("WATCHDOG=1", 2)
        hub.attach()
        harness = hub.harness()
        manager.until("STATUS=1 executors, 1 harnesses")
        harness.close()
        for settings, times in (("", 2), ("Bogus yes", 3)):
            hub.settings = settings
            hub.write()
            check(hub.ctl("reload")[1]["ok"] == (times == 2), "reload")
            manager.until("RELOADING=1", times - 1)
            manager.until("MONOTONIC_USEC=", times - 1)
            manager.until("READY=1", times)
        hub.process.send_signal(signal.SIGTERM)
        manager.until("STOPPING=1")
        check(hub.process.wait(LIMIT) == 0, "its status")
        # Only its master has said anything.
        check(manager.senders == {hub.process.pid}, manager.senders)
    manager.sock.close()


main(included, kept, refused, sample, managed)
