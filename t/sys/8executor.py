"""execsrvd as an executor of a hub, which dials out only."""
import os
import pwd
import subprocess

from client import BUILD, LIMIT, check, descendants, is_alive, wait_for


class Executor:
    """Attached when "with" begins."""

    def __init__(self, hub, environment="build-1", options=()):
        self.hub = hub
        self.environment = environment
        self.dir = hub.path("executor-" + environment)
        os.mkdir(self.dir)
        user = pwd.getpwuid(os.getuid() or 65534).pw_name
        env = {k: v for k, v in os.environ.items() if "CODEX" not in k}
        env.update(CODEX_API_KEY=hub.token["build"], HOME=self.dir,
                   EXECSRV_RUNTIME_DIR=self.dir + "/run")
        with open(self.dir + "/log", "wb") as log:
            self.process = subprocess.Popen(
                [BUILD + "/execsrvd", "-D", "-o",
                 "RuntimeDirectory=%s/run" % self.dir,
                 *(["-o", "RemoteUser=" + user] if os.getuid() == 0 else []),
                 *[w for o in options for w in ("-o", o)],
                 "--remote", hub.url, "--environment-id", environment],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def is_attached(self):
        return any(row.get("environment") == self.environment
                   for row in self.hub.ctl("list")[0])

    def __enter__(self):
        try:
            wait_for(lambda: self.process.poll() is not None or
                     self.is_attached(), LIMIT, "it is attached")
            check(self.process.poll() is None, "it ended")
        except Exception:
            self.__exit__(True)
            raise
        return self

    def __exit__(self, *what):
        if what[0] is not None:
            with open(self.dir + "/log", encoding="utf-8",
                      errors="replace") as f:
                print(f.read()[-3000:])
        below = descendants(self.process.pid)
        self.process.terminate()
        try:
            self.process.wait(LIMIT)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        wait_for(lambda: not any(is_alive(p) for p in below), LIMIT,
                 "its processes are gone")
