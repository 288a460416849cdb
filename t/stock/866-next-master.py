#!/usr/bin/env python3
"""The master is killed, or replaced by an upgrade, in the middle of a command:
the client notices nothing, or resumes if its connection is lost as well."""
import functools
import os
import pathlib
import signal
import subprocess
import threading

from model import command, stdin, until, whole
from proxy import CUT
from rig import LIMIT, Server, check, main, same

# Talks until all has been done: several lines may come in one piece.
COUNT = 'i=0; until [ $i -ge 100 -a -e enough ]; do i=$((i + 1)); ' \
        'echo line $i; sleep 0.02; done; echo $i >count; exit 9'


class Next(Server):
    """In the place of another one."""

    def __init__(self, rig, former):
        super().__init__(rig, '--listen', former.url)
        self.url = self.line(LIMIT)


def kill(rig):
    """As the OOM killer does it."""
    former = rig.server
    os.kill(former.pid, signal.SIGKILL)
    former.process.wait()
    former.process.stdout.close()
    rig.server = Next(rig, former)


def upgrade(rig):
    done = subprocess.run(
        [str(pathlib.Path(rig.program).parent / 'execsrvctl'), '-R',
         str(rig.folder('run', 0o700)), 'upgrade'], env=rig.env,
        capture_output=True, text=True, timeout=LIMIT, check=False)
    same(done.returncode, 0, done.stdout + done.stderr)


class At:
    """Does it when the server has sent so many pieces of output; then the
    connection is cut, or goes on."""

    def __init__(self, rig, what, *numbers, cut=False):
        self.rig, self.what, self.numbers = rig, what, numbers
        self.cut, self.seen, self.lock = cut, 0, threading.Lock()
        self.done = 0
        self.enough = rig.folder('ws') / 'enough'
        self.enough.unlink(missing_ok=True)

    def __call__(self, proxy, number, way, message):
        if way != '<' or message.get('method') != 'process/output':
            return None
        with self.lock:
            self.seen += 1
            if self.seen not in self.numbers:
                return None
            self.what(self.rig)
            self.done += 1
            if self.done == len(self.numbers):
                self.enough.touch()
        return CUT if self.cut else None


def complete(rig, model):
    got = yield from whole((yield command(COUNT)))
    count = int((rig.folder('ws') / 'count').read_text())
    same(got, (9, ''.join('line %d\n' % i for i in range(1, count + 1))),
         'the command')
    out = yield command('echo and on; exit 3')
    same((out.code, out.text), (3, 'and on\n'), 'the next command')


def dialogue(_, model):
    """A terminal's command."""
    out = yield command('while read -r x; do echo "got $x"; done', tty=True,
                        yield_time_ms=500)
    session = out.session
    for name in ('a', 'b', 'c'):
        out = yield stdin(session, name + '\n', yield_time_ms=500)
        text = yield from until(out, 'got %s\r\n' % name)
        same(text, '%s\r\ngot %s\r\n' % (name, name), 'answer')
    out = yield stdin(session, '\x04', yield_time_ms=30000)
    same(out.code, 0, 'exit code')


def watch(rig, script, hook, connections):
    run = rig.run(functools.partial(script, rig), hook=hook)
    same(hook.done, len(hook.numbers), 'how often')
    # One that resumes before the server has seen the cut tries again.
    check(run.proxy.count == connections or
          (hook.cut and run.proxy.count > connections),
          '%d connections, not %d' % (run.proxy.count, connections))
    check(not rig.server.has_logged('is lost'), 'a session was lost')


def run(rig):
    if rig.options.reference is not None:
        return
    for name, what in (('kill', kill), ('upgrade', upgrade)):
        print(name, flush=True)
        watch(rig, complete, At(rig, what, 5, 40, 70), 1)
        watch(rig, complete, At(rig, what, 10, 50, cut=True), 3)
        watch(rig, dialogue, At(rig, what, 1, 2), 1)


main(run)
