"""execsrvd as an executor of a hub, with an environment of its own."""
import os
import pwd
import subprocess

from client import BUILD, LIMIT, descendants, is_alive, wait_for


class Executor:
    def __init__(self, hub, environment):
        self.dir = hub.path("executor-" + environment)
        os.mkdir(self.dir)
        user = pwd.getpwuid(os.getuid() or 65534).pw_name
        env = {k: v for k, v in os.environ.items() if "CODEX" not in k}
        env.update(CODEX_API_KEY=hub.token["build"], HOME=self.dir)
        with open(self.dir + "/log", "wb") as log:
            self.process = subprocess.Popen(
                [BUILD + "/execsrvd", "-D", "-o",
                 "RuntimeDirectory=%s/run" % self.dir,
                 *(["-o", "RemoteUser=" + user] if os.getuid() == 0 else []),
                 "--remote", hub.url, "--environment-id", environment],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)

    def __enter__(self):
        return self

    def __exit__(self, *what):
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
