#!/usr/bin/env python3
"""Output of a command goes on, whole and in order, when hubs of its site are
killed, restarted or drained, and when its bytes are spliced."""
import importlib
import subprocess
import time

from client import BUILD, LIMIT, check, in_time, main, say, wait_for

fleet = importlib.import_module("8fleet")
programs = importlib.import_module("8executor")
Site = fleet.Site
LINES = 80


class AtFleet:
    """The site as an executor knows it."""

    def __init__(self, site):
        self.url, self.token = site.door.url, site.hubs[0].token
        self.path, self.site = site.hubs[0].path, site

    def ctl(self, cmd):
        alive = [h for h in self.site.hubs if h.process.poll() is None]
        return alive[0].ctl(cmd)


def owner(site):
    """The hub that has the executor, or None."""
    for hub in site.hubs:
        if hub.process.poll() is None and \
                hub.ctl("status")[1]["executors"] == 1:
            return hub
    return None


def run(site):
    """execsrvctl run of a line each 20 ms."""
    hub = site.hubs[0]
    hub.put("token-ci", hub.token["ci"] + "\n")
    return subprocess.Popen(
        [BUILD + "/execsrvctl", "run", "--url", "remote:build-1@" +
         site.door.url, "--token-file", hub.path("token-ci"), "--", "sh",
         "-c", "i=0; while [ $i -lt %d ]; do i=$((i+1)); echo $i; "
         "sleep 0.02; done" % LINES],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def kept(site, hurt, most):
    """All lines come, in order; the longest gap is no longer than that."""
    p = run(site)
    lines, gap, last = [], 0, None
    for line in p.stdout:
        now = time.monotonic()
        gap = max(gap, now - (last or now))
        last = now
        lines.append(line)
        if len(lines) == 10:
            hurt()
            last = time.monotonic()
    check(p.wait(LIMIT) == 0, "it ended with %d: %r" %
          (p.returncode, p.stderr.read()))
    check(lines == [b"%d\n" % n for n in range(1, LINES + 1)],
          "%d lines" % len(lines))
    say("longest gap %.2f s" % gap)
    in_time(gap <= most, "a gap of %.2f s" % gap)


def killed():
    """kill -9 of the hub that has it, while another serves: no byte is lost,
    nobody registers again. (1 s on a machine that is idle.)"""
    with Site() as site, programs.Executor(AtFleet(site)):
        mine = wait_for(lambda: owner(site), LIMIT, "it is attached")
        rest = [h for h in site.hubs if h is not mine][0]
        before = rest.metrics()["execsrv_hub_registrations_total"]

        def kill():
            mine.process.kill()
            mine.process.wait()
        kept(site, kill, 5)
        check(rest.metrics()["execsrv_hub_registrations_total"] == before,
              "it registered again")


def engine_killed():
    """kill -9 of the engine: the stream notices nothing."""
    with Site() as site, programs.Executor(AtFleet(site)):
        wait_for(lambda: owner(site), LIMIT, "it is attached")
        kept(site, site.nats.kill, 2)


def restarted():
    """All hubs end and begin."""
    with Site() as site, programs.Executor(AtFleet(site)):
        wait_for(lambda: owner(site), LIMIT, "it is attached")

        def restart():
            for hub in site.hubs:
                hub.stop()
            for hub in site.hubs:
                hub.begin()
        kept(site, restart, 15)
        check(sum(h.metrics()["execsrv_hub_registrations_total"]
                  for h in site.hubs) == 0, "it registered again")


def drained():
    """The hub that has it is drained, by another one."""
    with Site(more="DrainTime 1") as site, \
            programs.Executor(AtFleet(site)):
        mine = wait_for(lambda: owner(site), LIMIT, "it is attached")
        rest = [h for h in site.hubs if h is not mine][0]
        kept(site, lambda: check(rest.ctl("drain", hub=mine.name)[1]["ok"],
                                 "drain"), 10)
        wait_for(lambda: owner(site) is rest, LIMIT, "it is at the other one")


def spliced():
    """All of it by hubs that splice, and one of them killed."""
    with Site(splices=True) as site, programs.Executor(AtFleet(site)):
        mine = wait_for(lambda: owner(site), LIMIT, "it is attached")
        rest = [h for h in site.hubs if h is not mine][0]
        for _ in range(4):
            kept(site, lambda: None, 5)
            if rest.metrics()["execsrv_hub_splices_total"] > 0:
                break
        check(rest.metrics()["execsrv_hub_splices_total"] > 0, "spliced")

        def kill():
            mine.process.kill()
            mine.process.wait()
        kept(site, kill, 10)


if __name__ == "__main__":
    main(killed, engine_killed, restarted, drained, spliced)
