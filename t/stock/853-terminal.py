#!/usr/bin/env python3
"""A dialogue with a command on a terminal."""
from model import command, stdin, until
from rig import check, main, same

GREETER = '''\
tty >/dev/null && echo on a terminal
stty size
while printf 'name? ' && read -r name; do echo "hello, $name"; done
echo; echo bye; exit 4
'''


def dialogue(model):
    out = yield command(GREETER, tty=True, yield_time_ms=500)
    session = out.session
    text = yield from until(out, 'name? ')
    check('on a terminal\r\n24 80\r\nname? ' in text, repr(text))
    for name in ('you', '\u00fcn\u00ef'):
        out = yield stdin(session, name + '\n', yield_time_ms=500)
        text = yield from until(out, 'name? ')
        same(text, '%s\r\nhello, %s\r\nname? ' % (name, name), 'answer')
    out = yield stdin(session, '\x04', yield_time_ms=30000)
    check(out.text.endswith('\r\nbye\r\n'), repr(out.text))
    same(out.code, 4, 'exit code')


def interrupted(model):
    """Ctrl-C is a character here, the terminal makes the signal."""
    out = yield command('trap "echo caught; exit 6" INT; echo ready; '
                        'while :; do sleep 0.05; done', tty=True,
                        yield_time_ms=300)
    yield from until(out, 'ready')
    out = yield stdin(out.session, '\x03', yield_time_ms=30000)
    check('caught' in out.text, out)
    same(out.code, 6, 'exit code')


def over(model):
    """Text for a command that has just ended."""
    out = yield command('read -r x; echo got $x', tty=True, yield_time_ms=250)
    session = out.session
    check(session, out)
    out = yield stdin(session, 'one\n', yield_time_ms=30000)
    same((out.code, out.text.endswith('got one\r\n')), (0, True), out)
    out = yield stdin(session, 'two\n')
    same((out.code, out.session), (None, None), 'a session that is over')


def two(model):
    """Two terminals do not mix."""
    outs = yield [command('read -r x; echo %d $x' % i, tty=True,
                          yield_time_ms=300) for i in (1, 2)]
    check(all(out.session for out in outs), outs)
    outs = yield [stdin(out.session, 'for %d\n' % i, yield_time_ms=30000)
                  for i, out in enumerate(outs, 1)]
    for i, out in enumerate(outs, 1):
        check(out.text.endswith('%d for %d\r\n' % (i, i)), repr(out.text))


def script(model):
    for part in (dialogue, interrupted, over, two):
        yield from part(model)


def run(rig):
    run = rig.run(script)
    check({note['stream'] for note in run.proxy.sent('process/output')} ==
          {'pty'}, 'another stream than pty')
    check(not run.proxy.sent('process/signal'), 'a signal on the wire')


main(run)
