"""713: execsrvctl run --tty behind a terminal of our own."""
import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

ctl = os.environ['BUILD'] + '/execsrvctl'
scale = float(os.environ.get('T_SCALE', '1'))
LIMIT = 60 * scale
RAW = termios.ICANON | termios.ECHO | termios.ISIG


class Term:
    """A terminal with a program in front of it."""

    def __init__(self, *argv, size=(33, 101), env=None):
        self.master, self.slave = os.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.slave)
        self.text = b''
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 256)
            for sig in signal.SIGHUP, signal.SIGINT, signal.SIGALRM:
                signal.signal(sig, signal.SIG_DFL)      # nohup, perhaps
            os.execve(argv[0], argv, dict(os.environ, **(env or {})))

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack('HHHH', rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def until(self, what):
        """Read until it shows that text; what came with it is used up."""
        deadline = time.monotonic() + LIMIT
        while what not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f'no {what!r}, but {self.text!r}')
            self.text += os.read(self.master, 65536)
        shown, self.text = self.text.split(what, 1)
        return shown

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & RAW

    def end(self, code, shown=None):
        """It ends so, and leaves the terminal as it was."""
        deadline = time.monotonic() + LIMIT
        while True:
            if select.select([self.master], [], [], 0.01)[0]:
                self.text += os.read(self.master, 65536)
                continue
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            assert time.monotonic() < deadline, self.text
        while select.select([self.master], [], [], 0)[0]:
            self.text += os.read(self.master, 65536)
        got = os.waitstatus_to_exitcode(status)
        assert got == code, (got, code, self.text)
        assert shown is None or self.text == shown, self.text
        assert termios.tcgetattr(self.slave) == self.before, 'not restored'
        os.close(self.master)
        os.close(self.slave)


def wait_for(what, *args):
    deadline = time.monotonic() + LIMIT
    while not what(*args):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def run(*argv, **more):
    run.before = newest()
    return Term(ctl, 'run', '--tty', '--', *argv, **more)


