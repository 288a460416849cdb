#!/usr/bin/env python3
"""The connection is lost in the middle of a command: nothing of it is."""
import base64

from model import command, stdin, until, whole
from proxy import AFTER, COUNT, CUT, HALF, Cutter
from rig import check, main, same

def complete(rig, last):
    def script(model):
        got = yield from whole((yield command(COUNT % last)))
        count = int((rig.folder('ws') / 'count').read_text())
        same(got, (9, ''.join(
            'line %d\n' % i for i in range(1, count + 1))), 'the command')
    return script


def watch(rig, script, *cuts):
    run = rig.run(script, hook=Cutter(rig.folder('ws'), *cuts))
    same(run.proxy.served(), len(cuts) + 1, 'connections')
    hello = run.proxy.sent('initialize')
    same(hello[0]['resumeSessionId'], None, 'first session')
    check(all(h['resumeSessionId'] for h in hello[1:]), hello)
    return run


def output(rig):
    """In every way, in the middle of output."""
    cuts = (1, CUT), (10, HALF), (3, AFTER), (20, CUT), (5, HALF)
    watch(rig, complete(rig, 6), *(
        ('<', 'process/output', n, how) for n, how in cuts))


def the_end(rig):
    """The news of the end is what is lost."""
    watch(rig, complete(rig, 1), ('<', 'process/exited', 1, CUT))
    watch(rig, complete(rig, 1), ('<', 'process/closed', 1, HALF))


def flood(rig, size):
    """Much output on its way while nobody is there, twice."""
    outs = []

    def script(model):
        outs.append((yield command(
            'for i in 1 2; do head -c %d /dev/zero | tr "\\0" y; echo; '
            'until [ -e heard$((i + 1)) ]; do sleep 0.02; done; done' % size)))
    run = watch(rig, script, ('<', 'process/output', 3, CUT),
                ('<', 'process/output', 2, CUT))
    same(outs[0].code, 0, 'exit code')
    return run, outs[0]


def burst(rig):
    """No more than the client itself keeps, and the reference."""
    size = 450000
    _, out = flood(rig, size)
    same(out.size, -(-(2 * size + 2) // 4), 'size in tokens')


def large_burst(rig):
    """Much more than that: all of it was sent.  (The client keeps 1 MiB of
    what it reads after a resume and asks for the rest once more.)"""
    if rig.options.reference is not None:
        return
    size = 5500000              # twice that may come in one message of KEEP
    run, _ = flood(rig, size)
    chunks = {note['seq']: note['chunk']
              for note in run.proxy.sent('process/output')}
    for _, _, message in run.proxy.log:
        for chunk in message.get('result', {}).get('chunks', ()):
            chunks[chunk['seq']] = chunk['chunk']
    # The exit may come before the last of it.
    numbers = set(chunks) | {
        note['seq'] for method in ('process/exited', 'process/closed')
        for note in run.proxy.sent(method)}
    same(sorted(numbers), list(range(1, len(numbers) + 1)), 'numbers')
    same(sum(len(base64.b64decode(chunk)) for chunk in chunks.values()),
         2 * size + 2, 'bytes')


def dialogue(rig):
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
    watch(rig, script, ('<', 'process/output', 1, AFTER),
          ('<', 'process/output', 1, CUT), ('<', 'process/output', 1, HALF))


def start(rig):
    """A start whose answer is lost is reported, and what it started is
    ended; the session goes on."""
    def script(model):
        out = yield command('echo $$ >>pids; sleep 1000')
        check(out.code is None and out.session is None, out)
        out = yield command('for p in $(cat pids 2>/dev/null); do '
                            'while kill -0 $p 2>/dev/null; do sleep 0.02; '
                            'done; done; echo over')
        same((out.code, out.text), (0, 'over\n'), 'the next command')
    asked = []

    def hook(proxy, number, way, message):
        """The answer to the first process/start is lost."""
        if message.get('method') == 'process/start':
            asked.append(message['id'])
        elif way == '<' and number == 1 and message.get('id') in asked:
            return CUT
        return None
    run = rig.run(script, hook=hook)
    same(run.proxy.served(), 2, 'connections')


def run(rig):
    for part in (output, the_end, burst, large_burst, dialogue, start):
        print(part.__name__, flush=True)
        part(rig)


main(run)
