#!/usr/bin/env python3
"""Runs the conversation scripts of this folder; the language is in README.

run.py --build DIR [--url URL | --reference PATH] [--transport T] [-j N] [-v]
       [--slow] [FILE or leading digits ...]
"""
import argparse
import concurrent.futures
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import selftest                           # noqa: E402
from pattern import PatternError          # noqa: E402
from script import Run, Script, Skip      # noqa: E402

# What scripts about envPolicy find in the environment of the server.
KNOWN = {"WIRE_PLAIN": "plain", "WIRE_API_KEY": "key", "WIRE_TOKENS": "tok",
         "WIRE_SECRET": "sec", "WIRE_OTHER": "other",
         "wire_lower_token": "low"}
TRIES = 5       # of a script that fails by being late: the best one counts
TROUBLE = re.compile(r"AddressSanitizer|LeakSanitizer|runtime error:|"
                     r"MemorySanitizer|ThreadSanitizer|[Aa]ssertion .* failed")


class Server:
    """One execsrvd (or reference) that all scripts of a run talk to."""

    def __init__(self, options):
        self.options, self.is_own = options, options.url is None
        self.dir = tempfile.mkdtemp(prefix="execsrv-wire-")
        self.log = open(os.path.join(self.dir, "log"), "a+b")
        self.address, self.proc = options.url, None
        self.env, self.argv = dict(os.environ, **KNOWN), [options.url]
        if options.reference:
            self.env.setdefault("CODEX_HOME", self.dir)
            self.argv = [options.reference, "exec-server"]
        elif self.is_own:
            run = os.path.join(self.dir, "run")
            os.mkdir(run, 0o700)
            self.env["EXECSRV_RUNTIME_DIR"] = run
            self.argv = [os.path.join(options.build, "execsrvd")]

    def start(self):
        if not self.is_own:
            return
        argv = self.argv + ([] if self.options.reference else ["-D"])
        argv += ["--listen", "ws://127.0.0.1:0"]
        if not self.options.reference:
            argv += ["--listen", "unix:" + os.path.join(self.dir, "sock")]
        self.proc = subprocess.Popen(argv, stdout=subprocess.PIPE,
                                     stderr=self.log, env=self.env,
                                     stdin=subprocess.DEVNULL)
        limit = 60 * self.options.scale
        if not select.select([self.proc.stdout], [], [], limit)[0]:
            raise SystemExit("the server did not say where it listens")
        self.address = self.proc.stdout.readline().decode().strip()
        if not self.address.startswith("ws://"):
            raise SystemExit("the server said: %r\n%s" % (
                self.address, self.tail()))

    def transports(self):
        if not self.is_own:
            return ["unix" if self.address.startswith("unix:") else "ws"]
        return ["ws", "stdio"] if self.options.reference else \
            ["ws", "unix", "stdio"]

    def url(self, transport):
        if transport == "unix" and self.is_own:
            return "unix:" + os.path.join(self.dir, "sock")
        return self.address

    def stdio(self):
        env = dict(self.env)
        if not self.options.reference:
            # A runtime directory is one daemon's.
            env["EXECSRV_RUNTIME_DIR"] = tempfile.mkdtemp(dir=self.dir)
        return self.argv + ["--listen", "stdio"], env, self.log

    def tail(self):
        self.log.seek(0)
        return self.log.read()[-4000:].decode("utf-8", "replace")

    def stop(self):
        """The end counts too. What was wrong with it, or None."""
        bad = None
        if self.proc and self.proc.poll() is not None:
            bad = "the server died: %d" % self.proc.returncode
        elif self.proc:
            self.proc.send_signal(signal.SIGTERM)
            try:
                if self.proc.wait(60 * self.options.scale) and \
                        not self.options.reference:
                    bad = "the server ended with %d" % self.proc.returncode
            except subprocess.TimeoutExpired:
                bad = "the server did not stop"
                self.proc.kill()
                self.proc.wait()
            if self.proc.stdout.read() and not self.options.reference:
                bad = bad or "more than one line on standard output"
        text = self.tail()
        if TROUBLE.search(text):
            bad = "trouble in the log of the server"
        if bad and not self.options.verbose:
            bad += "\n" + text
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)
        return bad


