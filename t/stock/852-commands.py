#!/usr/bin/env python3
"""Commands: one that ends at once, one that goes on, many things at a time."""
import base64

from model import command, stdin, until
from rig import LIMIT, check, is_alive, main, same, wait_for

LINES = ''.join('line %d\n' % i for i in range(1, 31))


def one_shot(model):
    out = yield command('echo out; echo err >&2; exit 7')
    same(out.code, 7, 'exit code')
    same(sorted(out.text.split()), ['err', 'out'], 'output')
    out = yield command('kill -9 $$')
    same(out.code, 137, 'exit code after a signal')
    out = yield command("printf 'a\\377b\\n'")
    same(out.text, 'a\ufffdb\n', 'not UTF-8')
    out = yield command('echo ${#1}', workdir=str(model.cwd / 'no-such'))
    same(out.code, None, 'in no folder')
    check('No such file' in out.all, out)
    out = yield command('printf %%s %s | wc -c' % ('x' * 100000))
    same(out.text.strip(), '100000', 'a long argument')
    out = yield command('cat; echo "$TERM,$PAGER,$CODEX_CI"')
    same(out.text, 'dumb,cat,1\n', 'no input, and the environment')


def streaming(model):
    """Bit by bit, as the model polls."""
    out = yield command('i=0; while [ $i -lt 30 ]; do i=$((i + 1)); '
                        'echo line $i; sleep 0.1; done; '
                        'until [ -e polled ]; do sleep 0.05; done; exit 3',
                        yield_time_ms=250)
    text, polls = out.text, 0
    check(out.session, 'it ended at once: %s' % out)
    (model.cwd / 'polled').touch()
    while out.session:
        out = yield stdin(out.session, yield_time_ms=5000)
        text += out.text
        polls += 1
        check(polls < 20, 'it does not end')
    same(out.code, 3, 'exit code')
    same(text, LINES, 'output')


def burst(model):
    """5 MB at once: the model gets both ends of it, the client all."""
    out = yield command('echo first; head -c 5000000 /dev/zero | '
                        'tr "\\0" x | fold -w 99; echo last')
    same((out.code, out.size), (0, 5050516 // 4),
         'exit code and size in tokens')
    check('\nfirst\nxxx' in out.text[:300], out)
    check(out.text.endswith('last\n'), out)


def together(model):
    """One waits for the other's file: both run."""
    outs = yield [command('until [ -e b ]; do sleep 0.01; done; echo a'),
                  command('sleep 0.3; : >b; echo b')]
    same([(out.code, out.text) for out in outs], [(0, 'a\n'), (0, 'b\n')])


def interrupt(model):
    """Ctrl-C for a command without a terminal is a signal."""
    out = yield command('trap "echo caught; exit 5" INT; echo ready; '
                        'while :; do sleep 0.05; done', yield_time_ms=300)
    yield from until(out, 'ready')
    out = yield stdin(out.session, '\x03', yield_time_ms=30000)
    check('caught' in out.text, out)
    same(out.code, 5, 'exit code')


def left_running(model):
    """It goes when the client goes."""
    out = yield command('echo $$ >pid; echo ready; exec sleep 1000',
                        yield_time_ms=250)
    yield from until(out, 'ready')


def script(model):
    for part in (one_shot, streaming, burst, together, interrupt,
                 left_running):
        yield from part(model)


def run(rig):
    cwd = rig.folder('ws')

    def with_cwd(model):
        model.cwd = cwd
        yield from script(model)

    run = rig.run(with_cwd)
    # Everything the burst wrote was on the wire.
    size = sum(len(base64.b64decode(note['chunk']))
               for note in run.proxy.sent('process/output'))
    check(size > 5000000, '%d bytes of output' % size)
    check(run.proxy.sent('process/signal'), 'no signal')
    # It would for more than 256 events at a time, with the reference's 8 KiB.
    if rig.options.reference is None:
        check(not run.proxy.sent('process/read'), 'events were asked for')
    same(run.proxy.count, 1, 'connections')
    pid = int((cwd / 'pid').read_text())
    wait_for(lambda: not is_alive(pid), LIMIT,
             'the command left running ends')


main(run)
