#!/usr/bin/env python3
"""Through a program that the client starts, "execsrvctl stdio": commands, files,
a dialogue, much output, an environment of a name of its own; over connections
that are lost, of which the client hears nothing."""
import os

from model import command, patch, stdin, until, whole
from proxy import AFTER, COUNT, CUT, HALF, Cutter
from rig import check, main, same

SIZE = 5000000


def environments(rig):
    return '''\
default = "far"
include_local = false
[[environments]]
id = "far"
program = "%s"
args = ["stdio", "%%s"]
''' % os.path.join(os.path.dirname(rig.program), 'execsrvctl')


def all_sorts(rig):
    def script(model):
        out = yield command('echo "$HOME"; echo err >&2; exit 7')
        same((out.code, sorted(out.text.split())), (7, sorted([
            'err', str(rig.work / 'server')])), 'where it runs')
        yield patch('*** Add File: new/file.txt', '+one', '+two')
        out = yield command('cat new/file.txt; rm -r new')
        same((out.code, out.text), (0, 'one\ntwo\n'), 'the file')
        out = yield command('read -r x; echo "got $x"; exit 3', tty=True,
                            yield_time_ms=500)
        out = yield stdin(out.session, 'a\n', yield_time_ms=30000)
        same((out.code, out.text), (3, 'a\r\ngot a\r\n'), 'the dialogue')
        out = yield command('head -c %d /dev/zero | tr "\\0" y' % SIZE)
        same(out.code, 0, 'much output')
    run = rig.run(script, environments=environments(rig))
    same(run.proxy.count, 1, 'connections')


def lost(rig, script, *cuts):
    run = rig.run(script, environments=environments(rig),
                  hook=Cutter(rig.folder('ws'), *cuts))
    same(run.proxy.served(), len(cuts) + 1, 'connections')
    hello = run.proxy.sent('initialize')
    same(hello[0]['resumeSessionId'], None, 'first session')
    check(all(h['resumeSessionId'] for h in hello[1:]), hello)


def lost_output(rig):
    """In every way, in the middle of output, and with the news of the end."""
    def script(model):
        got = yield from whole((yield command(COUNT % 5)))
        count = int((rig.folder('ws') / 'count').read_text())
        same(got, (9, ''.join(
            'line %d\n' % i for i in range(1, count + 1))), 'the command')
        out = yield command('echo again; exit 4')
        same((out.code, out.text), (4, 'again\n'), 'the next one')
    lost(rig, script, *(('<', 'process/output', n, how) for n, how in (
        (1, CUT), (10, HALF), (3, AFTER), (20, CUT))),
        ('<', 'process/exited', 1, CUT))


def lost_dialogue(rig):
    """A terminal's command goes on where it was."""
    def script(model):
        out = yield command('while read -r x; do echo "got $x"; done',
                            tty=True, yield_time_ms=500)
        session = out.session
        for name in ('a', 'b', 'c'):
            out = yield stdin(session, name + '\n', yield_time_ms=500)
            text = yield from until(out, 'got %s\r\n' % name)
            same(text, '%s\r\ngot %s\r\n' % (name, name), 'answer')
        out = yield stdin(session, '\x04', yield_time_ms=30000)
        same(out.code, 0, 'exit code')
    lost(rig, script, ('<', 'process/output', 1, AFTER),
         ('<', 'process/output', 1, CUT), ('<', 'process/output', 1, HALF))


def run(rig):
    if rig.options.reference is not None:
        return
    for part in (all_sorts, lost_output, lost_dialogue):
        print(part.__name__, flush=True)
        part(rig)


main(run)