class Pulse(threading.Thread):
    """Notes when we stood still: who was not answered meanwhile may have
    drawn his conclusions."""

    def __init__(self):
        super().__init__(daemon=True)
        self.last = 0
        self.now = time.monotonic
        self.start()

    def run(self):
        while True:
            began = self.now()
            time.sleep(0.05)
            if self.now() - began > 0.5:
                self.last = self.now()

    def stopped(self, since):
        time.sleep(0.2)
        return self.last > since


PULSE = Pulse()


class Report:
    def __init__(self, verbose):
        self.verbose, self.lock = verbose, threading.Lock()
        self.passed = self.failed = self.skipped = 0

    def line(self, verdict, what, note=""):
        print("%-4s %s%s" % (verdict, what, ": " + note if note else ""),
              flush=True)

    def add(self, run, transport, bad, took):
        what = "%s [%s]" % (run.script.name[:-5], transport)
        with self.lock:
            if bad:
                self.failed += 1
                self.line("FAIL", what, bad)
            else:
                self.passed += 1
                self.line("ok", what, "%.2f s" % took)
            if run.log and (bad or self.verbose > 1):
                print("    " + "\n    ".join(run.log[-200:]), flush=True)

    def skip(self, script, transport, why):
        with self.lock:
            self.skipped += 1
            if self.verbose:
                self.line("skip", "%s [%s]" % (script.name[:-5], transport),
                          why)


def select_scripts(words):
    if words and all(w.isdigit() and not int(w) for w in words):
        return []       # 0: the runner itself, nothing else
    names = sorted(n for n in os.listdir(HERE) if n.endswith(".wire"))
    if words:
        wanted = []
        for w in words:
            hits = [n for n in names if n.startswith(w)] \
                if w.isdigit() else [os.path.basename(w)]
            if not hits:
                raise SystemExit("no script " + w)
            wanted += [h if w.isdigit() else os.path.abspath(w)
                       for h in hits]
        names = wanted
    return [Script(os.path.join(HERE, n)) for n in names]


def run_selftest(report):
    bad = selftest.check()
    report.passed, report.failed = int(not bad), int(bool(bad))
    report.line("FAIL" if bad else "ok", "000-selftest", bad)


def run_one(script, transport, server, options, report):
    began = time.monotonic()
    try:
        for _ in range(TRIES):
            run, since = Run(script, server, transport, options), PULSE.now()
            bad = run.run()
            if not bad or not (run.late or PULSE.stopped(since)):
                break
    except Skip as e:
        return report.skip(script, transport, str(e))
    except Exception as e:      # a bug of ours is a failed script, no more
        bad = "%s: %s" % (type(e).__name__, e)
        if options.verbose:
            import traceback
            traceback.print_exc()
    if bad and server.proc and server.proc.poll() is not None:
        bad += " (the server is dead)"
    report.add(run, transport, bad, time.monotonic() - began)


def parse_options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--build", default=os.path.join(HERE, "../../build"))
    p.add_argument("--url")
    p.add_argument("--reference", metavar="PATH")
    p.add_argument("--transport", default="all",
                   choices=["ws", "unix", "stdio", "all"])
    p.add_argument("--slow", action="store_true")
    p.add_argument("-j", type=int, default=4, metavar="N")
    p.add_argument("-v", dest="verbose", action="count", default=0)
    p.add_argument("scripts", nargs="*")
    options = p.parse_args()
    options.scale = float(os.environ.get("T_SCALE", "1"))
    return options


def main():
    options = parse_options()
    report = Report(options.verbose)
    run_selftest(report)
    try:
        scripts = select_scripts(options.scripts)
    except PatternError as e:
        raise SystemExit(str(e))
    server = Server(options)
    try:
        if scripts:
            server.start()
    except (OSError, SystemExit) as e:
        server.stop()
        raise SystemExit("%s: %s" % (server.argv[0], e))
    wanted = server.transports() if options.transport == "all" else \
        [options.transport]
    jobs = [(s, t) for t in wanted for s in scripts if t in s.transports]
    alone = [j for j in jobs if "@alone" in j[0].header]
    try:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            list(pool.map(lambda j: run_one(*j, server, options, report),
                          [j for j in jobs if j not in alone]))
        for j in alone:
            run_one(*j, server, options, report)
    finally:
        bad = server.stop()
    if bad:
        report.failed += 1
        report.line("FAIL", "server", bad)
    print("%d passed, %d failed" % (report.passed, report.failed) +
          (", %d skipped" % report.skipped if report.skipped else ""))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
