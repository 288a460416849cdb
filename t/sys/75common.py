"""What the tests of servers under a program share: 750-embed, by orders."""
import atexit
import contextlib
import os
import subprocess

from client import (BUILD, LIMIT, check, children, descendants, is_alive,
                    wait_for)

PROGRAM = BUILD + "/execsrvd"


class Embedder:
    def __init__(self, env=None, **how):
        self.process = subprocess.Popen(
            [BUILD + "/t/750-embed"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "EXECSRVD": PROGRAM, **(env or {})}, **how)
        self.pid = self.process.pid
        atexit.register(self.kill)

    def tell(self, order, *words):
        """Give an order; its lines, of which the last is "ok" or an error."""
        self.process.stdin.write("%s\n" % " ".join([order, *words]))
        self.process.stdin.flush()
        lines = []
        while not lines or not (lines[-1] == "ok" or
                                lines[-1].startswith("error ")):
            line = self.process.stdout.readline()
            check(line, "%s: it ended after %s" % (order, lines))
            lines.append(line.rstrip("\n"))
        return lines

    def do(self, order, *words):
        """One that must succeed; what it showed, without the log."""
        lines = self.tell(order, *words)
        check(lines.pop() == "ok", "%s: %s" % (order, lines))
        return [n for n in lines if not n.startswith("log ")]

    def fails(self, order, *words):
        """One that must not; why."""
        lines = self.tell(order, *words)
        check(lines[-1].startswith("error "), "%s: %s" % (order, lines))
        return lines[-1][len("error "):]

    def run(self, command):
        """What a command said, and its status."""
        lines = self.do("run", command)
        return "\n".join(lines[:-1]), int(lines[-1].split()[1])

    def below(self):
        return [p for p in descendants(self.pid) if is_alive(p)]

    def servers(self):
        """Its direct children."""
        return [p for p in children(self.pid) if is_alive(p)]

    def end(self):
        """It closes and stops what it has, and ends."""
        below = self.below()
        self.process.stdin.close()
        check(self.process.wait(LIMIT) == 0, "status %d" %
              self.process.returncode)
        wait_for(lambda: not any(map(is_alive, below)), LIMIT, "all are gone")
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.stdout.close()
