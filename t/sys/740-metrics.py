"""What /metrics tells."""
import contextlib
import importlib
import os
import re
import signal
import time

from client import (Server, check, connect, main, resume_in, settled, wait_for,
                    worker_of, LIMIT, TMP)

lib = importlib.import_module("7common")
om = importlib.import_module("7metrics")
remote = importlib.import_module("8common")
SRCDIR = os.environ.get("SRCDIR", os.getcwd())
TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def rows():
    """Counter by the name of its row."""
    with open(SRCDIR + "/proto/stat.def", encoding="ascii") as f:
        return dict(re.findall(r"^STAT\((\w+),\s*(\w+),", f.read(), re.M))


def door(server):
    return lib.ask(server, "status")["metrics"][0]


def scrape(server):
    status, head, body = lib.http(door(server), "/metrics")
    check(status == 200 and head["content-type"] == TYPE and
          int(head["content-length"]) == len(body), "the head: %s" % head)
    return om.read(body)


def states(families, name):
    """Values of a family by their only label."""
    return {dict(labels)["state"]: v
            for labels, v in families[name].samples.items()}


def same_as_status(server):
    """Whatever did not change around it is the same."""
    names = rows()
    before = lib.ask(server, "status")
    families = scrape(server)
    after = lib.ask(server, "status")
    for row, metric in names.items():
        got = om.value(families, "execsrv_" + metric)
        check(families["execsrv_" + metric].meta["TYPE"] == "counter", metric)
        check(before[row] <= got <= after[row], "%s: %s, but status %s, %s" %
              (metric, got, before[row], after[row]))
    counters = {n for n, f in families.items() if f.meta["TYPE"] == "counter"}
    check(counters == {"execsrv_" + m for m in names.values()},
          "counters: %s" % counters)
    version = {("version", after["version"])}
    check(set(families["execsrv_build"].samples) == {frozenset(version)},
          "the version")
    return families


def counters():
    server = Server("MetricsListen=127.0.0.1:0")
    began = time.time()
    families = same_as_status(server)
    check(abs(om.value(families, "execsrv_start_time_seconds") - began) <
          LIMIT, "its start")
    check(om.value(families, "execsrv_ready") == 1 and
          om.value(families, "execsrv_draining") == 0, "ready")
    check(set(states(families, "execsrv_uplinks").values()) == {0}, "uplinks")

    c, d, e = (connect(server.url) for _ in range(3))
    c.start("p", "sleep", "1000")
    c.start("q", "sleep", "1000")
    d.start("p", "sleep", "1000")
    with connect(server.url):
        pass
    wait_for(lambda: lib.ask(server, "status")["kept"] == 1, LIMIT, "kept")
    d.start("loud", "head", "-c", "3000000", "/dev/zero")
    d.reset()
    wait_for(lambda: lib.ask(server, "status")["detached"] == 1, LIMIT,
             "detached")

    def told():
        f = same_as_status(server)
        return f if om.value(f, "execsrv_processes") == 3 else None

    f = wait_for(told, LIMIT, "three processes")
    check(states(f, "execsrv_sessions") ==
          {"attached": 2, "detached": 1, "kept": 1}, "sessions")
    check(states(f, "execsrv_workers")["serving"] == 3, "workers")
    wait_for(lambda: 0 < lib.ask(server, "status")["memory"] ==
             om.value(scrape(server), "execsrv_held_memory_bytes"), LIMIT,
             "memory that is held")
    check(om.value(f, "execsrv_sessions_opened") == 4 and
          om.value(f, "execsrv_sessions_ended") == 0, "sessions")
    # Some end, one comes back, one worker dies.
    d = resume_in(server.url, d.session, LIMIT)
    c.call("process/terminate", {"processId": "q"})
    c.note("process/closed", "q")
    os.kill(worker_of(server, e), signal.SIGKILL)
    wait_for(lambda: lib.ask(server, "status")["deaths"] == 1, LIMIT, "death")
    wait_for(lambda: om.value(scrape(server), "execsrv_processes") == 2,
             LIMIT, "two processes")
    f = same_as_status(server)
    check(om.value(f, "execsrv_worker_deaths") == 1 and
          om.value(f, "execsrv_sessions_ended") == 1 and
          om.value(f, "execsrv_sessions_resumed") == 1, "counters")
    check(states(f, "execsrv_sessions") ==
          {"attached": 2, "detached": 0, "kept": 1}, "sessions")
    for client in c, d, e:
        client.close()
    for number in "1", "2":
        # One whose worker stands still ends all the same, with another word.
        with contextlib.suppress(AssertionError):
            lib.ask(server, "kill", number)
    wait_for(lambda: om.value(scrape(server), "execsrv_processes") == 0,
             LIMIT, "no processes")
    server.stop()


def workers():
    """The states of workers are all there are."""
    server = Server("MetricsListen=127.0.0.1:0", "SpareWorkers=3")
    settled(server, 3)
    families = scrape(server)
    seen = states(families, "execsrv_workers")
    check(sum(seen.values()) == 3, "workers: %s" % seen)
    check(om.value(families, "execsrv_connections_waiting") == 0, "waiting")
    server.stop()


def uplinks():
    """The states of uplinks, too; and one that is not registered."""
    with open(TMP + "/token", "w", encoding="ascii") as f:
        f.write("token\n")
    os.chmod(TMP + "/token", 0o600)
    server = Server("MetricsListen=127.0.0.1:0", "ReadyUplinks=all",
                    "Uplink=box",
                    "RegistryUrl=http://127.0.0.1:1", "EnvironmentId=box",
                    "CredentialFile=" + TMP + "/token",
                    *(["RemoteUser=" + remote.session_user()]
                      if os.geteuid() == 0 else []))
    address = door(server)

    def told():
        f = same_as_status(server)
        seen = states(f, "execsrv_uplinks")
        check(sum(seen.values()) == 1, "uplinks: %s" % seen)
        check(om.value(f, "execsrv_ready") == 0, "ready")
        shown = lib.ask(server, "uplinks")[0]["state"]
        return seen[shown] == 1

    wait_for(told, LIMIT, "the state")
    status, _, body = lib.http(address, "/readyz")
    check(status == 503 and re.fullmatch(
        rb"Service Unavailable: uplink 1 is \w+, 0 of 1 are registered\n",
        body), "/readyz: %s" % body)
    check(lib.http(address, "/livez")[0] == 200, "/livez")
    server.stop()


if __name__ == "__main__":
    main(counters, workers, uplinks)
