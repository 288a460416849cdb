#!/usr/bin/env python3
"""Through a program that the client starts, "execsrvctl stdio": commands, files,
a dialogue, much output, an environment of a name of its own."""
import os

from model import command, patch, stdin
from rig import main, same

SIZE = 5000000


def run(rig):
    if rig.options.reference is not None:
        return
    text = '''\
default = "far"
include_local = false
[[environments]]
id = "far"
program = "%s"
args = ["stdio", "%%s"]
''' % os.path.join(os.path.dirname(rig.program), 'execsrvctl')

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
    run = rig.run(script, environments=text)
    same(run.proxy.count, 1, 'connections')


main(run)