def ask(what):
    """None while the server stands still."""
    done = subprocess.run([ctl, '--json', what], stdout=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else None


def rows(what):
    return ask(what) or []


def newest():
    found = []

    def is_told():
        found[:] = [ask('sessions')]
        return found[0] is not None
    wait_for(is_told)
    return max((s['session'] for s in found[0]), default=0)


def command():
    """The process of the run that was started last."""
    found = []

    def is_there():
        attached = [s['session'] for s in rows('sessions')
                    if s['state'] == 'attached']
        found[:] = [p for p in rows('ps') if p['state'] == 'running' and
                    p['session'] > run.before and p['session'] in attached]
        return found
    wait_for(is_there)
    return max(found, key=lambda p: p['session'])


def is_stopped(pid):
    """Or will be: a shell that waits for its vfork()ed child to exec, which
    was stopped just then, is not yet."""
    with open(f'/proc/{pid}/status') as file:
        fields = dict(line.split(':', 1) for line in file)
    return 'T' in fields['State'].split()[0] or \
        int(fields['ShdPnd'], 16) >> (signal.SIGSTOP - 1) & 1


def test_size_and_exit():
    t = run('sh', '-c', 'stty size; echo "$TERM"; test -t 0 -a -t 1 -a -t 2; '
            'exit $((40 + $?))', env={'TERM': 'of-ours'})
    t.end(40, b'33 101\r\nof-ours\r\n')


def test_typing():
    t = run('cat')
    wait_for(t.is_raw)
    t.type(b'h\xc3\xa9llo\r')
    t.until(b'h\xc3\xa9llo\r\nh\xc3\xa9llo\r\n')
    t.type(b'\x04')
    t.end(0, b'')


def test_every_byte():
    """In raw mode there and here nothing is touched on its way."""
    t = run('sh', '-c', 'stty raw -echo; echo ready; head -c 256 | od -An -v '
            '-tu1')
    t.until(b'ready')
    t.type(bytes(range(256)))
    t.until(b'255')
    t.end(0)


def test_interrupt():
    t = run('sh', '-c', 'exec 2>/dev/null; trap "echo INT; exit 9" INT; '
            'echo ready; '
            'while :; do sleep 0.05; done')
    t.until(b'ready\r\n')
    t.type(b'\x03')
    t.end(9, b'^CINT\r\n')
    t = run('sh', '-c', 'echo ready; exec sleep 1000')
    t.until(b'ready\r\n')
    t.type(b'\x03')
    t.end(130, b'^C')


def test_resize():
    t = run('sh', '-c', 'trap "stty size" WINCH; echo ready; '
            'while :; do sleep 0.05; done')
    t.until(b'ready\r\n')
    for size in (44, 90), (1, 1), (500, 1000):
        t.resize(*size)
        t.until(b'%d %d\r\n' % size)
    t.type(b'\x03')
    t.end(130)


def test_signal():
    t = run('sh', '-c', 'echo ready; exec sleep 1000')
    t.until(b'ready\r\n')
    os.kill(t.pid, signal.SIGTERM)
    t.end(143, b'')


def test_own_death():
    """By a signal that is not passed on: still the terminal is restored."""
    t = run('sh', '-c', 'echo ready; exec sleep 1000')
    t.until(b'ready\r\n')
    assert t.is_raw()
    os.kill(t.pid, signal.SIGALRM)
    t.end(-signal.SIGALRM, b'')


def test_lost():
    t = run('sh', '-c', 'echo ready; exec sleep 1000')
    t.until(b'ready\r\n')
    number = command()['session']
    worker = []
    wait_for(lambda: worker.extend(
        s['worker'] for s in rows('sessions') if s['session'] == number) or
        worker)
    os.kill(worker[0], signal.SIGKILL)
    t.end(125)
    assert re.fullmatch(rb'execsrvctl: .*(lost|closed).*\r\n', t.text), t.text


def test_hang_up():
    """The terminal goes away: so do we, and the command."""
    t = run('sh', '-c', 'echo ready; exec sleep 1000')
    t.until(b'ready\r\n')
    pid = command()['pid']
    os.close(t.slave)
    os.close(t.master)
    wait_for(lambda: not os.path.exists(f'/proc/{pid}'))
    status = os.waitpid(t.pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 129, status


def hang_up_attached(id, *argv):
    """Attach; then the terminal goes away."""
    t = Term(*argv, ctl, 'attach', id)
    t.until(b'tick\r\n')
    os.close(t.slave)
    os.close(t.master)
    status = os.waitpid(t.pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0, status


def test_hang_up_attached():
    """The terminal goes away, the command stays: nobody typed ^D."""
    id = subprocess.run(
        [ctl, 'run', '-dt', '--', 'sh', '-c', 'stty -echo; '
         'while sleep 0.01; do echo tick; done & '
         'while read -r a; do [ "$a" != end ] || { kill $!; exit 9; }; done'],
        check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    for _ in range(5):
        hang_up_attached(id, '/usr/bin/env')
        # By what it reads and writes: the signal is for others, or late.
        hang_up_attached(id, '/bin/sh', '-c', 'trap "" HUP; exec "$@"', 'sh')
    t = Term(ctl, 'attach', id)
    t.type(b'end\r')
    t.end(9)


def test_stop():
    """^Z of a shell: the command stops with us, and goes on with us."""
    script = ('"$1" run -t -- sh -c "echo ready; while :; do sleep 0.05; '
              'done"; for i in 1 2; do echo "st $?"; read x; fg >/dev/null; '
              'done; echo "end $?"')
    run.before = newest()
    t = Term('/bin/sh', '-mc', script, 'sh', ctl)
    t.until(b'ready\r\n')
    assert t.is_raw()
    pid = command()['pid']
    with open(f'/proc/{t.pid}/task/{t.pid}/children') as file:
        client = int(file.read().split()[0])
    for _ in range(2):
        os.kill(client, signal.SIGTSTP)
        t.until(b'st 148\r\n')
        assert not t.is_raw()
        wait_for(is_stopped, pid)
        t.resize(20, 30)
        t.type(b'\n')
        wait_for(lambda: not is_stopped(pid))
        wait_for(t.is_raw)
    t.type(b'\x03')
    t.until(b'end 130\r\n')
    t.end(0)


def test_no_terminal():
    """A terminal there, none here: its input ends as a user's does."""
    for text, shown in ((b'abc\n', b'abc\r\nabc\r\n'), (b'', b''),
                        (b'abc', b'abcabc')):
        got = subprocess.run([ctl, 'run', '-t', '--', 'cat'], input=text,
                             stdout=subprocess.PIPE, timeout=LIMIT)
        out = got.stdout.replace(b'^D\b\b', b'')
        assert got.returncode == 0 and out == shown, (text, got)


for name, test in list(globals().items()):
    if name.startswith('test_'):
        print(name, flush=True)
        test()
sys.exit(0)
